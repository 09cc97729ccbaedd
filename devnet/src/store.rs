//! A chain that survives a restart.
//!
//! The file's first line tells the network's parameters, each further one a closed ledger: its close time and its
//! transactions in the order they were applied. Applying is deterministic, so whoever applies them again has the same
//! entries, history and hashes; the hash in each line proves it. A line is on the disk before anybody hears of its ledger.
//! What waits in the queue is not kept, as on a real node.

use crate::config::NetworkConfig;
use crate::envelope::MAX_ENVELOPE_BYTES;
use crate::friendbot;
use crate::history::ClosedLedger;
use crate::network::Network;
use crate::xdr::{MAX_DEPTH, sha256, to_bytes};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use stellar_xdr::{Limits, ReadXdr as _, TransactionEnvelope};

/// What a file says it is.
const FORMAT: &str = "tender-devnet-state";
/// How every file begins, also one that was cut off in its first line.
const BEGINNING: &str = "{\"format\":\"tender-devnet-state\"";
const VERSION: u32 = 1;
/// Longest line, in bytes; a ledger of a thousand ordinary transactions has about a megabyte.
const MAX_LINE: u64 = 256 * 1024 * 1024;

/// Why a chain cannot be read from its file or kept in it.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read or written.
    #[error("the state file cannot be used: {0}")]
    Io(#[from] io::Error),
    /// Another process uses it.
    #[error("another process uses the state file")]
    InUse,
    /// It is not such a file, or one of another version.
    #[error("this is not a state file of this version of the simulated network")]
    NotAState,
    /// It is the chain of another network.
    #[error("the state file is of a network with another {0}")]
    OtherNetwork(&'static str),
    /// One of its ledgers is not what it was.
    #[error("line {line} of the state file is damaged: {reason}")]
    Damaged {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Parameters {
    format: String,
    version: u32,
    passphrase: String,
    protocol: u32,
    base_fee: u32,
    base_reserve: u32,
    max_tx_set_ops: u32,
    target_close_time_s: u64,
    start_ledger: u32,
    start_close_time: u64,
    history_window: u32,
    /// Hash of the entries at the start.
    initial_state: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    ledger: u32,
    close_time: u64,
    base_fee: i64,
    hash: String,
    /// In the order they were applied.
    envelopes: Vec<String>,
}

impl Parameters {
    fn of(config: &NetworkConfig) -> Self {
        let mut entries: Vec<Vec<u8>> = config
            .initial_state
            .iter()
            .map(|(_, entry)| to_bytes(entry))
            .collect();
        entries.sort_unstable();
        let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            passphrase: config.passphrase.clone(),
            protocol: config.protocol,
            base_fee: config.base_fee,
            base_reserve: config.base_reserve,
            max_tx_set_ops: config.max_tx_set_ops,
            target_close_time_s: config.target_close_time_s,
            start_ledger: config.start_ledger,
            start_close_time: config.start_close_time,
            history_window: config.history_window,
            initial_state: hex::encode(sha256(&entries).0),
        }
    }

    /// Which parameter differs, by its name for people.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let equal = [
            ("passphrase", self.passphrase == other.passphrase),
            ("protocol", self.protocol == other.protocol),
            ("base fee", self.base_fee == other.base_fee),
            ("base reserve", self.base_reserve == other.base_reserve),
            ("ledger size", self.max_tx_set_ops == other.max_tx_set_ops),
            (
                "target close time",
                self.target_close_time_s == other.target_close_time_s,
            ),
            (
                "history window",
                self.history_window == other.history_window,
            ),
            ("initial state", self.initial_state == other.initial_state),
        ];
        let different = equal.iter().find(|(_, equal)| !equal);
        different.map(|(name, _)| *name)
    }
}

/// The file a chain is kept in; locked as long as this lives.
#[derive(Debug)]
pub(crate) struct StateFile {
    file: File,
    broken: bool,
}

