//! A ledger that was set back lets nothing be claimed, recorded or decided until its memory is recovered.

use std::time::Duration;

use tender::domain::classify::Cause;
use tender::domain::ids::{AccountId, Pair};
use tender::domain::memory::{Mark, MemoryState};
use tender::domain::submission::{Event, Gap, Status};
use tender::ledger::{
    Applied, Change, Claim, ClaimOutcome, Ledger, LedgerError, Memory, Submission,
};

use crate::bed::{Bed, ON_CHAIN, RULES, envelope, new, terminal};
use crate::support::postgres::Postgres;

const REASON: &str = "restored from a backup";

async fn memory(ledger: &Ledger) -> Memory {
    ledger.memory().await.unwrap()
}

fn refused<T: std::fmt::Debug>(answer: Result<T, LedgerError>) -> String {
    match answer {
        Err(LedgerError::MemoryLost(reason)) => reason,
        other => panic!("let through: {other:?}"),
    }
}

/// Stops it, lets the window go by, and has it decide again.
async fn stop_and_reopen(ledger: &Ledger) {
    assert!(ledger.stop(REASON).await.unwrap());
    let epoch = memory(ledger).await.mark.epoch;
    assert!(ledger.wait_until(epoch, 7).await.unwrap());
    assert!(ledger.reopen(epoch).await.unwrap());
}

/// A change of every kind, each legal where its row stands.
async fn changes(bed: &Bed) -> Vec<Change> {
    let pending = bed.accept("pending").await;
    let building = bed.accept("building").await;
    let building = bed.claim(building.id).await.submission;
    let confirming = bed.confirming("confirming").await;
    let failed = bed.confirming("failed").await;
    let failed = bed.apply(&failed, Event::LedgerFailed(terminal())).await;
    let lost = bed.confirming("indeterminate").await;
    let lost = bed.apply(&lost, Event::ConsumerBeyondReach).await;
    let change = |row: &Submission, event| Change::new(row, event, "test");
    let mut changes = vec![
        change(&pending, Event::Cancelled),
        change(&pending, Event::Deferred),
        change(&building, Event::ClaimLapsed),
        change(&building, Event::Deferred),
        change(&failed, Event::Requeued),
        change(&lost, Event::ResolvedPaid),
        change(&lost, Event::Succeeded),
    ];
    let dead = Event::ProvenDead(Cause::expired(), Gap::None);
    for event in [
        Event::ResendBegun,
        Event::AnswerNoted,
        Event::Succeeded,
        Event::EffectMissing,
        Event::LedgerFailed(terminal()),
        Event::ConsumedByForeign,
        Event::ConsumerBeyondReach,
        dead,
    ] {
        changes.push(change(&confirming, event));
    }
    changes
}

/// What a bed has for each verb that changes something.
struct Stock {
    channels: Vec<AccountId>,
    claim: Claim,
    sent: Submission,
    waits: Submission,
    changes: Vec<Change>,
}

impl Stock {
    async fn of(bed: &Bed) -> Self {
        let channels = bed.channels(8).await;
        let claimed = bed.accept("claimed").await;
        let stock = Self {
            claim: bed.claim(claimed.id).await,
            sent: bed.confirming("sent").await,
            waits: bed.accept("waits").await,
            changes: changes(bed).await,
            channels,
        };
        let aside = stock.channels[7];
        assert!(bed.ledger.quarantine(aside, "test").await.unwrap());
        stock
    }

    /// What was refused before was legal all the time.
    async fn is_let_through(&self, bed: &Bed) {
        for change in &self.changes {
            let moved = bed.ledger.apply(change.clone()).await.unwrap();
            let illegal = matches!(moved, Applied::Illegal(_));
            assert!(!illegal, "{change:?}: {moved:?}");
        }
        bed.claim(self.waits.id).await;
    }

    async fn is_refused_by(&self, ledger: &Ledger) {
        let (channels, claim, waits) = (&self.channels, &self.claim, self.waits.id);
        assert_eq!(refused(ledger.claim(waits).await), REASON);
        refused(ledger.claim_among(waits, channels).await);
        let next = Some(ON_CHAIN + 1);
        refused(ledger.claim_sequence(waits, channels[6], next, 2).await);
        refused(ledger.record(claim, envelope(claim.pair), 7).await);
        let bump = envelope(self.sent.pair.unwrap());
        let (id, version) = (self.sent.id, self.sent.version);
        refused(ledger.record_bump(id, version, bump, 7).await);
        for change in &self.changes {
            refused(ledger.apply(change.clone()).await);
        }
        refused(ledger.apply_all(self.changes.clone()).await);
        refused(ledger.add_channels(&[(channels[0], 7)]).await);
        refused(ledger.release_verified(channels[7], 7, "test").await);
    }
}

