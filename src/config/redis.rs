//! Where jobs wait. Nothing there is precious: the ledger rebuilds it.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use secrecy::SecretString;
use std::time::Duration;
use url::Url;

static URL: Setting = Setting::text(
    "REDIS_URL",
    Presence::Optional(
        "the api leaves waking the workers to the feed; workers and reconcilers need it",
    ),
    "redis://user:password@host:port/number",
    "The Redis that carries job ids to the workers. Set its maxmemory-policy to noeviction.",
)
.url();
static TIMEOUT: Setting = Setting::number(
    "REDIS_TIMEOUT_MS",
    "5000",
    ("ms", 500, 60_000),
    "How long to wait for a connection or an answer.",
);

static SETTINGS: &[&Setting] = &[&URL, &TIMEOUT];
pub(super) const GROUP: Group = Group {
    title: "Redis",
    settings: SETTINGS,
};

/// How to reach Redis.
#[derive(Clone, Debug)]
pub struct Redis {
    /// The URL with its password.
    pub url: SecretString,
    /// How long to wait for a connection or an answer.
    pub timeout: Duration,
}

impl Redis {
    /// For roles that hand jobs on: the URL is required.
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        if !r.is_set(&URL) {
            r.fault(&URL, "is required by workers and reconcilers and not set");
        }
        Self::parse_optional(r)
    }

    /// For roles that can do without.
    pub(super) fn parse_optional(r: &mut Reader) -> Option<Self> {
        let url = r.text(&URL);
        if let Some(Err(problem)) = url.as_deref().map(check) {
            r.fault(&URL, problem);
        }
        let timeout = r.millis(&TIMEOUT);
        Some(Self {
            url: url?.into(),
            timeout: timeout?,
        })
    }
}

fn check(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|e| format!("is not a URL: {e}"))?;
    match url.scheme() {
        "redis" => {}
        "rediss" => {
            return Err("asks for TLS, which this build does not speak to Redis: use redis:// over a private network or a TLS tunnel".to_owned());
        }
        _ => return Err("must begin with redis://".to_owned()),
    }
    if url.fragment().is_some() {
        return Err("contains `#`: write %23 in a password".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("names no host".to_owned());
    }
    let number = url.path().trim_start_matches('/');
    if !number.is_empty() && number.parse::<u16>().is_err() {
        return Err("must end with the number of a database, such as /0".to_owned());
    }
    Ok(())
}
