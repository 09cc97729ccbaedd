//! Positions in the history and the cursors that name them.

use super::error::RpcError;

/// Largest transaction index of a cursor: 20 bits.
pub const TRANSACTION_MASK: u32 = 0xf_ffff;
/// Largest operation index of a cursor: 12 bits.
pub const OPERATION_MASK: u32 = 0xfff;

/// Ledger, transaction and operation as one number: 32, 20 and 12 bits.
pub fn toid(ledger: u32, transaction: u32, operation: u32) -> i64 {
    (i64::from(ledger & 0x7fff_ffff) << 32)
        | (i64::from(transaction & TRANSACTION_MASK) << 12)
        | i64::from(operation & OPERATION_MASK)
}

fn split(id: i64) -> Option<(u32, u32, u32)> {
    let ledger = u32::try_from(id >> 32).ok()?;
    let low = u32::try_from(id & 0xffff_ffff).ok()?;
    Some((ledger, low >> 12, low & OPERATION_MASK))
}

/// A transaction's place; transactions of a ledger count from 1, so 0 is the start of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub ledger: u32,
    pub transaction: u32,
}

impl Position {
    /// Before the first transaction of a ledger.
    pub fn ledger_start(ledger: u32) -> Self {
        Self {
            ledger,
            transaction: 0,
        }
    }

    /// Of a transaction.
    pub fn transaction(ledger: u32, transaction: u32) -> Self {
        Self {
            ledger,
            transaction,
        }
    }

    /// The place a cursor of `getTransactions` names.
    pub fn parse(cursor: &str) -> Result<Self, RpcError> {
        let (ledger, transaction, _) = cursor
            .parse()
            .ok()
            .and_then(split)
            .ok_or_else(|| RpcError::invalid_params("the cursor is not a number"))?;
        Ok(Self {
            ledger,
            transaction,
        })
    }
}

/// An event's place, in the order events are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventCursor {
    pub ledger: u32,
    pub transaction: u32,
    pub operation: u32,
    pub event: u32,
}

impl EventCursor {
    /// After all events of a ledger.
    pub fn end_of(ledger: u32) -> Self {
        Self {
            ledger,
            transaction: TRANSACTION_MASK,
            operation: OPERATION_MASK,
            event: u32::MAX,
        }
    }

    /// The place an event id names.
    pub fn parse(cursor: &str) -> Result<Self, RpcError> {
        let parsed = || {
            let (id, event) = cursor.split_once('-')?;
            let (ledger, transaction, operation) = split(id.parse().ok()?)?;
            Some(Self {
                ledger,
                transaction,
                operation,
                event: event.parse().ok()?,
            })
        };
        parsed().ok_or_else(|| {
            RpcError::invalid_params("the cursor is not an event id (19 digits, a dash, 10 digits)")
        })
    }
}

impl std::fmt::Display for EventCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = toid(self.ledger, self.transaction, self.operation);
        write!(f, "{id:019}-{:010}", self.event)
    }
}
