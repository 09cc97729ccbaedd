//! What each outcome does to the pair: its account, its envelopes, and the row that held it.

use tender::domain::plan::AccountState;
use tender::domain::submission::{Category, Consumer, Event, Gap, Status, Verdict};
use tender::ledger::{Change, Channel, ChannelState, Submission};

use crate::bed::{Bed, ON_CHAIN, at, done, terminal, transient};

/// The sequence of the first pair of an account.
const SEQ: i64 = ON_CHAIN + 1;

/// What is expected of a row in flight after an event.
#[derive(Clone)]
struct Case {
    event: Event,
    /// The account in the deciding snapshot.
    seen: Option<AccountState>,
    row: (Status, Verdict, bool),
    /// Account state and its next sequence, if that matters.
    account: (ChannelState, Option<i64>),
    settled: bool,
}

const FREE: ChannelState = ChannelState::Free;
const LEASED: ChannelState = ChannelState::Leased;
const ASIDE: ChannelState = ChannelState::Quarantined;
const GONE: Option<AccountState> = Some(AccountState::Absent);

fn case(
    event: Event,
    seen: Option<AccountState>,
    row: (Status, Verdict, bool),
    account: (ChannelState, Option<i64>),
) -> Case {
    let settled = !row.2 || matches!(event, Event::ProvenDead(..));
    Case {
        event,
        seen,
        row,
        account,
        settled,
    }
}

/// Outcomes in a ledger.
fn landed() -> Vec<Case> {
    use Event::{EffectMissing, LedgerFailed, Succeeded};
    let paid = (Status::Confirmed, Verdict::Success, false);
    let missing = (Status::Failed, Verdict::Success, false);
    let failed = (Status::Failed, Verdict::Failed, false);
    let again = (Status::Pending, Verdict::Pending, false);
    let spent = (FREE, Some(SEQ + 1));
    vec![
        case(Succeeded, None, paid, spent),
        case(Succeeded, Some(at(SEQ)), paid, spent),
        // Its payment is found, but it was merged away since.
        case(Succeeded, GONE, paid, (ASIDE, None)),
        case(LedgerFailed(transient()), GONE, again, (ASIDE, None)),
        // Somebody used later sequences too: the next one follows the chain.
        case(Succeeded, Some(at(SEQ + 5)), paid, (FREE, Some(SEQ + 6))),
        // A snapshot of a node that lags cannot bring a used sequence back.
        case(Succeeded, Some(at(SEQ - 1)), paid, spent),
        case(EffectMissing, Some(at(SEQ)), missing, spent),
        case(LedgerFailed(transient()), Some(at(SEQ)), again, spent),
        case(LedgerFailed(terminal()), Some(at(SEQ)), failed, spent),
    ]
}

/// Outcomes by account state.
fn lost() -> Vec<Case> {
    use Event::{ConsumedByForeign, ConsumerBeyondReach, ProvenDead};
    let again = (Status::Pending, Verdict::Pending, false);
    let kept = (Status::Pending, Verdict::Pending, true);
    let expired = (Status::Failed, Verdict::Expired, false);
    let beyond = (Status::Confirming, Verdict::Indeterminate, false);
    let dead = |cause, gap| ProvenDead(cause, gap);
    let behind = Some(at(SEQ - 4));
    let reseeded = (FREE, Some(SEQ - 3));
    vec![
        case(
            dead(transient(), Gap::None),
            Some(at(SEQ - 1)),
            kept,
            (LEASED, None),
        ),
        case(
            dead(terminal(), Gap::None),
            Some(at(SEQ - 1)),
            expired,
            (FREE, Some(SEQ)),
        ),
        case(dead(transient(), Gap::Below), behind, again, reseeded),
        case(dead(terminal(), Gap::Below), behind, expired, reseeded),
        // Without the account's sequence the next one would be a guess.
        case(dead(terminal(), Gap::Below), None, expired, (ASIDE, None)),
        case(ConsumedByForeign, Some(at(SEQ)), again, (ASIDE, None)),
        case(
            ConsumerBeyondReach,
            Some(at(SEQ + 2)),
            beyond,
            (FREE, Some(SEQ + 3)),
        ),
        case(ConsumerBeyondReach, GONE, beyond, (ASIDE, None)),
    ]
}