async fn while_it_is_stopped_no_row_changes(bed: Bed) {
    let stock = Stock::of(&bed).await;
    let before = bed.number("SELECT count(*) FROM submission_log").await;
    assert!(bed.ledger.stop(REASON).await.unwrap());
    let other = bed.another(RULES).await;
    for ledger in [&bed.ledger, &other] {
        stock.is_refused_by(ledger).await;
        let due = ledger.take_due(100, Duration::ZERO).await.unwrap();
        assert!(due.is_empty(), "nothing is handed out");
    }
    // Whoever asks for a payment is heard all the same.
    bed.accept("new").await;
    let after = bed.number("SELECT count(*) FROM submission_log").await;
    assert_eq!(after, before);
    let epoch = memory(&bed.ledger).await.mark.epoch;
    assert!(bed.ledger.wait_until(epoch, 7).await.unwrap());
    assert!(bed.ledger.reopen(epoch).await.unwrap());
    stock.is_let_through(&bed).await;
}

async fn one_stop_counts(bed: Bed) {
    let ledger = &bed.ledger;
    let begin = memory(ledger).await;
    assert_eq!((begin.state, begin.refusal()), (MemoryState::Open, None));
    assert!(!ledger.reopen(0).await.unwrap(), "it is open");
    assert!(ledger.stop(REASON).await.unwrap());
    assert!(!ledger.stop("another reason").await.unwrap());
    let stopped = memory(ledger).await;
    assert_eq!(stopped.reason.as_deref(), Some(REASON));
    assert!(stopped.mark.epoch > begin.mark.epoch);
    assert_eq!(stopped.ledger_id, begin.ledger_id);
}

async fn each_step_of_a_recovery_is_taken_once_and_in_order(bed: Bed) {
    let ledger = &bed.ledger;
    assert!(ledger.stop(REASON).await.unwrap());
    let epoch = memory(ledger).await.mark.epoch;
    assert!(
        !ledger.reopen(epoch).await.unwrap(),
        "the window is not over"
    );
    assert!(!ledger.hold(epoch, "unknown").await.unwrap());
    assert!(!ledger.wait_until(epoch - 1, 5).await.unwrap());
    assert!(ledger.wait_until(epoch, 7).await.unwrap());
    assert!(!ledger.wait_until(epoch, 9).await.unwrap(), "set once");
    assert_eq!(memory(ledger).await.resume_after, Some(7));
    is_held_and_reopened(ledger, epoch).await;
}

async fn is_held_and_reopened(ledger: &Ledger, epoch: i64) {
    assert!(ledger.hold(epoch, "unknown").await.unwrap());
    let held = memory(ledger).await;
    assert_eq!(held.refusal().as_deref(), Some("unknown"));
    assert!(!ledger.reopen(epoch).await.unwrap(), "it moved on");
    assert!(ledger.reopen(held.mark.epoch).await.unwrap());
    let open = memory(ledger).await;
    let rest = (open.state, open.since, open.resume_after);
    assert_eq!(rest, (MemoryState::Open, None, None));
}

async fn a_log_that_ends_before_what_was_seen_is_refused(bed: Bed) {
    bed.channels(2).await;
    let row = bed.accept("key").await;
    bed.claim(row.id).await;
    let mark = memory(&bed.ledger).await.mark;
    assert_eq!(
        mark,
        Mark {
            epoch: 0,
            line: mark.line
        }
    );
    // As a copy of the database's files is put back under a process that lives on.
    bed.sql("DELETE FROM submission_log").await;
    let other = bed.accept("other").await;
    assert!(refused(bed.ledger.claim(other.id).await).contains("line"));
    let fresh = bed.another(RULES).await;
    assert!(memory(&fresh).await.doubt.is_none(), "it has seen nothing");
    // Until somebody tells it.
    fresh.memory_reached(mark);
    refused(fresh.claim(other.id).await);
    stop_and_reopen(&fresh).await;
    for ledger in [&fresh, &bed.ledger] {
        assert!(memory(ledger).await.doubt.is_none(), "it was dealt with");
    }
    bed.claim(other.id).await;
}

async fn what_an_older_epoch_saw_counts_no_more(bed: Bed) {
    bed.ledger.memory_reached(Mark {
        epoch: 4,
        line: 900,
    });
    let row = bed.accept("key").await;
    refused(
        bed.ledger
            .add_channels(&[(AccountId([1; 32]), ON_CHAIN)])
            .await,
    );
    refused(bed.ledger.claim(row.id).await);
    stop_and_reopen(&bed.ledger).await;
    assert!(memory(&bed.ledger).await.mark.epoch > 4);
    bed.channels(1).await;
    bed.claim(row.id).await;
}

async fn what_a_recovery_needs_is_not_taken_away(bed: Bed) {
    assert!(bed.ledger.stop(REASON).await.unwrap());
    let migrations = bed.ledger.migration_status().await.unwrap();
    let mut newest_first = migrations.iter().rev();
    let later = newest_first.position(|it| it.name.ends_with("ledger_memory"));
    let steps = Some(u32::try_from(later.unwrap()).unwrap() + 1);
    let down = bed.ledger.migrate_down(steps).await.unwrap_err();
    assert!(down.to_string().contains("memory"), "{down}");
    let epoch = memory(&bed.ledger).await.mark.epoch;
    assert!(bed.ledger.wait_until(epoch, 7).await.unwrap());
    assert!(bed.ledger.reopen(epoch).await.unwrap());
    bed.ledger.migrate_down(steps).await.unwrap();
}