impl StateFile {
    /// The network of a configuration with the ledgers that the file has; a file that is not there or empty is begun.
    ///
    /// A new network may start at any time, so where and when its chain started is read from the file. A last line that
    /// was cut off is removed: nobody has heard of its ledger.
    pub fn open(path: &Path, mut config: NetworkConfig) -> Result<(Network, Self), StateError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StateError::InUse,
            TryLockError::Error(error) => StateError::Io(error),
        })?;
        let mut lines = Lines::new(&mut file);
        let Some(first) = lines.first()? else {
            return Self::begin(file, config);
        };
        let found: Parameters =
            serde_json::from_slice(&first).map_err(|_| StateError::NotAState)?;
        if (found.format.as_str(), found.version) != (FORMAT, VERSION) {
            return Err(StateError::NotAState);
        }
        config.start_ledger = found.start_ledger;
        config.start_close_time = found.start_close_time;
        let config = with_initial_state(config);
        if let Some(name) = found.difference(&Parameters::of(&config)) {
            return Err(StateError::OtherNetwork(name));
        }
        let mut network = Network::new(config);
        while let Some(line) = lines.next()? {
            let number = lines.number;
            close_again(&mut network, &line).map_err(|reason| StateError::Damaged {
                line: number,
                reason,
            })?;
        }
        let end = lines.end;
        file.set_len(end)?;
        file.seek(SeekFrom::End(0))?;
        let broken = false;
        Ok((network, Self { file, broken }))
    }

    fn begin(mut file: File, config: NetworkConfig) -> Result<(Network, Self), StateError> {
        let config = with_initial_state(config);
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        let mut state = Self {
            file,
            broken: false,
        };
        state.write(&Parameters::of(&config))?;
        Ok((Network::new(config), state))
    }

    /// Keeps a ledger. After an error nothing more can be kept.
    pub fn append(&mut self, ledger: &ClosedLedger) -> Result<(), StateError> {
        self.write(&Line {
            ledger: ledger.sequence(),
            close_time: ledger.close_time(),
            base_fee: ledger.base_fee,
            hash: hex::encode(ledger.hash.0),
            envelopes: ledger
                .transactions
                .iter()
                .map(|tx| STANDARD.encode(to_bytes(&tx.envelope)))
                .collect(),
        })
    }

    /// Whether a write failed.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), StateError> {
        self.broken = true;
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::from)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.broken = false;
        Ok(())
    }
}

/// A root and a friendbot account, unless the configuration has entries of its own.
pub(crate) fn with_initial_state(mut config: NetworkConfig) -> NetworkConfig {
    if config.initial_state.is_empty() {
        config.initial_state = friendbot::initial_state(&config);
    }
    config
}

/// Whole lines of a file.
struct Lines<'a> {
    reader: BufReader<&'a mut File>,
    /// Of the last line, from 1.
    number: u64,
    /// Where it ended.
    end: u64,
}

impl<'a> Lines<'a> {
    fn new(file: &'a mut File) -> Self {
        Self {
            reader: BufReader::new(file),
            number: 0,
            end: 0,
        }
    }

    /// The first line, or none if the file was never begun properly.
    fn first(&mut self) -> Result<Option<Vec<u8>>, StateError> {
        let mut line = Vec::new();
        if self.read(&mut line)? {
            return Ok(Some(line));
        }
        let beginning = BEGINNING.as_bytes();
        if line.starts_with(beginning) || beginning.starts_with(&line) {
            Ok(None)
        } else {
            Err(StateError::NotAState)
        }
    }

    /// The next line, or none at the end or when the last one was cut off.
    fn next(&mut self) -> Result<Option<Vec<u8>>, StateError> {
        let mut line = Vec::new();
        Ok(self.read(&mut line)?.then_some(line))
    }

    /// Whether a whole line was read.
    fn read(&mut self, line: &mut Vec<u8>) -> Result<bool, StateError> {
        let mut limited = (&mut self.reader).take(MAX_LINE);
        let length = limited.read_until(b'\n', line)? as u64;
        if length == MAX_LINE && line.last() != Some(&b'\n') {
            return Err(StateError::Damaged {
                line: self.number + 1,
                reason: "it is too long",
            });
        }
        if line.last() != Some(&b'\n') {
            return Ok(false);
        }
        line.pop();
        self.number += 1;
        self.end += length;
        Ok(true)
    }
}

fn close_again(network: &mut Network, line: &[u8]) -> Result<(), &'static str> {
    let line: Line = serde_json::from_slice(line).map_err(|_| "it is not a ledger")?;
    if line.ledger != network.latest_ledger() + 1 || line.close_time <= network.latest_close_time()
    {
        return Err("it does not follow the ledger before");
    }
    let limits = Limits {
        depth: MAX_DEPTH,
        len: MAX_ENVELOPE_BYTES,
    };
    let envelopes: Vec<TransactionEnvelope> = line
        .envelopes
        .iter()
        .map(|text| {
            let bytes = STANDARD.decode(text).ok()?;
            TransactionEnvelope::from_xdr(bytes, limits.clone()).ok()
        })
        .collect::<Option<_>>()
        .ok_or("an envelope cannot be read")?;
    let closed = network.close_again(line.close_time, envelopes, line.base_fee);
    if hex::encode(closed.hash.0) == line.hash {
        Ok(())
    } else {
        Err("its transactions do not give its hash")
    }
}
