//! Waiting until a process has done what it can do, without a clock: sends and scans run aside.

use sea_orm::{ConnectionTrait, DbBackend, Statement};
use tender::domain::ids::{SubmissionId, Version};
use tender::domain::submission::Event;
use tender::ledger::{Applied, Change, LedgerError};

use crate::process::{Done, Role};
use crate::world::World;

/// Rounds of the runtime in which everything that can go on does: answers of this machine take one or two each.
const ROUNDS: usize = 24;

impl World {
    /// Waits for a process that began something or was let go on; what it came to, if it is done.
    pub async fn settle(&mut self, process: usize) -> Option<Done> {
        let done = self.processes[process].settle().await;
        if self.processes[process].role == Role::Worker && done.is_some() {
            return done;
        }
        self.be_quiet(process).await;
        match done {
            Some(done) => Some(done),
            None => self.processes[process].done().await,
        }
    }

    async fn be_quiet(&self, process: usize) {
        let front = &self.processes[process].front;
        let mut before = None;
        loop {
            for _ in 0..ROUNDS {
                tokio::task::yield_now().await;
            }
            self.pass_the_writer().await;
            let (calls, answering) = front.activity();
            let now = (calls, self.commits().await);
            if before == Some(now) && !answering {
                return;
            }
            before = Some(now);
        }
    }

    /// Whatever was handed to the ledger's writer before is written now.
    async fn pass_the_writer(&self) {
        let nobody = SubmissionId(sea_orm::prelude::Uuid::nil());
        let change = Change::of(nobody, Version(0), Event::AnswerNoted, "nobody");
        let applied = self.site.ledger.apply(change).await;
        // One that takes itself for forgetful has been asked all the same.
        let asked = matches!(
            applied,
            Ok(Applied::NotFound) | Err(LedgerError::MemoryLost(_))
        );
        assert!(asked, "{applied:?}");
    }

    /// A number that moves with every commit.
    async fn commits(&self) -> i64 {
        let statement = Statement::from_string(DbBackend::Sqlite, "PRAGMA data_version");
        let row = self.db.query_one_raw(statement).await.unwrap().unwrap();
        row.try_get_by_index(0).unwrap()
    }
}