async fn a_memory_remembers_where_it_ended(bed: Bed) {
    let pass = |ledger| tender::ledger::Pass {
        ledger,
        close_time: 1,
        period: Duration::ZERO,
    };
    bed.ledger.note_progress(pass(40)).await.unwrap();
    assert!(bed.ledger.stop(REASON).await.unwrap());
    bed.ledger.note_progress(pass(90)).await.unwrap();
    assert_eq!(memory(&bed.ledger).await.read_from, Some(40));
    // It is set back once more, under the eyes of this process.
    bed.ledger.memory_reached(Mark { epoch: 9, line: 1 });
    assert!(bed.ledger.stop(REASON).await.unwrap());
    assert_eq!(memory(&bed.ledger).await.read_from, Some(40));
}

on_both!(
    while_it_is_stopped_no_row_changes,
    one_stop_counts,
    each_step_of_a_recovery_is_taken_once_and_in_order,
    a_log_that_ends_before_what_was_seen_is_refused,
    what_an_older_epoch_saw_counts_no_more,
    what_a_recovery_needs_is_not_taken_away,
    a_memory_remembers_where_it_ended,
);

/// The row that was recorded, on a ledger that has noted its witness.
async fn recorded(bed: &Bed) -> Submission {
    bed.channels(2).await;
    let row = bed.accept("key").await;
    let claim = bed.claim(row.id).await;
    bed.record(&claim).await
}

/// Says that it is another database, lets nothing through, and goes on once that was dealt with.
async fn is_another_one(ledger: &Ledger, row: &Submission) {
    let change = Change::new(row, Event::Acknowledged, "test");
    let reason = refused(ledger.apply(change.clone()).await);
    assert!(reason.contains("another one"), "{reason}");
    let doubted = memory(ledger).await;
    assert_eq!(
        doubted.state,
        MemoryState::Open,
        "nobody has stopped it yet"
    );
    stop_and_reopen(ledger).await;
    ledger.apply(change).await.unwrap();
    assert_eq!(
        ledger
            .submission(row.id)
            .await
            .unwrap()
            .unwrap()
            .state
            .status,
        Status::Confirming
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_that_was_restored_is_another_database() {
    let bed = Bed::postgres().await;
    let row = recorded(&bed).await;
    let restored = Postgres::shared().restored(&bed.url);
    let ledger = Ledger::connect(&restored, 2, RULES).await.unwrap();
    is_another_one(&ledger, &row).await;
    // The one it was dumped from goes on.
    bed.apply(&row, Event::Acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_postgres_is_none_and_another_timeline_is() {
    let mut server = tokio::task::spawn_blocking(Postgres::start).await.unwrap();
    let url = server.create_database();
    let ledger = Ledger::connect(&url, 2, RULES).await.unwrap();
    ledger.migrate_up().await.unwrap();
    let row = match ledger.accept(new("key")).await.unwrap() {
        tender::ledger::Accepted::New(row) | tender::ledger::Accepted::Existing(row) => row,
    };
    let account = AccountId([1; 32]);
    ledger.add_channels(&[(account, ON_CHAIN)]).await.unwrap();
    let ClaimOutcome::Claimed(claim) = ledger.claim(row.id).await.unwrap() else {
        panic!("not claimed");
    };
    tokio::task::block_in_place(|| {
        server.kill9();
        server.start_again();
    });
    let pair = Pair {
        account,
        sequence: ON_CHAIN + 1,
    };
    let recorded = ledger.record(&claim, envelope(pair), 7).await.unwrap();
    let row = crate::bed::done(recorded);
    tokio::task::block_in_place(|| {
        server.stop();
        server.start_on_another_timeline();
    });
    is_another_one(&ledger, &row).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_took_the_place_of_the_ledgers_is_another_database() {
    let bed = Bed::sqlite().await;
    let row = recorded(&bed).await;
    let path = bed.url.strip_prefix("sqlite:").unwrap().to_owned();
    let backup = format!("{path}.backup");
    bed.sql(&format!("VACUUM INTO '{backup}'")).await;
    std::fs::rename(&backup, &path).unwrap();
    // Both who still has the old file open and who opens the new one.
    let change = Change::new(&row, Event::Acknowledged, "test");
    refused(bed.ledger.apply(change).await);
    for wal in ["-wal", "-shm"] {
        std::fs::remove_file(format!("{path}{wal}")).unwrap();
    }
    let ledger = Ledger::connect(&bed.url, 2, RULES).await.unwrap();
    is_another_one(&ledger, &row).await;
}
