//! Counts calls by method: what a confirmed payment costs in calls is a promise of its own.

use std::sync::atomic::{AtomicU64, Ordering};

/// Methods of the RPC that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Hands an envelope to a node.
    SendTransaction,
    /// Looks a hash up.
    GetTransaction,
    /// Pages through the transactions of ledgers.
    GetTransactions,
    /// Reads ledger entries at one ledger.
    GetLedgerEntries,
    /// The last ledger closed, whole.
    GetLatestLedger,
    /// Pages through events.
    GetEvents,
    /// The range of ledgers that a node keeps, and so the last one closed.
    GetHealth,
    /// The network's passphrase.
    GetNetwork,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::SendTransaction,
        Self::GetTransaction,
        Self::GetTransactions,
        Self::GetLedgerEntries,
        Self::GetLatestLedger,
        Self::GetEvents,
        Self::GetHealth,
        Self::GetNetwork,
    ];

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SendTransaction => "sendTransaction",
            Self::GetTransaction => "getTransaction",
            Self::GetTransactions => "getTransactions",
            Self::GetLedgerEntries => "getLedgerEntries",
            Self::GetLatestLedger => "getLatestLedger",
            Self::GetEvents => "getEvents",
            Self::GetHealth => "getHealth",
            Self::GetNetwork => "getNetwork",
        }
    }
}

impl Method {
    /// Whether a repeat could do more than the call itself.
    pub(super) fn has_effect(self) -> bool {
        match self {
            Self::SendTransaction => true,
            Self::GetTransaction
            | Self::GetTransactions
            | Self::GetLedgerEntries
            | Self::GetLatestLedger
            | Self::GetEvents
            | Self::GetHealth
            | Self::GetNetwork => false,
        }
    }
}

/// One counter a method.
#[derive(Default)]
pub(super) struct Calls([AtomicU64; Method::ALL.len()]);

impl Calls {
    pub(super) fn count(&self, method: Method) {
        self.0[method as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Vec<(Method, u64)> {
        let count = |method| (method, self.0[method as usize].load(Ordering::Relaxed));
        Method::ALL.into_iter().map(count).collect()
    }
}
