//! The database's clock, in unix milliseconds. It is the only clock that claims and due times know, so that processes
//! whose own clocks differ agree.

use std::time::Duration;

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ConnectionTrait, DbBackend};

use super::types::Millis;

/// The time of the statement: constant within it, so that PostgreSQL can hold it against an index.
pub(super) fn now(db: &impl ConnectionTrait) -> Expr {
    Expr::cust(sql(db.get_database_backend()))
}

/// The same, for a statement that is written out.
pub(super) fn sql(backend: DbBackend) -> &'static str {
    if backend == DbBackend::Sqlite {
        "(CAST(unixepoch('subsec') * 1000 AS INTEGER))"
    } else {
        "((extract(epoch FROM statement_timestamp()) * 1000)::bigint)"
    }
}

/// So long after now.
pub(super) fn after(db: &impl ConnectionTrait, delay: Duration) -> Expr {
    now(db).add(millis(delay))
}

/// So long before now.
pub(super) fn before(db: &impl ConnectionTrait, age: Duration) -> Expr {
    now(db).sub(millis(age))
}

/// A delay in milliseconds. One beyond the end of time is as good as for ever.
fn millis(delay: Duration) -> Millis {
    let delay = Millis::try_from(delay.as_millis()).unwrap_or(Millis::MAX);
    Ord::min(delay, FOR_EVER)
}

/// Ten thousand years: far enough, and far from overflow when it is added to now.
const FOR_EVER: Millis = 10_000 * 366 * 86_400_000;
