//! What staff do to transactions: requeue and cancel, each with a reason that stays with the transaction.

use std::sync::Arc;

use poem::web::Data;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use poem_openapi::payload::Json;
use uuid::Uuid;

use crate::domain::ids::SubmissionId;
use crate::domain::submission::Status;
use crate::flow::reason::Reason;
use crate::flow::requeue::{self, Requeued};
use crate::flow::withdraw::{self, Withdrawn};

use super::Shared;
use super::auth::{Caller, Operates};
use super::body::Document;
use super::patience::writing;
use super::problem::{Code, Problem};
use super::refusal::ChangeRefused;
use super::requests::StaffRequest;
use super::resource::Transaction;
use super::transactions::{invalid_payload, no_such_transaction};

/// The operations of staff.
pub struct Admin;

#[OpenApi(prefix_path = "/admin")]
impl Admin {
    /// Requeue a failed transaction.
    ///
    /// Needs the scope `outbox:write`. Refused with `outcome_unknown` while an envelope of it could still be applied, and
    /// for ever with `already_effective` once one succeeded.
    #[oai(
        path = "/transactions/:id/requeue",
        method = "post",
        operation_id = "requeueTransaction"
    )]
    async fn requeue(
        &self,
        caller: Caller<Operates>,
        id: Path<Uuid>,
        app: Data<&Arc<Shared>>,
        body: Document<StaffRequest>,
    ) -> Result<Json<Transaction>, ChangeRefused> {
        let reason = Reason::read(&body.value).map_err(invalid_payload)?;
        let requeued = writing(requeue::requeue(
            &app.ledger,
            SubmissionId(id.0),
            &reason,
            &caller.actor(),
        ))
        .await?;
        match requeued {
            Requeued::Done(row) => {
                app.nudge.notify_one();
                Ok(Json(Transaction::from(&*row)))
            }
            Requeued::OutcomeUnknown => Err(outcome_unknown().into()),
            Requeued::AlreadyEffective => Err(Problem::new(
                Code::AlreadyEffective,
                "a transaction of this key succeeded: it never runs again",
            )
            .into()),
            Requeued::NotFailed(status) => Err(wrong_status(
                Code::NotFailed,
                "only failed transactions can be requeued",
                status,
            )
            .into()),
            Requeued::Busy => Err(busy().into()),
            Requeued::NotFound => Err(no_such_transaction().into()),
        }
    }

    /// Cancel a pending transaction.
    ///
    /// Needs the scope `outbox:write`. Once an envelope may be out, only the network decides.
    #[oai(
        path = "/transactions/:id/cancel",
        method = "post",
        operation_id = "cancelTransaction"
    )]
    async fn cancel(
        &self,
        caller: Caller<Operates>,
        id: Path<Uuid>,
        app: Data<&Arc<Shared>>,
        body: Document<StaffRequest>,
    ) -> Result<Json<Transaction>, ChangeRefused> {
        let reason = Reason::read(&body.value).map_err(invalid_payload)?;
        let withdrawn = writing(withdraw::cancel(
            &app.ledger,
            SubmissionId(id.0),
            &reason,
            &caller.actor(),
        ))
        .await?;
        match withdrawn {
            Withdrawn::Done(row) => Ok(Json(Transaction::from(&*row))),
            Withdrawn::NotCancellable(status) => Err(wrong_status(
                Code::NotCancellable,
                "only pending transactions can be cancelled",
                status,
            )
            .into()),
            Withdrawn::OutcomeUnknown => Err(outcome_unknown().into()),
            Withdrawn::Busy => Err(busy().into()),
            Withdrawn::NotFound => Err(no_such_transaction().into()),
        }
    }
}

fn outcome_unknown() -> Problem {
    Problem::new(
        Code::OutcomeUnknown,
        "an envelope of this transaction could still be applied, or nobody knows whether one was",
    )
}

fn wrong_status(code: Code, rule: &str, status: Status) -> Problem {
    Problem::new(code, format!("{rule}; this one is {}", status.as_str()))
}

fn busy() -> Problem {
    Problem::new(
        Code::Busy,
        "the transaction kept changing; nothing was written",
    )
}
