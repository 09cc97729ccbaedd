//! Where the ledger is kept.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use secrecy::SecretString;
use std::time::Duration;
use url::Url;

static URL: Setting = Setting::text(
    "DATABASE_URL",
    Presence::Required,
    "postgres://user:password@host:port/name, or sqlite://path",
    "The database that holds the ledger. PostgreSQL for several processes, an SQLite file for one machine. Percent-encode special characters of the password.",
)
.url();
static MAX_CONNECTIONS: Setting = Setting::number(
    "DATABASE_MAX_CONNECTIONS",
    "16",
    ("connections", 1, 1_000),
    "Largest number of connections one process opens. On PostgreSQL a worker opens one more, to listen for intents in the outbox.",
);
static ACQUIRE_TIMEOUT: Setting = Setting::number(
    "DATABASE_ACQUIRE_TIMEOUT_MS",
    "5000",
    ("ms", 100, 60_000),
    "How long a request waits for a free connection before it is told that the service is unavailable.",
);

static SETTINGS: &[&Setting] = &[&URL, &MAX_CONNECTIONS, &ACQUIRE_TIMEOUT];
pub(super) const GROUP: Group = Group {
    title: "Database",
    settings: SETTINGS,
};

/// Where the ledger is kept and how many connections may go there.
#[derive(Clone, Debug)]
pub struct Database {
    /// The URL with its password.
    pub url: SecretString,
    /// Which database it is.
    pub backend: Backend,
    /// Largest number of connections of this process.
    pub max_connections: u32,
    /// How long to wait for a free connection.
    pub acquire_timeout: Duration,
}

/// The two databases the ledger runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A `PostgreSQL` server.
    Postgres,
    /// One `SQLite` file.
    Sqlite,
}

impl Database {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let url = r.text(&URL);
        let backend = url.as_deref().and_then(|text| {
            let backend = backend(text);
            backend.map_err(|problem| r.fault(&URL, problem)).ok()
        });
        let max_connections = r.number(&MAX_CONNECTIONS);
        let acquire_timeout = r.millis(&ACQUIRE_TIMEOUT);
        Some(Self {
            url: url?.into(),
            backend: backend?,
            max_connections: max_connections?,
            acquire_timeout: acquire_timeout?,
        })
    }
}

/// Which database a URL names, or what is wrong with it.
fn backend(text: &str) -> Result<Backend, String> {
    if let Some(rest) = text.strip_prefix("sqlite:") {
        return sqlite(rest);
    }
    let url = Url::parse(text).map_err(|e| format!("is not a URL: {e}"))?;
    match url.scheme() {
        "postgres" | "postgresql" => {}
        "mysql" | "mariadb" => return Err("must be PostgreSQL or SQLite".to_owned()),
        _ => return Err("must begin with postgres:// or sqlite://".to_owned()),
    }
    if url.fragment().is_some() {
        return Err("contains `#`: write %23 in a password".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("names no host".to_owned());
    }
    if url.path().len() < 2 {
        return Err("names no database after the host".to_owned());
    }
    Ok(Backend::Postgres)
}

fn sqlite(rest: &str) -> Result<Backend, String> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if path.is_empty() {
        return Err("names no file".to_owned());
    }
    if path == ":memory:" || query.contains("mode=memory") {
        return Err("keeps the ledger in memory: a restart would forget what was paid".to_owned());
    }
    Ok(Backend::Sqlite)
}
