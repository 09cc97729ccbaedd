//! Recording: envelopes before they are sent, transitions as they happen.

use futures::FutureExt;
use sea_orm::sea_query::{Expr, Query};
use sea_orm::{ConnectionTrait, DatabaseTransaction};
use serde_json::{Map, Value, json};

use super::entity::{attempt, log};
use super::memory::Gate;
use super::transition::{Brings, Move, cause, illegal, locked, transit};
use super::types::{Applied, Change, Claim, Envelope, LedgerError, Submission};
use super::{Ledger, clock};
use crate::domain::ids::{SubmissionId, Version};
use crate::domain::plan::AccountState;
use crate::domain::submission::{Event, PairFate, Status};

impl Ledger {
    /// Records the envelope of a claim, and by that the row is submitted. Only after this answered
    /// [`Applied::Done`] may the envelope be sent.
    ///
    /// # Errors
    /// [`LedgerError`]. Whatever the error: do not send.
    pub async fn record(
        &self,
        claim: &Claim,
        envelope: Envelope,
        sent_after_ledger: u32,
    ) -> Result<Applied, LedgerError> {
        let change = Change::new(&claim.submission, Event::EnvelopeRecorded, "worker");
        let fence = claim.fence;
        self.admitted(Gate::Open, move |at| {
            async move {
                let Some((row, _)) = locked(at.tx, change.id).await? else {
                    return Ok(Applied::NotFound);
                };
                if row.fence != Some(fence) || row.version != change.version {
                    return Ok(Applied::Stale);
                }
                if row.state.status != Status::Building {
                    return Ok(illegal(&row, &change.event));
                }
                check_pair(&row, &envelope)?;
                let brings = Brings::Envelope {
                    envelope: &envelope,
                    sent_after_ledger,
                    fence: Some(fence),
                };
                transit(at, &row, &change, brings).await
            }
            .boxed()
        })
        .await
    }

    /// Records another envelope of the pair of a row that is in flight, such as a fee-bump.
    ///
    /// # Errors
    /// [`LedgerError`]. Whatever the error: do not send.
    pub async fn record_bump(
        &self,
        id: SubmissionId,
        version: Version,
        envelope: Envelope,
        sent_after_ledger: u32,
    ) -> Result<Applied, LedgerError> {
        self.admitted(Gate::Open, move |at| {
            async move {
                let Some((row, _)) = locked(at.tx, id).await? else {
                    return Ok(Applied::NotFound);
                };
                if row.version != version {
                    return Ok(Applied::Stale);
                }
                let change = Change::new(&row, Event::EnvelopeRecorded, "reconciler");
                if !matches!(row.state.status, Status::Submitted | Status::Confirming) {
                    return Ok(illegal(&row, &change.event));
                }
                check_pair(&row, &envelope)?;
                #[cfg(feature = "planted-bugs")]
                if super::planted::BUMPS_MOVE_NOTHING.load(std::sync::atomic::Ordering::Relaxed) {
                    insert(at.tx, &row, &envelope, sent_after_ledger).await?;
                    return Ok(Applied::Done(Box::new(row)));
                }
                let brings = Brings::Envelope {
                    envelope: &envelope,
                    sent_after_ledger,
                    fence: None,
                };
                transit(at, &row, &change, brings).await
            }
            .boxed()
        })
        .await
    }
}

/// An envelope of another pair than the row's would break the pin.
fn check_pair(row: &Submission, envelope: &Envelope) -> Result<(), LedgerError> {
    if row.pair == Some(envelope.pair) {
        return Ok(());
    }
    Err(LedgerError::Corrupt(format!(
        "submission {} does not hold the pair of the envelope that was to be recorded",
        row.id
    )))
}

