//! What a world does whose ledger was set back.

use std::path::PathBuf;
use std::sync::Arc;

use tender::domain::ids::SubmissionId;
use tender::domain::memory::MemoryState;
use tender::flow::chain::Chain;
use tender::flow::memory::{Depth, compare};
use tender::flow::recover::{Acceptance, Identify, Recovery};
use tender::ledger::{LedgerError, Submission};
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

    fn parts<'a>(&'a self, identity: &'a Identity) -> Identify<'a> {
        Identify {
            ledger: &self.ledger,
            rpc: &self.rpc,
            identity,
        }
    }

    /// A payment that was sent, included and settled.
    pub async fn settled(&self, key: &str) -> Submission {
        let row = self.send(key).await;
        self.close(1);
        self.pass_until(row.id, |row| row.state.status.is_terminal())
            .await;
        row
    }

    pub async fn recover(&self, accepted: &[Acceptance]) -> Recovery {
        let identity = self.identity();
        let parts = self.parts(&identity);
        let chain = Arc::new(Chain::default());
        parts.recover(&chain, &[], accepted, "test").await.unwrap()
    }

    /// A recovery that is killed after it has kept what it found.
    pub async fn survey_and_die(&self) {
        let identity = self.identity();
        let parts = self.parts(&identity);
        let memory = self.ledger.memory().await.unwrap();
        let chain = Arc::new(Chain::default());
        let survey = parts.survey(&memory, &chain, &[]).await.unwrap();
        let kept = self.ledger.note_recovered(memory.mark.epoch, survey.found);
        kept.await.unwrap();
    }

    /// What a worker looks at before its first claim.
    pub async fn first_look(&self) {
        let identity = self.identity();
        let parts = self.parts(&identity);
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
