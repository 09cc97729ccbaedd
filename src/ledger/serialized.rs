//! One account that many submissions share: each holds a sequence of its own, and none leases the account.
//!
//! Whoever proposes a sequence, the claim holds it against what the ledger knows, under the account's lock. Behind that
//! stands the unique index over held pairs, which no proposal and no mistake here gets past.

use futures::FutureExt;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, EntityTrait, QueryFilter, QuerySelect,
};

use super::claim::{below_cap, no_channel};
use super::entity::{channel, submission};
use super::forgotten::Recovered;
use super::memory::{Admitted, Gate};
use super::transition::{Brings, locked, transit};
use super::types::{Applied, Change, ChannelState, Claim, LedgerError, Submission};
use super::{Ledger, recovered};
use crate::domain::ids::{AccountId, Fence, Pair, SubmissionId};
use crate::domain::sequence::{Refusal, Sequences};
use crate::domain::submission::{Event, Status};

/// What a claim with a sequence came to.
#[derive(Clone, Debug)]
pub enum Serialized {
    /// It is ours.
    Claimed {
        /// The claim.
        claim: Box<Claim>,
        /// Whether its sequence is the account's next. If not, the envelope is recorded, and sent in its turn.
        turn: bool,
    },
    /// The key was paid by a transaction that the ledger had forgotten: the row is to be settled by it.
    Paid(Box<Submission>, Box<Recovered>),
    /// Somebody else has the row, it is not due, or there is nothing left to do.
    NotDue,
    /// The account is not to be had, or the cap on submissions in flight is reached. The row may be dispatched again.
    NoChannel,
    /// The sequence cannot be held: ask again for one.
    Refused(Refusal),
}

impl Ledger {
    /// What is known of the account's sequences; `None` when it is not in the pool.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub async fn sequences(&self, account: AccountId) -> Result<Option<Sequences>, LedgerError> {
        let db = self.store.reader();
        let Some(channel) = of_pool(account).one(db).await? else {
            return Ok(None);
        };
        // Read after the account: what was settled in between is held no more, and the claim looks again anyway.
        let held = held(db, account).await?;
        Ok(Some(known(&channel, held)))
    }

    /// Claims a row that is pending and due, with the proposed sequence of the account, if the ledger finds it free and
    /// near enough; at most `depth` sequences of an account are handed out at a time. A row that holds a pair keeps it,
    /// and needs none to be proposed.
    ///
    /// # Errors
    /// [`LedgerError`]. A claim that was made although its answer was lost lapses.
    pub async fn claim_sequence(
        &self,
        id: SubmissionId,
        account: AccountId,
        proposed: Option<i64>,
        depth: u32,
    ) -> Result<Serialized, LedgerError> {
        let asked = Asked {
            account,
            proposed,
            depth,
        };
        self.admitted(Gate::Open, move |at| claim(at, id, asked).boxed())
            .await
    }
}

/// What a claimant asks for.
#[derive(Clone, Copy)]
struct Asked {
    account: AccountId,
    proposed: Option<i64>,
    depth: u32,
}

async fn claim(
    at: Admitted<'_>,
    id: SubmissionId,
    asked: Asked,
) -> Result<Serialized, LedgerError> {
    let tx = at.tx;
    let Some((row, now)) = locked(tx, id).await? else {
        return Ok(Serialized::NotDue);
    };
    if row.state.status != Status::Pending || row.next_attempt_at > now {
        return Ok(Serialized::NotDue);
    }
    if let Some(paid) = recovered::paid(tx, row.tag).await? {
        return Ok(Serialized::Paid(Box::new(row), Box::new(paid)));
    }
    if !below_cap(tx, &at.rules).await? {
        return unavailable(tx, id).await;
    }
    let kept = row.pair.filter(|_| row.state.holds_pair);
    let (pair, turn) = match admit(tx, kept, asked).await? {
        Allowed::Pair { pair, turn } => (pair, turn),
        Allowed::Refused(refusal) => return Ok(Serialized::Refused(refusal)),
        Allowed::None => return unavailable(tx, id).await,
    };
    let fence = Fence(uuid::Uuid::new_v4());
    let change = Change::new(&row, Event::Claimed, "worker");
    let brings = Brings::Claim {
        pair,
        fence,
        leases: false,
    };
    match transit(at, &row, &change, brings).await? {
        Applied::Done(submission) => Ok(Serialized::Claimed {
            claim: Box::new(Claim {
                submission: *submission,
                pair,
                fence,
            }),
            turn,
        }),
        Applied::Stale | Applied::Illegal(_) | Applied::NotFound => Ok(Serialized::NotDue),
    }
}

/// What the ledger says to a proposal.
enum Allowed {
    /// The row holds that pair from now on, or did before.
    Pair { pair: Pair, turn: bool },
    /// The sequence cannot be held.
    Refused(Refusal),
    /// There is none to be had.
    None,
}

/// Looks at the account under its lock, so that whoever comes next sees what was handed out here.
async fn admit(
    tx: &DatabaseTransaction,
    kept: Option<Pair>,
    asked: Asked,
) -> Result<Allowed, LedgerError> {
    let account = asked.account;
    let channel = of_pool(account).lock_exclusive().one(tx).await?;
    let Some(channel) = channel.filter(|channel| channel.state == ChannelState::Free.as_str())
    else {
        return Ok(kept.map_or(Allowed::None, |pair| Allowed::Pair { pair, turn: true }));
    };
    let sequences = known(&channel, held(tx, account).await?);
    if let Some(pair) = kept {
        let turn = pair.account != account || sequences.is_turn(pair.sequence);
        return Ok(Allowed::Pair { pair, turn });
    }
    let Some(sequence) = asked.proposed else {
        return Ok(Allowed::None);
    };
    Ok(match sequences.admit(sequence, asked.depth) {
        Ok(()) => Allowed::Pair {
            pair: Pair { account, sequence },
            turn: sequences.is_turn(sequence),
        },
        Err(refusal) => Allowed::Refused(refusal),
    })
}

async fn unavailable(
    tx: &DatabaseTransaction,
    id: SubmissionId,
) -> Result<Serialized, LedgerError> {
    no_channel(tx, id).await.map(|_| Serialized::NoChannel)
}

fn of_pool(account: AccountId) -> sea_orm::Select<channel::Entity> {
    channel::Entity::find().filter(channel::Column::Account.eq(account.to_string()))
}

/// The sequences of the account that submissions hold.
async fn held(db: &impl ConnectionTrait, account: AccountId) -> Result<Vec<i64>, LedgerError> {
    use submission::Column as C;
    Ok(submission::Entity::find()
        .select_only()
        .column(C::Sequence)
        .filter(C::SourceAccount.eq(account.to_string()))
        .filter(Expr::cust("pair_held"))
        .into_tuple()
        .all(db)
        .await?)
}

fn known(channel: &channel::Model, held: Vec<i64>) -> Sequences {
    Sequences {
        next: channel.next_sequence,
        held: held.into_iter().collect(),
        chain: None,
    }
}
