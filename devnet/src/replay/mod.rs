//! Checks the network against traces recorded from a real node.
//!
//! A trace is a file of JSON lines: a header with the network's parameters and the entries at the start, then one
//! step a line: envelopes sent, ledgers closed, accounts read, each with what the real node answered. Everything
//! the real rules determine is compared: statuses, codes, fees, results, events and entries byte for byte, and
//! transaction meta up to the order of the entry changes within an operation.

mod answers;
mod codes;
mod compare;
mod header;
mod meta;
mod steps;

pub use steps::compared_fields;

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Longest line of a trace, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// A trace that the network met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// Steps replayed, notes not counted.
    pub steps: u64,
    /// Envelopes sent.
    pub sends: u64,
    /// Ledgers closed.
    pub ledgers: u64,
}

/// Where the network differs from a trace, or why the trace cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: step {step} ({kind}): {field}: expected {expected}, got {actual}")]
pub struct Difference {
    /// The trace file.
    pub file: Box<str>,
    /// Number `n` of the step; 0 is the header.
    pub step: u64,
    /// Kind of the step.
    pub kind: String,
    /// The field that differs.
    pub field: String,
    /// What the trace has.
    pub expected: String,
    /// What the network has.
    pub actual: String,
}

impl Difference {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "most callers have a temporary to give"
    )]
    fn new(field: &str, expected: impl ToString, actual: impl ToString) -> Self {
        Self {
            file: Box::default(),
            step: 0,
            kind: "header".to_owned(),
            field: field.to_owned(),
            expected: expected.to_string(),
            actual: actual.to_string(),
        }
    }

    fn at(self, step: u64, kind: &str) -> Self {
        Self {
            step,
            kind: kind.to_owned(),
            ..self
        }
    }
}

/// Replays a trace file.
///
/// # Errors
/// The first difference, or why the file cannot be replayed.
pub fn replay_file(path: &Path) -> Result<Summary, Difference> {
    let in_file = |difference: Difference| Difference {
        file: path.display().to_string().into(),
        ..difference
    };
    let file = File::open(path)
        .map_err(|error| in_file(Difference::new("file", "a readable trace", error)))?;
    replay(BufReader::new(file)).map_err(in_file)
}

/// Replays a trace.
///
/// # Errors
/// The first difference, or why the trace cannot be replayed; its `file` is empty.
pub fn replay(mut reader: impl BufRead) -> Result<Summary, Difference> {
    let first = next_line(&mut reader)?
        .ok_or_else(|| Difference::new("header", "a header line", "an empty trace"))?;
    let header = header::Header::read(&first)?;
    let mut summary = Summary {
        scenario: header.scenario.clone(),
        steps: 0,
        sends: 0,
        ledgers: 0,
    };
    let mut player = steps::Player::new(header);
    loop {
        let line = next_line(&mut reader).map_err(|error| error.at(summary.steps + 1, "?"))?;
        let Some(step) = line else { break };
        let kind = step["step"].as_str().unwrap_or("?");
        if kind == "note" {
            continue;
        }
        summary.steps += 1;
        summary.sends += u64::from(kind == "send");
        summary.ledgers += u64::from(kind == "close");
        if step["n"] != summary.steps {
            return Err(Difference::new("n", &step["n"], summary.steps).at(summary.steps, kind));
        }
        player
            .play(kind, &step)
            .map_err(|difference| difference.at(summary.steps, kind))?;
    }
    if summary.steps == 0 {
        return Err(Difference::new("steps", "at least one", 0));
    }
    Ok(summary)
}

fn next_line(reader: &mut impl BufRead) -> Result<Option<Value>, Difference> {
    loop {
        let mut line = Vec::new();
        let limit = MAX_LINE as u64 + 1;
        let read = std::io::Read::take(&mut *reader, limit)
            .read_until(b'\n', &mut line)
            .map_err(|error| Difference::new("file", "a readable trace", error))?;
        if read == 0 {
            return Ok(None);
        }
        if line.len() > MAX_LINE {
            return Err(Difference::new(
                "line",
                format!("at most {MAX_LINE} bytes"),
                "more",
            ));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        return serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| Difference::new("line", "one JSON object", error));
    }
}
