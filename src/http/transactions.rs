//! Transactions, for payment services.

use std::sync::Arc;

use poem::Request;
use poem::web::Data;
use poem_openapi::param::{Header, Path, Query};
use poem_openapi::payload::Json;
use poem_openapi::{ApiResponse, OpenApi};
use uuid::Uuid;

use crate::domain::ids::SubmissionId;
use crate::domain::key::{IdempotencyKey, Tenant};
use crate::flow::accept::{self, KeyFault, Outcome};
use crate::flow::fields::{BadPayload, Fault};
use crate::ledger::Submission;
use crate::ledger::{Cursor, ListFilter};

use super::Shared;
use super::auth::{Caller, Pushes, Reads};
use super::body::Document;
use super::patience::{reading, writing};
use super::problem::{Code, Problem};
use super::refusal::{ListRefused, PushRefused, ReadRefused};
use super::requests::NewTransaction;
use super::resource::{AcceptedTransaction, TransactionDetail, TransactionPage};
use super::words::{KindWord, StatusWord};

/// Most transactions on a page.
const MAX_PAGE: u64 = 200;
const DEFAULT_PAGE: u64 = 50;
const KEY_HEADER: &str = "idempotency-key";

/// The operations on transactions.
pub struct Transactions;

/// A transaction was taken in.
#[derive(ApiResponse)]
pub enum Pushed {
    /// It is new: it will be put on the network exactly once.
    #[oai(status = 202)]
    New(
        Json<AcceptedTransaction>,
        /// Where its status can be polled.
        #[oai(header = "Location")]
        String,
        /// Seconds to wait before the first poll.
        #[oai(header = "Retry-After")]
        u64,
    ),
    /// The same request was taken in before: the transaction as it stands now.
    #[oai(status = 200)]
    Replayed(
        Json<AcceptedTransaction>,
        /// Where its status can be polled.
        #[oai(header = "Location")]
        String,
        /// Always true.
        #[oai(header = "Idempotent-Replayed")]
        bool,
    ),
}

#[OpenApi]
impl Transactions {
    /// Push a transaction.
    ///
    /// Needs the scope `transactions:write`, and the header `Idempotency-Key` or `key_parts` in the body. The same key
    /// with the same body answers the same transaction, always; with another body it is refused.
    #[oai(
        path = "/transactions",
        method = "post",
        operation_id = "pushTransaction"
    )]
    async fn push(
        &self,
        caller: Caller<Pushes>,
        /// Names the intent: at most 255 visible ASCII characters.
        #[oai(name = "Idempotency-Key")]
        _idempotency_key: Header<Option<String>>,
        request: &Request,
        app: Data<&Arc<Shared>>,
        body: Document<NewTransaction>,
    ) -> Result<Pushed, PushRefused> {
        let parsed = accept::parse(&body.value).map_err(invalid_payload)?;
        let key = resolve_key(request, parsed.derived_key.clone())?;
        let outcome = writing(accept::accept(&app.ledger, caller.tenant(), &key, &parsed)).await?;
        Ok(match outcome {
            Outcome::New(row) => {
                app.nudge.notify_one();
                let seconds = app.settings.poll_seconds;
                Pushed::New(accepted(app.0, &row), location(&row), seconds)
            }
            Outcome::Replayed(row) => Pushed::Replayed(accepted(app.0, &row), location(&row), true),
            Outcome::Conflict { pointers } => return Err(conflict(pointers).into()),
        })
    }

    /// List transactions.
    ///
    /// Needs the scope `transactions:read`. The API key's own tenant only, newest first.
    #[oai(
        path = "/transactions",
        method = "get",
        operation_id = "listTransactions"
    )]
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a parameter of the query"
    )]
    async fn list(
        &self,
        caller: Caller<Reads>,
        /// Only those that stand there.
        status: Query<Option<StatusWord>>,
        /// Only those of that kind.
        kind: Query<Option<KindWord>>,
        /// `next_cursor` of the page before.
        cursor: Query<Option<String>>,
        /// How many, 1 to 200; 50 if absent.
        #[oai(validator(minimum(value = "1"), maximum(value = "200")))]
        limit: Query<Option<u64>>,
        app: Data<&Arc<Shared>>,
    ) -> Result<Json<TransactionPage>, ListRefused> {
        let after = cursor.0.as_deref().map(parse_cursor).transpose()?;
        let filter = ListFilter {
            tenant: Some(caller.tenant().clone()),
            status: status.0.map(Into::into),
            kind: kind.0.map(Into::into),
            ..ListFilter::default()
        };
        let limit = limit.0.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE);
        let (rows, next) = reading(app.ledger.list(&filter, after, limit)).await?;
        Ok(Json(TransactionPage {
            items: rows.iter().map(Into::into).collect(),
            next_cursor: next.map(|cursor| cursor.to_string()),
        }))
    }

    /// Read a transaction.
    ///
    /// Needs the scope `transactions:read`. With its attempts, its verdict and the evidence for it.
    #[oai(
        path = "/transactions/:id",
        method = "get",
        operation_id = "readTransaction"
    )]
    async fn read(
        &self,
        caller: Caller<Reads>,
        id: Path<Uuid>,
        app: Data<&Arc<Shared>>,
    ) -> Result<Json<TransactionDetail>, ReadRefused> {
        let row = own(app.0, caller.tenant(), SubmissionId(id.0)).await?;
        let attempts = reading(app.ledger.attempts(row.id)).await?;
        Ok(Json(TransactionDetail::new(&row, &attempts)))
    }
}

