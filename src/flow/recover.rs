//! Recover: a ledger that was set back learns from the chain what it has forgotten, and decides again.
//!
//! Nothing happens before a ledger has closed later than any forgotten envelope can live. Then every sequence that an
//! account of the pool has used beyond what the ledger knows is asked for its transaction. One without a gap from the first
//! to the account's own is the proof that nothing is missing. Each step is one SQL transaction that changes nothing
//! when it is taken twice, so a recovery can be killed at any point, and two of them do not harm each other.

mod sight;
mod survey;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::accept;
use super::chain::Chain;
use super::memory;
use crate::domain::ids::{AccountId, Pair};
use crate::domain::memory::{MemoryState, RecoveredKind, of_holder, resume_after};
use crate::domain::plan::AccountState;
use crate::domain::submission::{Event, Paid, PairUse, Status};
use crate::ledger::{Applied, Change, ChannelState, Lease, Memory, Recovered, Submission};
use crate::stellar::effect;
use crate::stellar::keyring::Identity;
use crate::stellar::rpc::Consumed;

pub(super) use sight::{LastUse, Sighted, Whose};
pub use survey::{Identify, Survey, SurveyError, Unexplained};

/// What a recovery came to.
#[derive(Debug)]
pub enum Recovery {
    /// There was nothing to recover.
    Open,
    /// The longest window is not over yet.
    Waits {
        /// Unix seconds, of the network's clock.
        now: u64,
        /// A ledger has to close after this.
        until: u64,
    },
    /// Some consumers are not known: nothing is decided until staff accept that, or a node tells.
    Held(Survey),
    /// The ledger decides again.
    Reopened(Survey),
    /// Another recovery was faster at some step: run it again.
    Overtaken,
}

/// A sequence whose consumer staff do not know, and want to go on without knowing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// Of that account.
    pub account: AccountId,
    /// First to last.
    pub sequences: std::ops::RangeInclusive<i64>,
}

