//! Settling: what many rows of one ledger leave behind, under one commit.

use tender::domain::submission::Event;
use tender::ledger::{Change, ChannelState};

use crate::bed::{Bed, at, done, terminal};

on_both!(each_account_of_a_batch_goes_on_after_its_own_sequence);

async fn each_account_of_a_batch_goes_on_after_its_own_sequence(bed: Bed) {
    let accounts = bed.channels(4).await;
    let mut changes = Vec::new();
    for n in 0..4 {
        // Accounts that have rested longest are leased first: each key gets one of its own.
        let row = bed.confirming(&format!("key-{n}")).await;
        changes.push(Change::new(&row, Event::Succeeded, "test"));
    }
    // Two are further than their pair says, one failed in the ledger, and one of the rows is none.
    changes[1].account = Some(at(500));
    changes[2].account = Some(at(600));
    changes[2].event = Event::LedgerFailed(terminal());
    let stranger = Change::of(
        tender::domain::ids::SubmissionId(uuid::Uuid::new_v4()),
        changes[0].version,
        Event::Succeeded,
        "test",
    );
    let expected = [None, Some(500), Some(600), None];
    let applied = bed
        .ledger
        .apply_all([changes, vec![stranger]].concat())
        .await
        .unwrap();
    for (applied, told) in applied.into_iter().take(4).zip(expected) {
        let row = done(applied);
        let pair = row.pair.unwrap();
        let channel = bed.channel(pair.account).await;
        assert_eq!(channel.state, ChannelState::Free);
        assert_eq!(channel.leased_by, None);
        assert_eq!(channel.next_sequence, told.unwrap_or(pair.sequence) + 1);
        let log = bed.ledger.log(row.id).await.unwrap();
        assert_eq!(log.last().unwrap().version, row.version);
        let attempts = bed.ledger.attempts(row.id).await.unwrap();
        assert!(attempts.iter().all(|attempt| attempt.settled));
    }
    assert_eq!(accounts.len(), 4);
}