async fn each_outcome_moves_row_account_and_envelopes_together(bed: Bed) {
    for (n, case) in [landed(), lost()].concat().into_iter().enumerate() {
        let name = format!("{n}: {:?} at {:?}", case.event, case.seen);
        let account = tender::domain::ids::AccountId([u8::try_from(n).unwrap() + 1; 32]);
        bed.ledger
            .add_channels(&[(account, ON_CHAIN)])
            .await
            .unwrap();
        let row = bed.confirming(&format!("key-{n}")).await;
        assert_eq!(row.pair.unwrap().account, account, "{name}");
        let change = Change {
            account: case.seen,
            ..Change::new(&row, case.event, "test")
        };
        let after = done(bed.ledger.apply(change).await.unwrap());
        let state = after.state;
        assert_eq!(
            (state.status, state.verdict, state.holds_pair),
            case.row,
            "{name}"
        );
        assert_eq!(
            after.pair, row.pair,
            "{name}: the pair held last stays in sight"
        );
        let channel = bed.channel(account).await;
        check_account(&channel, &after, &case.account, &name);
        let attempts = bed.ledger.attempts(row.id).await.unwrap();
        assert!(
            attempts
                .iter()
                .all(|attempt| attempt.settled == case.settled),
            "{name}"
        );
        // The account must not be chosen for the next case.
        if channel.state == ChannelState::Free {
            assert!(
                bed.ledger
                    .quarantine(account, "done with it")
                    .await
                    .unwrap()
            );
        }
    }
}

fn check_account(
    channel: &Channel,
    row: &Submission,
    expected: &(ChannelState, Option<i64>),
    name: &str,
) {
    assert_eq!(channel.state, expected.0, "{name}");
    if let Some(next_sequence) = expected.1 {
        assert_eq!(channel.next_sequence, next_sequence, "{name}");
    }
    let holder = (channel.state == ChannelState::Leased).then_some(row.id);
    assert_eq!(channel.leased_by, holder, "{name}");
    assert_eq!(
        channel.reason.is_some(),
        channel.state == ChannelState::Quarantined,
        "{name}"
    );
}

async fn an_idle_pair_goes_back_unused_or_is_found_used(bed: Bed) {
    let accounts = bed.channels(4).await;
    let table = [
        (Event::Cancelled, FREE, Some(SEQ)),
        (Event::Deferred, FREE, Some(SEQ)),
        (
            Event::IdlePairConsumed(Consumer::Unknown),
            FREE,
            Some(SEQ + 3),
        ),
        (Event::IdlePairConsumed(Consumer::Foreign), ASIDE, None),
    ];
    for (n, (event, state, next_sequence)) in table.into_iter().enumerate() {
        let row = bed.confirming(&format!("key-{n}")).await;
        let account = row.pair.unwrap().account;
        assert!(accounts.contains(&account));
        let row = bed
            .apply(&row, Event::ProvenDead(transient(), Gap::None))
            .await;
        let name = format!("{event:?}");
        let change = Change {
            account: Some(at(SEQ + 2)),
            ..Change::new(&row, event, "test")
        };
        let row = done(bed.ledger.apply(change).await.unwrap());
        assert!(!row.state.holds_pair, "{name}");
        check_account(
            &bed.channel(account).await,
            &row,
            &(state, next_sequence),
            &name,
        );
        bed.ledger
            .quarantine(account, "done with it")
            .await
            .unwrap();
    }
}

async fn the_next_envelope_takes_the_pair_of_the_dead_one(bed: Bed) {
    bed.channels(3).await;
    let row = bed.confirming("key").await;
    let row = bed
        .apply(&row, Event::ProvenDead(transient(), Gap::None))
        .await;
    bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
        .await;
    let claim = bed.claim(row.id).await;
    assert_eq!(Some(claim.pair), row.pair);
    bed.record(&claim).await;
    let settled: Vec<_> = bed
        .ledger
        .attempts(row.id)
        .await
        .unwrap()
        .iter()
        .map(|attempt| attempt.settled)
        .collect();
    assert_eq!(settled, [true, false]);
    let leases = bed.ledger.leases().await.unwrap();
    assert_eq!(
        leases[0].attempts.len(),
        1,
        "the dead envelope is not asked about again"
    );
}