impl Identify<'_> {
    /// Sees to it that a stopped ledger knows how long it has to wait; says whether that time is over.
    pub(super) async fn window_is_over(
        &self,
        memory: &Memory,
        chain: &Arc<Chain>,
    ) -> Result<Result<(), (u64, u64)>, SurveyError> {
        // Asked after the stop was read, and so after it was committed.
        memory::ask_all(self.rpc, chain).await?;
        let now = chain.latest().map_or(0, |seen| seen.close_time);
        let Some(until) = memory.resume_after else {
            let until = resume_after(now);
            let (epoch, ledger) = (memory.mark.epoch, self.ledger);
            step!("memory.wait", ledger.wait_until(epoch, until).await)?;
            return Ok(Err((now, until)));
        };
        Ok(if now > until {
            Ok(())
        } else {
            Err((now, until))
        })
    }

    /// Recovers what can be recovered now. `others` are accounts that may have paid though no pool knows them.
    ///
    /// # Errors
    /// [`SurveyError`]: what was done stays done, another run goes on from it.
    pub async fn recover(
        &self,
        chain: &Arc<Chain>,
        others: &[AccountId],
        accepted: &[Acceptance],
        reason: &str,
    ) -> Result<Recovery, SurveyError> {
        let mut known = self.ledger.memory().await?;
        if let Some(doubt) = &known.doubt {
            memory::stop(self.ledger, doubt).await?;
            known = self.ledger.memory().await?;
        }
        if known.state == MemoryState::Open {
            return Ok(Recovery::Open);
        }
        if let Err((now, until)) = self.window_is_over(&known, chain).await? {
            return Ok(Recovery::Waits { now, until });
        }
        let epoch = known.mark.epoch;
        let mut survey = self.survey(&known, chain, others).await?;
        let mut found = survey.found.clone();
        found.extend(accept_unknown(&mut survey, accepted, reason));
        step!(
            "recover.note",
            self.ledger.note_recovered(epoch, found).await
        )?;
        if !self.settle(epoch, &survey).await? {
            return Ok(Recovery::Overtaken);
        }
        if !survey.unexplained.is_empty() {
            self.hold(&known, &survey).await?;
            return Ok(Recovery::Held(survey));
        }
        self.close_up(epoch, &survey).await?;
        Ok(
            if step!("recover.reopen", self.ledger.reopen(epoch).await)? {
                Recovery::Reopened(survey)
            } else {
                Recovery::Overtaken
            },
        )
    }

    /// Reopens a ledger that has forgotten nothing after all, once the window is over; otherwise holds it for staff.
    pub(super) async fn identify(
        &self,
        memory: &Memory,
        chain: &Arc<Chain>,
    ) -> Result<(), SurveyError> {
        if self.window_is_over(memory, chain).await?.is_err() {
            return Ok(());
        }
        let survey = self.survey(memory, chain, &[]).await?;
        if !survey.is_known() {
            return self.hold(memory, &survey).await;
        }
        self.close_up(memory.mark.epoch, &survey).await?;
        if step!("memory.reopen", self.ledger.reopen(memory.mark.epoch).await)? {
            tracing::warn!("the ledger knows all that the network has applied: it decides again");
        }
        Ok(())
    }

    async fn hold(&self, memory: &Memory, survey: &Survey) -> Result<(), SurveyError> {
        let unknown = survey.found.len() + survey.unexplained.len();
        let reason = format!(
            "{unknown} transactions of channel accounts are unknown to the ledger: run `tender recover`"
        );
        if step!(
            "memory.hold",
            self.ledger.hold(memory.mark.epoch, &reason).await
        )? {
            tracing::error!(
                reason,
                "nothing is sent or decided until staff have recovered them"
            );
        }
        Ok(())
    }

    /// Settles rows by what was recovered. False: another one has moved a row meanwhile.
    async fn settle(&self, epoch: i64, survey: &Survey) -> Result<bool, SurveyError> {
        let recovered = self.ledger.recovered().await?;
        let by_pair: HashMap<_, _> = recovered.iter().map(|it| (it.pair, it)).collect();
        let paid = recovered.iter().filter(|it| it.kind == RecoveredKind::Paid);
        let paid: HashMap<_, _> = paid.filter_map(|it| Some((it.tag?, it))).collect();
        let tags: Vec<_> = paid.keys().copied().collect();
        let mut changes = Vec::new();
        for row in self.ledger.by_tags(&tags).await? {
            if row.state.status == Status::Confirmed {
                continue;
            }
            let held = row.pair.filter(|_| row.state.holds_pair);
            let used = held.is_some_and(|pair| survey.has_used(pair));
            let pair = if used { PairUse::Used } else { PairUse::Unused };
            let change = settled_by(self.identity, &row, paid[&row.tag], pair, ACTOR);
            changes.push(Change {
                account: held.and_then(|pair| survey.state(pair.account)),
                ..change
            });
        }
        if !self.apply(epoch, changes).await? {
            return Ok(false);
        }
        let mut changes = Vec::new();
        for lease in self.ledger.leases().await? {
            let by = by_pair
                .get(&lease.pair)
                .filter(|_| survey.has_used(lease.pair));
            changes.extend(by.and_then(|by| given_up(&lease, by, survey)));
        }
        self.apply(epoch, changes).await
    }

    async fn apply(&self, epoch: i64, changes: Vec<Change>) -> Result<bool, SurveyError> {
        for change in changes {
            let (id, event) = (change.id, change.event.as_str());
            let applied = step!(
                "recover.apply",
                self.ledger.apply_recovered(epoch, vec![change]).await
            )?;
            match applied.as_slice() {
                [Applied::Done(row)] => {
                    tracing::info!(submission = %id, event, status = row.state.status.as_str(), "recovered");
                }
                // Settled already, as by a recovery that was killed after this step.
                [Applied::Illegal(_)] => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Free accounts go on behind what is known to be used; those that somebody else has used are set aside. By what is
    /// kept of them: a run that was killed may have found it.
    async fn close_up(&self, epoch: i64, survey: &Survey) -> Result<(), SurveyError> {
        let leases = self.ledger.leases().await?;
        let held: HashSet<_> = leases.iter().map(|lease| lease.pair.account).collect();
        let recovered = self.ledger.recovered().await?;
        for channel in self.ledger.channels().await? {
            let account = channel.account;
            let Some(seq_num) = survey.seq_nums.get(&account).copied() else {
                continue;
            };
            if held.contains(&account) || channel.next_sequence > seq_num {
                continue;
            }
            let foreign = recovered.iter().find(|it| {
                it.kind == RecoveredKind::Foreign
                    && it.pair.account == account
                    && it.pair.sequence >= channel.next_sequence
            });
            if let Some(foreign) = foreign.filter(|_| channel.state == ChannelState::Free) {
                let sequence = foreign.pair.sequence;
                let reason = format!("sequence {sequence} was used by somebody else");
                step!(
                    "recover.set_aside",
                    self.ledger.quarantine(account, &reason).await
                )?;
            }
            // Last: an account that went on is not looked at again.
            step!(
                "recover.go_on",
                self.ledger.go_on_behind(epoch, account, seq_num).await
            )?;
        }
        Ok(())
    }
}

/// Who acts, in the transition log.
const ACTOR: &str = "recover";

impl Survey {
    fn has_used(&self, pair: Pair) -> bool {
        let seq_num = self.seq_nums.get(&pair.account);
        seq_num.is_some_and(|seq_num| *seq_num >= pair.sequence)
    }

    fn state(&self, account: AccountId) -> Option<AccountState> {
        let sequence = *self.seq_nums.get(&account)?;
        Some(AccountState::Present {
            sequence,
            since_ledger: None,
        })
    }
}

/// The transition of a row whose key was paid by a transaction that the ledger had forgotten.
pub(super) fn settled_by(
    identity: &Identity,
    row: &Submission,
    paid: &Recovered,
    pair: PairUse,
    actor: &str,
) -> Change {
    let made = paid
        .operation
        .as_ref()
        .map(|operation| json!({ "operation": operation }));
    let effect = |payload: &Value| {
        let operation = accept::operation_of(payload).ok()?;
        Some(effect::expected(
            &identity.network,
            identity.treasury,
            &operation,
        ))
    };
    let (asked, made) = (effect(&row.payload), made.as_ref().and_then(effect));
    let as_asked = asked.is_some() && asked == made;
    let what = if as_asked {
        Paid::AsAsked
    } else {
        Paid::Otherwise
    };
    Change {
        last_error: (!as_asked).then(|| "key_paid_otherwise".to_owned()),
        evidence: Some(paid.evidence.clone()),
        tx_hash: paid.hash,
        ..Change::new(row, Event::Recovered(what, pair), actor)
    }
}

/// A row whose pair was used by a transaction that the ledger had forgotten, and that did not pay the row's key.
fn given_up(lease: &Lease, by: &Recovered, survey: &Survey) -> Option<Change> {
    let row = &lease.submission;
    let event = of_holder(row.state.status, by.kind)?;
    Some(Change {
        evidence: Some(by.evidence.clone()),
        account: survey.state(lease.pair.account),
        ..Change::new(row, event, ACTOR)
    })
}

/// Takes what staff accept out of what is unexplained.
fn accept_unknown(survey: &mut Survey, accepted: &[Acceptance], reason: &str) -> Vec<Recovered> {
    let mut noted = Vec::new();
    let mut left = Vec::new();
    for unexplained in std::mem::take(&mut survey.unexplained) {
        let account = unexplained.account;
        let (taken, rest): (Vec<_>, Vec<_>) = unexplained.sequences.clone().partition(|sequence| {
            accepted
                .iter()
                .any(|it| it.account == account && it.sequences.contains(sequence))
        });
        noted.extend(taken.into_iter().map(|sequence| Recovered {
            pair: Pair { account, sequence },
            kind: RecoveredKind::Accepted,
            tag: None,
            hash: None,
            ledger: None,
            operation: None,
            evidence: json!({ "proof": "none", "why": unexplained.why, "accepted": reason }),
        }));
        left.extend(rest.into_iter().map(|sequence| Unexplained {
            sequences: sequence..=sequence,
            ..unexplained.clone()
        }));
    }
    survey.unexplained = left;
    noted
}

fn evidence(consumer: &Consumed) -> Value {
    json!({
        "proof": "consumer_seen",
        "ledger": consumer.ledger,
        "tx_hash": consumer.inspected.hash.to_string(),
        "success": consumer.success,
    })
}