/// Adds the envelope to the attempts of its row.
pub(super) async fn insert(
    tx: &DatabaseTransaction,
    row: &Submission,
    envelope: &Envelope,
    sent_after_ledger: u32,
) -> Result<(), LedgerError> {
    use attempt::Column as C;
    let out_of_range = |column: &str| LedgerError::Corrupt(format!("{column}: out of range"));
    let generation = i32::try_from(row.state.generation).map_err(|_| out_of_range("generation"))?;
    let max_time = i64::try_from(envelope.max_time).map_err(|_| out_of_range("max_time"))?;
    let mut insert = Query::insert();
    insert
        .into_table(attempt::Entity)
        .columns([
            C::SubmissionId,
            C::Generation,
            C::SourceAccount,
            C::Sequence,
            C::Hash,
            C::InnerHash,
            C::EnvelopeXdr,
            C::Fee,
            C::Operations,
            C::MaxTime,
            C::SentAfterLedger,
            C::Settled,
            C::CreatedAt,
        ])
        .values([
            Expr::val(row.id.0),
            Expr::val(generation),
            Expr::val(envelope.pair.account.to_string()),
            Expr::val(envelope.pair.sequence),
            Expr::val(envelope.hash.to_string()),
            Expr::val(envelope.inner_hash.map(|hash| hash.to_string())),
            Expr::val(envelope.xdr.as_str()),
            Expr::val(envelope.fee),
            Expr::val(envelope.operations),
            Expr::val(max_time),
            Expr::val(i64::from(sent_after_ledger)),
            Expr::val(false),
            clock::now(tx),
        ])
        .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?;
    step!("record.insert", tx.execute(&insert).await)?;
    Ok(())
}

/// Adds a line to the log for each move.
pub(super) async fn log(tx: &DatabaseTransaction, moves: &[Move<'_>]) -> Result<(), LedgerError> {
    use log::Column as C;
    let mut insert = Query::insert();
    insert.into_table(log::Entity).columns([
        C::SubmissionId,
        C::Version,
        C::Event,
        C::FromStatus,
        C::ToStatus,
        C::Actor,
        C::Detail,
        C::At,
    ]);
    for Move {
        before,
        after,
        change,
        fate,
        leases: _,
    } in moves
    {
        let detail = detail(before, after, change, *fate).map(|detail| detail.to_string());
        insert
            .values([
                Expr::val(after.id.0),
                Expr::val(after.version.0),
                Expr::val(change.event.as_str()),
                Expr::val(before.state.status.as_str()),
                Expr::val(after.state.status.as_str()),
                Expr::val(change.actor.as_str()),
                Expr::val(detail),
                // The row was stamped by the same transaction.
                Expr::val(after.updated_at),
            ])
            .map_err(|fault| LedgerError::Corrupt(fault.to_string()))?;
    }
    step!("transition.log", tx.execute(&insert).await)?;
    Ok(())
}

fn detail(
    before: &Submission,
    after: &Submission,
    change: &Change,
    fate: PairFate,
) -> Option<Value> {
    let mut detail = Map::new();
    let mut tell = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            detail.insert(name.to_owned(), value);
        }
    };
    let moved = (fate != PairFate::Keep)
        .then_some(
            before
                .pair
                .filter(|_| before.state.holds_pair)
                .or(after.pair),
        )
        .flatten();
    tell(
        "pair",
        moved.map(|pair| {
            json!({
                "account": pair.account.to_string(),
                "sequence": pair.sequence.to_string(),
                "fate": fate_name(fate),
            })
        }),
    );
    tell("cause", cause(&change.event).map(|code| json!(code)));
    tell(
        "last_error",
        change.last_error.as_ref().map(|text| json!(text)),
    );
    tell("tx_hash", recorded_hash(after, change).map(Value::from));
    tell(
        "account_sequence",
        change
            .account
            .and_then(AccountState::sequence)
            .map(|number| json!(number.to_string())),
    );
    tell("evidence", change.evidence.clone());
    (!detail.is_empty()).then_some(Value::Object(detail))
}

fn recorded_hash(after: &Submission, change: &Change) -> Option<String> {
    let recorded = after
        .tx_hash
        .filter(|_| change.event == Event::EnvelopeRecorded);
    change.tx_hash.or(recorded).map(|hash| hash.to_string())
}

fn fate_name(fate: PairFate) -> &'static str {
    match fate {
        PairFate::Keep => "kept",
        PairFate::Lease => "leased",
        PairFate::Spent => "spent",
        PairFate::Unused => "unused",
        PairFate::Reseed => "reseeded",
        PairFate::Quarantine => "quarantined",
    }
}