async fn a_late_find_settles_a_row_whose_outcome_was_out_of_reach(bed: Bed) {
    let account = bed.channels(1).await[0];
    let row = bed.confirming("key").await;
    let row = bed.apply(&row, Event::ConsumerBeyondReach).await;
    let found = bed.ledger.indeterminate(None, 10).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].0.id, found[0].1.len()),
        (row.id, 1),
        "its hashes are still looked up"
    );
    assert_eq!(bed.ledger.leases().await.unwrap().len(), 0);
    // Somebody else works with the account meanwhile.
    let other = bed.claim(bed.accept("other").await.id).await;
    assert_eq!(other.pair.account, account);
    let row = bed.apply(&row, Event::Succeeded).await;
    assert_eq!(
        (row.state.status, row.state.verdict),
        (Status::Confirmed, Verdict::Success)
    );
    assert_eq!(
        bed.channel(account).await.leased_by,
        Some(other.submission.id)
    );
    assert_eq!(bed.ledger.indeterminate(None, 10).await.unwrap().len(), 0);
}

async fn an_account_set_aside_returns_only_when_verified(bed: Bed) {
    let account = bed.channels(1).await[0];
    let row = bed.confirming("key").await;
    assert!(
        !bed.ledger
            .quarantine(account, "leased ones stay")
            .await
            .unwrap()
    );
    assert!(
        !bed.ledger
            .release_verified(account, 7, "leased ones stay")
            .await
            .unwrap()
    );
    bed.apply(&row, Event::ConsumedByForeign).await;
    let channel = bed.channel(account).await;
    assert!(channel.reason.unwrap().contains("consumed_by_foreign"));
    // Adding it again does not bring it back.
    bed.ledger.add_channels(&[(account, 5)]).await.unwrap();
    assert_eq!(bed.channel(account).await.state, ChannelState::Quarantined);
    assert!(
        bed.ledger
            .release_verified(account, 500, "compared by hand")
            .await
            .unwrap()
    );
    let channel = bed.channel(account).await;
    assert_eq!(
        (channel.state, channel.next_sequence),
        (ChannelState::Free, 501)
    );
    assert!(
        !bed.ledger
            .release_verified(account, 900, "free already")
            .await
            .unwrap()
    );
}

async fn a_spent_budget_fails_the_row_and_a_requeue_starts_afresh(bed: Bed) {
    bed.channels(1).await;
    let mut row = bed.accept("key").await;
    for failures in 1..=3 {
        bed.sql("UPDATE submission_ledger SET next_attempt_at = 0")
            .await;
        row = bed.record(&bed.claim(row.id).await).await;
        row = bed.apply(&row, Event::LedgerFailed(transient())).await;
        let last = failures == 3;
        assert_eq!(row.state.status == Status::Failed, last, "after {failures}");
    }
    assert_eq!(row.state.category, Some(Category::TransientExhausted));
    assert_eq!(row.last_error.as_deref(), Some("txTOO_LATE"));
    let row = bed.apply(&row, Event::Requeued).await;
    assert_eq!((row.state.generation, row.state.transient_failures), (1, 0));
    assert_eq!((row.last_error, row.evidence), (None, None));
    assert_eq!(row.attempt_count, 3, "envelopes of all generations");
    let claim = bed.claim(row.id).await;
    bed.record(&claim).await;
    let generations: Vec<_> = bed
        .ledger
        .attempts(row.id)
        .await
        .unwrap()
        .iter()
        .map(|attempt| attempt.generation)
        .collect();
    assert_eq!(generations, [0, 0, 0, 1]);
}

on_both!(
    each_outcome_moves_row_account_and_envelopes_together,
    an_idle_pair_goes_back_unused_or_is_found_used,
    the_next_envelope_takes_the_pair_of_the_dead_one,
    a_late_find_settles_a_row_whose_outcome_was_out_of_reach,
    an_account_set_aside_returns_only_when_verified,
    a_spent_budget_fails_the_row_and_a_requeue_starts_afresh,
);