/// Another tenant's transaction is as absent as one that does not exist.
async fn own(app: &Shared, tenant: &Tenant, id: SubmissionId) -> Result<Submission, Problem> {
    reading(app.ledger.submission(id))
        .await?
        .filter(|row| row.tenant == *tenant)
        .ok_or_else(no_such_transaction)
}

/// The answer for an id that the caller cannot see.
pub fn no_such_transaction() -> Problem {
    Problem::new(Code::NotFound, "there is no such transaction")
}

fn accepted(app: &Shared, row: &Submission) -> Json<AcceptedTransaction> {
    Json(AcceptedTransaction::new(row, app.settings.base_fee))
}

fn location(row: &Submission) -> String {
    format!("/transactions/{}", row.id)
}

/// A body with faults, for the caller.
pub fn invalid_payload(bad: BadPayload) -> Problem {
    Problem::new(
        Code::InvalidPayload,
        "the request is not valid; its idempotency key was not used up",
    )
    .with_errors(bad.0)
}

fn conflict(pointers: Vec<String>) -> Problem {
    let errors = pointers.into_iter().map(|pointer| Fault {
        pointer,
        detail: "differs from the request that used this idempotency key first".to_owned(),
    });
    let detail = "the idempotency key was used for another request before; nothing was written";
    Problem::new(Code::IdempotencyKeyReused, detail).with_errors(errors.collect())
}

fn parse_cursor(text: &str) -> Result<Cursor, Problem> {
    text.parse().map_err(|_| {
        Problem::new(
            Code::InvalidParameter,
            "`cursor` is not one that a page gave out",
        )
    })
}

/// The key from the header or from the parts in the body.
fn resolve_key(
    request: &Request,
    derived: Option<IdempotencyKey>,
) -> Result<IdempotencyKey, Problem> {
    let mut headers = request.headers().get_all(KEY_HEADER).iter();
    let (first, second) = (headers.next(), headers.next());
    if second.is_some() {
        let detail = "`Idempotency-Key` was sent more than once";
        return Err(Problem::new(Code::InvalidIdempotencyKey, detail));
    }
    let sent = first.map(|value| parse_key(value.as_bytes())).transpose()?;
    accept::resolve_key(sent, derived).map_err(|fault| match fault {
        KeyFault::Mismatch => Problem::new(
            Code::IdempotencyKeyMismatch,
            "`Idempotency-Key` and `key_parts` name different keys; send one of them",
        ),
        KeyFault::Missing => Problem::new(
            Code::MissingIdempotencyKey,
            "send the header `Idempotency-Key`, or `key_parts` in the body",
        ),
    })
}

fn parse_key(bytes: &[u8]) -> Result<IdempotencyKey, Problem> {
    let invalid = |why: String| {
        Problem::new(
            Code::InvalidIdempotencyKey,
            format!("`Idempotency-Key` {why}"),
        )
    };
    std::str::from_utf8(bytes)
        .map_err(|_| invalid("may hold visible ASCII characters only, no blanks".to_owned()))?
        .parse()
        .map_err(|fault: crate::domain::key::BadName| invalid(fault.to_string()))
}
