//! What a world does whose ledger was set back.

use std::path::PathBuf;
use std::sync::Arc;

use tender::domain::ids::SubmissionId;
use tender::domain::memory::MemoryState;
use tender::flow::chain::Chain;
use tender::flow::memory::{Depth, compare};
use tender::flow::recover::{Acceptance, Identify, Recovery};
use tender::ledger::LedgerError;
use tender::stellar::keyring::Identity;

use crate::net::treasury;
use crate::world::World;

impl World {
    pub async fn state(&self) -> MemoryState {
        self.ledger.memory().await.unwrap().state
    }

    fn identity(&self) -> Identity {
        Identity {
            network: self.net.id.clone(),
            treasury: treasury().account(),
        }
    }

    pub async fn recover(&self, accepted: &[Acceptance]) -> Recovery {
        let identity = self.identity();
        let parts = Identify {
            ledger: &self.ledger,
            rpc: &self.rpc,
            identity: &identity,
        };
        let chain = Arc::new(Chain::default());
        parts.recover(&chain, &[], accepted, "test").await.unwrap()
    }

    /// What a worker looks at before its first claim.
    pub async fn first_look(&self) {
        let identity = self.identity();
        let parts = Identify {
            ledger: &self.ledger,
            rpc: &self.rpc,
            identity: &identity,
        };
        compare(&parts, Depth::Held).await.unwrap();
    }

    pub async fn is_refused(&self, id: SubmissionId) {
        let refused = self.submitter.submit(id).await;
        assert!(
            matches!(refused, Err(LedgerError::MemoryLost(_))),
            "{refused:?}"
        );
    }

    /// Notices, and lets the longest window go by; says how it stands then.
    pub async fn wait_out(&self) -> MemoryState {
        self.pass_until_stopped().await;
        self.pass().await;
        let until = self.ledger.memory().await.unwrap().resume_after.unwrap();
        self.net.node.close_ledger_at(until);
        self.pass().await;
        assert_eq!(self.state().await, MemoryState::Lost, "not later than that");
        self.close(1);
        self.pass().await;
        self.state().await
    }

    /// A copy of the files says of itself that it is the same database.
    pub async fn back_up_unnoticed(&self) -> PathBuf {
        self.sql("UPDATE ledger_memory SET witness = NULL").await;
        self.back_up().await
    }
}
