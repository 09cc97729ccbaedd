//! Where the HTTP service listens and what it lets in.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use super::show;
use std::net::SocketAddr;
use url::Url;

/// Most origins that can be listed.
const MAX_ORIGINS: usize = 64;

static BIND: Setting = Setting::text(
    "HTTP_BIND",
    Presence::Default("127.0.0.1:8080"),
    "address:port",
    "Where the HTTP service listens. Port 0 takes any free one.",
);
static BODY_LIMIT: Setting = Setting::number(
    "HTTP_BODY_LIMIT_BYTES",
    "65536",
    ("bytes", 1_024, 1_048_576),
    "Largest request body.",
);
static RATE_LIMIT: Setting = Setting::number(
    "HTTP_RATE_LIMIT_PER_SECOND",
    "1000",
    ("requests per second", 1, 1_000_000),
    "How many requests one API key may make, per api process.",
);
static CORS: Setting = Setting::text(
    "HTTP_CORS_ORIGINS",
    Presence::Optional("no browser of another origin may read answers"),
    "* or origins such as https://shop.example, comma-separated, at most 64",
    "Web origins whose pages may poll the status of a payment.",
);
static PUBLIC_URL: Setting = Setting::text(
    "HTTP_PUBLIC_URL",
    Presence::Optional("answers carry paths without a host"),
    "http:// or https:// URL without query",
    "The service's address as its callers see it.",
);

static SETTINGS: &[&Setting] = &[&BIND, &BODY_LIMIT, &RATE_LIMIT, &CORS, &PUBLIC_URL];
pub(super) const GROUP: Group = Group {
    title: "HTTP",
    settings: SETTINGS,
};

/// The HTTP service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Largest request body, in bytes.
    pub body_limit: usize,
    /// Requests per second and API key.
    pub rate_limit: u32,
    /// Whose pages may read answers.
    pub cors: Cors,
    /// Its address as callers see it, without a slash at the end.
    pub public_url: Option<String>,
}

/// Which web origins may read answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cors {
    /// None but the service's own.
    SameOrigin,
    /// Any.
    Any,
    /// These, as browsers write them.
    Origins(Vec<String>),
}

impl Http {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let bind = r.text(&BIND).and_then(|text| address(r, &BIND, &text));
        let body_limit = r.number(&BODY_LIMIT);
        let rate_limit = r.number(&RATE_LIMIT);
        let cors = r
            .text(&CORS)
            .map_or(Cors::SameOrigin, |text| cors(r, &text));
        let public_url = r.text(&PUBLIC_URL).and_then(|text| public_url(r, &text));
        Some(Self {
            bind: bind?,
            body_limit: body_limit?,
            rate_limit: rate_limit?,
            cors,
            public_url,
        })
    }
}

/// An address to listen at.
pub(super) fn address(r: &mut Reader, setting: &'static Setting, text: &str) -> Option<SocketAddr> {
    let address = text.parse().ok();
    if address.is_none() {
        let shown = show::public(text);
        let problem =
            format!("must be an IP address and a port, such as 0.0.0.0:8080, not `{shown}`");
        r.fault(setting, problem);
    }
    address
}

fn cors(r: &mut Reader, text: &str) -> Cors {
    if text == "*" {
        return Cors::Any;
    }
    let mut origins: Vec<String> = Vec::new();
    for (at, part) in text.split(',').map(str::trim).enumerate() {
        if at == MAX_ORIGINS {
            r.fault(&CORS, format!("lists more than {MAX_ORIGINS} origins"));
            break;
        }
        if part == "*" {
            r.fault(
                &CORS,
                "lists `*` beside other origins, which contradicts them",
            );
        } else if let Some(origin) = origin(part) {
            origins.push(origin);
        } else {
            let number = at + 1;
            r.fault(
                &CORS,
                format!(
                    "entry {number} must be scheme://host or scheme://host:port and nothing more"
                ),
            );
        }
    }
    Cors::Origins(origins)
}

/// The origin a text states, as browsers write it, if it states just that.
fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let origin = url.origin().ascii_serialization();
    let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let web = matches!(url.scheme(), "http" | "https");
    (web && bare && url.fragment().is_none() && url.path() == "/" && !text.ends_with('/'))
        .then_some(origin)
}

fn public_url(r: &mut Reader, text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| {
        let web = matches!(url.scheme(), "http" | "https");
        let bare = url.username().is_empty() && url.password().is_none();
        web && bare && url.query().is_none() && url.fragment().is_none()
    });
    if url.is_none() {
        r.fault(
            &PUBLIC_URL,
            "must be an http:// or https:// URL without user, query and fragment",
        );
    }
    url.map(|url| url.as_str().trim_end_matches('/').to_owned())
}
