//! Which Stellar network, and the nodes to reach it by.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use super::show;
use std::fmt;
use std::time::Duration;
use url::Url;

/// Most nodes that can be listed.
const MAX_NODES: usize = 16;
/// Passphrases of the networks everybody knows; both aim at ledgers of 5 seconds.
const KNOWN_NETWORKS: [&str; 2] = [
    "Public Global Stellar Network ; September 2015",
    "Test SDF Network ; September 2015",
];
/// Shortest target close time those networks may vote for, in milliseconds.
const KNOWN_MIN_CLOSE_MS: u64 = 4_000;

static URLS: Setting = Setting::text(
    "STELLAR_RPC_URLS",
    Presence::Optional("the api does without; workers and reconcilers need it"),
    "http:// or https:// URLs, comma-separated, at most 16",
    "JSON-RPC endpoints of Stellar RPC nodes, the preferred one first.",
)
.url();
static PASSPHRASE: Setting = Setting::text(
    "STELLAR_NETWORK_PASSPHRASE",
    Presence::Required,
    "at most 128 bytes",
    "Passphrase of the network. Every signature depends on it.",
);
static CLOSE: Setting = Setting::number(
    "STELLAR_LEDGER_CLOSE_MS",
    "5000",
    ("ms", 100, 30_000),
    "The network's target time between two ledgers. Only test networks differ from the default.",
);
static SEND_TIMEOUT: Setting = Setting::number(
    "STELLAR_RPC_TIMEOUT_MS",
    "20000",
    ("ms", 100, 120_000),
    "How long to wait for the answer to a send. A node itself allows 15 s.",
);
static READ_TIMEOUT: Setting = Setting::number(
    "STELLAR_RPC_READ_TIMEOUT_MS",
    "6000",
    ("ms", 100, 120_000),
    "How long to wait for any other answer of a node.",
);

static SETTINGS: &[&Setting] = &[&URLS, &SEND_TIMEOUT, &READ_TIMEOUT, &PASSPHRASE, &CLOSE];
pub(super) const GROUP: Group = Group {
    title: "Stellar network",
    settings: SETTINGS,
};

/// The nodes to ask and how long to wait for them.
#[derive(Clone, Debug)]
pub struct Rpc {
    /// Nodes, the preferred one first; at least one.
    pub urls: Vec<NodeUrl>,
    /// How long to wait for the answer to a send.
    pub send_timeout: Duration,
    /// How long to wait for any other answer.
    pub read_timeout: Duration,
}

/// URL of a node. Providers put keys into it, so it shows its host only.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeUrl(Url);

/// The network itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its passphrase.
    pub passphrase: String,
    /// Its target time between two ledgers.
    pub ledger_close: Duration,
}

impl NodeUrl {
    /// Takes an `http://` or `https://` URL.
    ///
    /// # Errors
    /// What is wrong, without repeating any of it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("is empty".to_owned());
        }
        let url = Url::parse(text).map_err(|e| format!("is not a URL: {e}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("must begin with http:// or https://".to_owned());
        }
        if url.fragment().is_some() {
            return Err("contains `#`, which no server ever sees".to_owned());
        }
        Ok(Self(url))
    }

    /// The whole URL, with whatever key it contains.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show::url(self.0.as_str()))
    }
}

impl fmt::Debug for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Rpc {
    /// For roles that talk to the network: at least one node is required.
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        if !r.is_set(&URLS) {
            r.fault(&URLS, "is required by workers and reconcilers and not set");
        }
        Self::parse_optional(r)
    }

    /// For roles that can do without.
    pub(super) fn parse_optional(r: &mut Reader) -> Option<Self> {
        let urls = r.text(&URLS).map(|text| nodes(r, &text));
        let send_timeout = r.millis(&SEND_TIMEOUT);
        let read_timeout = r.millis(&READ_TIMEOUT);
        Some(Self {
            urls: urls?,
            send_timeout: send_timeout?,
            read_timeout: read_timeout?,
        })
    }

    /// The network's target time between two ledgers, for a role that needs to know nothing else of the network.
    pub(super) fn ledger_close(r: &mut Reader) -> Option<Duration> {
        r.millis(&CLOSE)
    }

    /// A send that waits as long as the envelope lives can never be repeated.
    pub(super) fn check_against_window(&self, r: &mut Reader, window: Duration) {
        if self.send_timeout >= window {
            let problem = "contradicts TX_CONFIRMATION_TIMEOUT_MS: a send must be given up before its envelope expires";
            r.fault(&SEND_TIMEOUT, problem);
        }
    }
}

impl Network {
    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let passphrase = r.text(&PASSPHRASE);
        let close: Option<u64> = r.number(&CLOSE);
        if let Some(Err(problem)) = passphrase.as_deref().map(check_passphrase) {
            r.fault(&PASSPHRASE, problem);
        }
        let known = passphrase
            .as_deref()
            .is_some_and(|p| KNOWN_NETWORKS.contains(&p));
        if known && close.is_some_and(|ms| ms < KNOWN_MIN_CLOSE_MS) {
            let problem = format!(
                "contradicts STELLAR_NETWORK_PASSPHRASE: that network never aims below {KNOWN_MIN_CLOSE_MS} ms"
            );
            r.fault(&CLOSE, problem);
        }
        Some(Self {
            passphrase: passphrase?,
            ledger_close: Duration::from_millis(close?),
        })
    }
}

fn nodes(r: &mut Reader, text: &str) -> Vec<NodeUrl> {
    let mut urls: Vec<NodeUrl> = Vec::new();
    for (at, part) in text.split(',').enumerate() {
        match NodeUrl::parse(part.trim()) {
            Ok(url) if urls.contains(&url) => {
                r.fault(&URLS, format!("entry {} repeats an earlier one", at + 1));
            }
            Ok(url) => urls.push(url),
            Err(problem) => r.fault(&URLS, format!("entry {} {problem}", at + 1)),
        }
        if at == MAX_NODES {
            r.fault(&URLS, format!("lists more than {MAX_NODES} nodes"));
            break;
        }
    }
    urls
}

fn check_passphrase(text: &str) -> Result<(), String> {
    if text.len() > 128 {
        return Err("is longer than 128 bytes".to_owned());
    }
    if show::holds_signing_key(text) {
        return Err(
            "holds a secret key: take it out, and treat that key as known to others".to_owned(),
        );
    }
    // A slip here makes every signature void, on a network where it is never noticed before money is due.
    let meant = KNOWN_NETWORKS
        .iter()
        .find(|known| (1..=6).contains(&strsim::osa_distance(text, known)));
    match meant {
        Some(known) => Err(format!("is nearly, but not quite, `{known}`")),
        None => Ok(()),
    }
}
