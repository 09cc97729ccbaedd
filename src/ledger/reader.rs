//! Reading, with an end to waiting: a server that keeps its connections and answers nobody must not hold readers for ever.

use std::future::Future;
use std::time::Duration;

use sea_orm::entity::prelude::async_trait;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, RuntimeErr,
    Statement,
};
use tokio::time::timeout;

use super::error::connection_was_dead;

/// Longest wait for an answer, the wait for a connection included.
const LIMIT: Duration = Duration::from_secs(12);

/// Connections that are read from.
#[derive(Clone)]
pub(super) struct Reader(pub(super) DatabaseConnection);

/// Dead connections a statement may meet before it gives up: more than a pool holds.
const TRIES: usize = 100;

/// Asks on another connection while it meets dead ones. Only for what writes nothing.
pub(super) async fn on_a_live_connection<T, F>(ask: impl Fn() -> F) -> Result<T, DbErr>
where
    F: Future<Output = Result<T, DbErr>>,
{
    let mut answer = ask().await;
    for _ in 1..TRIES {
        if !matches!(&answer, Err(error) if connection_was_dead(error)) {
            break;
        }
        answer = ask().await;
    }
    answer
}

async fn within<T>(answer: impl Future<Output = Result<T, DbErr>> + Send) -> Result<T, DbErr> {
    timeout(LIMIT, answer).await.unwrap_or_else(|_| {
        let silent = "the database does not answer".to_owned();
        Err(DbErr::Conn(RuntimeErr::Internal(silent)))
    })
}

#[async_trait::async_trait]
impl ConnectionTrait for Reader {
    fn get_database_backend(&self) -> DbBackend {
        self.0.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        within(self.0.execute_raw(statement)).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        within(self.0.execute_unprepared(sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        within(on_a_live_connection(|| {
            self.0.query_one_raw(statement.clone())
        }))
        .await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        within(on_a_live_connection(|| {
            self.0.query_all_raw(statement.clone())
        }))
        .await
    }
}
