//! The last ledger closed.

use serde::Deserialize;

use crate::domain::classify::Fault;

use super::Rpc;
use super::calls::Method;
use super::wire::{Health, Params, number};

/// A ledger that an answer tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Its number.
    pub ledger: u32,
    /// When it closed, in unix seconds, by the network's clock.
    pub close_time: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    sequence: u32,
    #[serde(deserialize_with = "number")]
    close_time: u64,
}

impl Rpc {
    /// The last ledger that the node has taken in.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn latest(&self) -> Result<Seen, Fault> {
        let answer: Answer = self.call(Method::GetLatestLedger, Params::none()).await?;
        Ok(Seen {
            ledger: answer.sequence,
            close_time: answer.close_time,
        })
    }

    /// The oldest ledger that the node keeps.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn oldest_ledger(&self) -> Result<u32, Fault> {
        let health: Health = self.call(Method::GetHealth, Params::none()).await?;
        Ok(health.oldest_ledger)
    }
}
