//! The database refuses what no relay should have to look at, within the caller's own transaction.

use crate::bed::Bed;
use crate::table::{Caller, payment, relay};

const INTO: &str = "INSERT INTO outbox (tenant, idempotency_key, payload) VALUES";

async fn rows_beyond_the_limits_are_refused_as_they_are_written(bed: Bed) {
    let (many, large) = ("k".repeat(256), "x".repeat(65_537));
    let wide = "é".repeat(32_769);
    let mut table = vec![
        format!("{INTO} ('', 'key', '{{}}')"),
        format!("{INTO} ('{}', 'key', '{{}}')", &many[..65]),
        format!("{INTO} (NULL, 'key', '{{}}')"),
        format!("{INTO} ('acme', '', '{{}}')"),
        format!("{INTO} ('acme', '{many}', '{{}}')"),
        format!("{INTO} ('acme', 'key', '')"),
        format!("{INTO} ('acme', 'key', NULL)"),
        format!("{INTO} ('acme', 'key', '{large}')"),
        // Bytes count, not characters.
        format!("{INTO} ('acme', 'key', '{wide}')"),
        "INSERT INTO outbox (tenant, payload, state) VALUES ('acme', '{}', 'sent')".to_owned(),
        "INSERT INTO outbox (tenant, payload, state) VALUES ('acme', '{}', 'accepted')".to_owned(),
        "INSERT INTO outbox (tenant, payload, refused_code) VALUES ('acme', '{}', 'x')".to_owned(),
    ];
    if !bed.is_postgres() {
        table.push(format!("{INTO} ('acme', 'key', X'7b7d')"));
        table.push(format!("{INTO} (X'61', 'key', '{{}}')"));
        table.push(format!("{INTO} ('acme', X'61', '{{}}')"));
    }
    for statement in table {
        let shown = &statement[..statement.len().min(120)];
        assert!(bed.objection(&statement).await.is_some(), "{shown}");
    }
    let fits = format!(
        "{INTO} ('{}', '{}', '{}')",
        &many[..64],
        &many[..255],
        &large[..65_536]
    );
    assert_eq!(bed.objection(&fits).await, None);
}

/// The results are the relay's to write, and hang together.
async fn results_that_contradict_themselves_are_refused(bed: Bed) {
    let caller = Caller::of(&bed).await;
    caller.pays("good", 1).await;
    caller.write("acme", Some("bad"), "{").await;
    let (mut relay, _told) = relay(&bed.ledger);
    relay.run_once().await.unwrap();
    let table = [
        ("good", "submission_id = NULL"),
        ("good", "settled_at = NULL"),
        ("good", "refused_code = 'x'"),
        ("good", "state = 'new'"),
        ("bad", "refused_code = NULL"),
        ("bad", "refused_detail = NULL"),
        ("bad", "state = 'accepted'"),
    ];
    for (key, assignment) in table {
        let sql = format!("UPDATE outbox SET {assignment} WHERE idempotency_key = '{key}'");
        assert!(bed.objection(&sql).await.is_some(), "{sql}");
    }
    // A refused row may be mended and tried again.
    let payload = payment(1);
    let again = format!(
        "UPDATE outbox SET state = 'new', settled_at = NULL, refused_code = NULL, refused_detail = NULL, \
         payload = '{payload}' WHERE idempotency_key = 'bad'"
    );
    bed.sql(&again).await;
    assert_eq!(relay.run_once().await.unwrap().accepted, 1);
    bed.sql("DELETE FROM outbox WHERE settled_at IS NOT NULL")
        .await;
    assert!(caller.rows().await.is_empty());
}

async fn the_database_tells_when_a_row_was_written(bed: Bed) {
    Caller::of(&bed).await.pays("key", 1).await;
    let now = bed.ledger.now().await.unwrap();
    let at = bed.number("SELECT created_at FROM outbox").await;
    assert!((now - 60_000..=now + 1).contains(&at), "{at}, now {now}");
}

/// The rights that docs/OUTBOX.md names, and no others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_with_the_documented_rights_can_write_and_read_and_nothing_else() {
    use sea_orm::{ConnectionTrait, TransactionTrait};
    let document = include_str!("../../docs/OUTBOX.md");
    let grants = document.lines().filter(|line| line.starts_with("GRANT "));
    let bed = Bed::postgres().await;
    bed.sql("CREATE ROLE billing").await;
    for grant in grants {
        bed.sql(grant).await;
    }
    let raw = bed.raw().await;
    let tx = raw.begin().await.unwrap();
    tx.execute_unprepared("SET LOCAL ROLE billing")
        .await
        .unwrap();
    let id = tender::outbox::enqueue(&tx, "acme", "key", &payment(1)).await;
    id.unwrap();
    tx.commit().await.unwrap();
    let (mut relay, _told) = relay(&bed.ledger);
    assert_eq!(relay.run_once().await.unwrap().accepted, 1);
    for beyond in [
        "UPDATE outbox SET state = 'new'",
        "DELETE FROM outbox",
        "SELECT 1 FROM submission_ledger",
    ] {
        let objection = bed.objection(&format!("SET ROLE billing; {beyond}")).await;
        assert!(objection.unwrap().contains("permission denied"), "{beyond}");
    }
}

on_both!(
    rows_beyond_the_limits_are_refused_as_they_are_written,
    results_that_contradict_themselves_are_refused,
    the_database_tells_when_a_row_was_written,
);
