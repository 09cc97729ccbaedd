//! Lists, counts and keys; and rows that do not read are errors, never panics.

use tender::domain::ids::SubmissionId;
use tender::domain::schedule::Priority;
use tender::domain::submission::{Event, Gap, Status};
use tender::ledger::{LedgerError, ListFilter, NewKey};

use crate::bed::{Bed, new, transient};

async fn pages_go_from_new_to_old_without_gaps_or_repeats(bed: Bed) {
    let mut expected = Vec::new();
    for n in 0..7 {
        expected.push(bed.accept(&format!("key-{n}")).await.id);
        // Pairs of rows of one moment: the identity decides between them.
        bed.sql(&format!(
            "UPDATE submission_ledger SET created_at = {} WHERE idempotency_key = 'key-{n}'",
            1000 + n / 2
        ))
        .await;
    }
    let mut foreign = new("key-0");
    foreign.tenant = "other".parse().unwrap();
    bed.ledger.accept(foreign).await.unwrap();
    let filter = ListFilter {
        tenant: Some("acme".parse().unwrap()),
        ..ListFilter::default()
    };
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = bed.ledger.list(&filter, after, 3).await.unwrap();
        seen.extend(
            page.iter()
                .map(|row| (std::cmp::Reverse(row.created_at), row.id)),
        );
        // As a caller does: through its text.
        after = next.map(|cursor| cursor.to_string().parse().unwrap());
        if after.is_none() {
            break;
        }
        assert_eq!(page.len(), 3);
    }
    assert!(
        seen.is_sorted_by(|a, b| (a.0, std::cmp::Reverse(a.1)) < (b.0, std::cmp::Reverse(b.1)))
    );
    let mut ids: Vec<_> = seen.into_iter().map(|(_, id)| id).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
    let all = bed
        .ledger
        .list(&ListFilter::default(), None, 100)
        .await
        .unwrap();
    assert_eq!((all.0.len(), all.1), (8, None));
}

async fn filters_and_counts_agree(bed: Bed) {
    let mut urgent = new("urgent");
    urgent.priority = Priority::Critical;
    bed.ledger.accept(urgent).await.unwrap();
    for n in 0..3 {
        let row = bed.accept(&format!("key-{n}")).await;
        if n > 0 {
            bed.apply(&row, Event::Cancelled).await;
        }
    }
    let mut counts = bed.ledger.counts().await.unwrap();
    counts.sort_by_key(|(status, priority, _)| (status.as_str(), *priority));
    assert_eq!(
        counts,
        [
            (Status::Cancelled, Priority::Normal, 2),
            (Status::Pending, Priority::Critical, 1),
            (Status::Pending, Priority::Normal, 1),
        ]
    );
    let filter = ListFilter {
        status: Some(Status::Cancelled),
        ..ListFilter::default()
    };
    assert_eq!(bed.ledger.list(&filter, None, 10).await.unwrap().0.len(), 2);
    assert!(
        bed.ledger
            .submission(SubmissionId(uuid::Uuid::new_v4()))
            .await
            .unwrap()
            .is_none()
    );
}

async fn live_counts_are_those_of_rows_that_are_not_at_their_end(bed: Bed) {
    bed.channels(10).await;
    let mut urgent = new("urgent");
    urgent.priority = Priority::Critical;
    bed.ledger.accept(urgent).await.unwrap();
    for key in ["waiting", "dispatched", "built", "cancelled"] {
        bed.accept(key).await;
    }
    for key in ["paid", "lost", "flying", "dead"] {
        bed.confirming(key).await;
    }
    let row = async |key: &str| {
        let (tenant, key) = ("acme".parse().unwrap(), key.parse().unwrap());
        bed.ledger.by_key(&tenant, &key).await.unwrap().unwrap()
    };
    bed.sql("UPDATE submission_ledger SET dispatched_at = 1 WHERE idempotency_key = 'dispatched'")
        .await;
    bed.claim(row("built").await.id).await;
    for (key, event) in [
        ("cancelled", Event::Cancelled),
        ("paid", Event::Succeeded),
        ("lost", Event::ConsumerBeyondReach),
        ("dead", Event::ProvenDead(transient(), Gap::None)),
    ] {
        bed.apply(&row(key).await, event).await;
    }
    let mut all = bed.ledger.counts().await.unwrap();
    all.retain(|(status, ..)| !status.is_terminal());
    let live = bed.ledger.live_counts().await.unwrap();
    assert_eq!(live, all);
    assert_eq!(
        live,
        [
            (Status::Building, Priority::Normal, 1),
            (Status::Confirming, Priority::Normal, 2),
            (Status::Pending, Priority::Critical, 1),
            (Status::Pending, Priority::Normal, 3),
        ]
    );
}

async fn keys_are_kept_found_and_revoked_for_good(bed: Bed) {
    let key = NewKey {
        id: "ab12".to_owned(),
        tenant: "acme".parse().unwrap(),
        secret_hash: [7; 32],
        scopes: vec!["transactions:write".to_owned(), "outbox:read".to_owned()],
        name: "the shop's".to_owned(),
    };
    bed.ledger.add_key(key.clone()).await.unwrap();
    let twice = bed.ledger.add_key(key.clone()).await.unwrap_err();
    assert!(matches!(twice, LedgerError::Corrupt(_)), "{twice}");
    let found = bed.ledger.find_key("ab12").await.unwrap().unwrap();
    assert_eq!(
        (found.tenant, found.secret_hash, found.scopes, found.name),
        (key.tenant, key.secret_hash, key.scopes, key.name)
    );
    assert_eq!(found.revoked_at, None);
    assert!(bed.ledger.find_key("none").await.unwrap().is_none());
    assert!(bed.ledger.revoke_key("ab12").await.unwrap());
    assert!(!bed.ledger.revoke_key("ab12").await.unwrap());
    assert!(!bed.ledger.revoke_key("none").await.unwrap());
    let listed = bed.ledger.list_keys().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert!(listed[0].revoked_at.is_some());
}

async fn a_row_that_does_not_read_is_an_error(bed: Bed) {
    bed.channels(1).await;
    let row = bed.confirming("key").await;
    let damages = [
        ("payload", "'{'"),
        ("tenant", "'a b'"),
        ("fingerprint", "'zz'"),
        ("tx_hash", "'short'"),
        ("source_account", "'GNOBODY'"),
        ("logical_operation", "'steal'"),
        ("claims", "-1"),
    ];
    for (column, damage) in damages {
        bed.sql(&format!(
            "CREATE TABLE kept AS SELECT {column} AS value FROM submission_ledger"
        ))
        .await;
        bed.sql(&format!("UPDATE submission_ledger SET {column} = {damage}"))
            .await;
        let error = bed.ledger.submission(row.id).await.unwrap_err();
        assert!(
            matches!(&error, LedgerError::Corrupt(what) if what.contains(column)),
            "{column}: {error}"
        );
        bed.sql(&format!(
            "UPDATE submission_ledger SET {column} = (SELECT value FROM kept)"
        ))
        .await;
        bed.sql("DROP TABLE kept").await;
        bed.ledger.submission(row.id).await.unwrap();
    }
}

on_both!(
    pages_go_from_new_to_old_without_gaps_or_repeats,
    filters_and_counts_agree,
    live_counts_are_those_of_rows_that_are_not_at_their_end,
    keys_are_kept_found_and_revoked_for_good,
    a_row_that_does_not_read_is_an_error,
);
