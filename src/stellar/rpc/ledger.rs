//! The last ledger closed.

use serde::Deserialize;

use crate::domain::classify::Fault;

use super::Rpc;
use super::calls::Method;
use super::nodes::Answer;
use super::standing::Shown;
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
struct LatestLedger {
    sequence: u32,
    #[serde(deserialize_with = "number")]
    close_time: u64,
}

impl From<Seen> for Shown {
    fn from(seen: Seen) -> Self {
        Self {
            ledger: seen.ledger,
            close_time: Some(seen.close_time),
        }
    }
}

impl Answer for LatestLedger {
    fn shown(&self) -> Option<Shown> {
        Some(Seen::from(self).into())
    }
}

impl From<&LatestLedger> for Seen {
    fn from(answer: &LatestLedger) -> Self {
        Self {
            ledger: answer.sequence,
            close_time: answer.close_time,
        }
    }
}

impl Rpc {
    /// The last ledger that the node has taken in.
    ///
    /// `getLatestLedger` brings the whole ledger along, which may outgrow what is read of an answer. So it is asked only
    /// where `getHealth` does not tell: older versions leave the time out, and a node whose ledger is old answers with an
    /// error.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn latest(&self) -> Result<Seen, Fault> {
        let health = self.call(Method::GetHealth, Params::none(), |health: Health| {
            Ok(health.seen())
        });
        match health.await {
            Ok(Some(seen)) => return Ok(seen),
            Ok(None) | Err(Fault::Rpc(_)) => {}
            Err(fault) => return Err(fault),
        }
        self.call(
            Method::GetLatestLedger,
            Params::none(),
            |answer: LatestLedger| Ok(Seen::from(&answer)),
        )
        .await
    }

    /// The oldest ledger that the node keeps.
    ///
    /// # Errors
    /// [`Fault`] without a usable answer.
    pub async fn oldest_ledger(&self) -> Result<u32, Fault> {
        self.call(Method::GetHealth, Params::none(), |health: Health| {
            Ok(health.oldest_ledger)
        })
        .await
    }
}
