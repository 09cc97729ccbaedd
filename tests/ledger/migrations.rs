//! The schema goes up, down and up again, and processes that start together do not collide.

use tender::ledger::{Ledger, LedgerError};

use crate::bed::{Bed, RULES};

async fn up_down_and_up_again(bed: Bed) {
    let ledger = &bed.ledger;
    let applied = async || -> Vec<bool> {
        let status = ledger.migration_status().await.unwrap();
        status.iter().map(|migration| migration.applied).collect()
    };
    let count = applied().await.len();
    assert!(applied().await.iter().all(|applied| !applied));
    let missing = ledger.check_schema().await.unwrap_err();
    assert!(missing.to_string().contains("migrate up"), "{missing}");
    for _ in 0..2 {
        ledger.migrate_up().await.unwrap();
        ledger.migrate_up().await.unwrap();
        assert_eq!(applied().await, vec![true; count]);
        ledger.check_schema().await.unwrap();
        ledger.migrate_down(Some(1)).await.unwrap();
        assert_eq!(
            applied().await.iter().filter(|applied| !**applied).count(),
            1
        );
        ledger.migrate_down(None).await.unwrap();
        assert!(applied().await.iter().all(|applied| !applied));
    }
    ledger.migrate_up().await.unwrap();
    bed.accept("works").await;
}

async fn tables_with_submissions_are_not_taken_away(bed: Bed) {
    bed.ledger.migrate_up().await.unwrap();
    let row = bed.accept("paid").await;
    let refused = bed.ledger.migrate_down(None).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Unfit(_)), "{refused}");
    assert_eq!(bed.row(row.id).await.key, row.key);
    bed.ledger.check_schema().await.unwrap();
}

async fn processes_that_start_together_take_turns(bed: Bed) {
    let mut starts = Vec::new();
    for _ in 0..4 {
        let url = bed.url.clone();
        starts.push(tokio::spawn(async move {
            let ledger = Ledger::connect(&url, 2, RULES).await.unwrap();
            ledger.migrate_up().await
        }));
    }
    for start in starts {
        start.await.unwrap().unwrap();
    }
    bed.ledger.check_schema().await.unwrap();
    bed.accept("works").await;
}

async fn without_a_schema_every_verb_says_so(bed: Bed) {
    let error = bed
        .ledger
        .accept(crate::bed::new("early"))
        .await
        .unwrap_err();
    assert!(matches!(error, LedgerError::Unfit(_)), "{error}");
    let error = bed.ledger.leases().await.unwrap_err();
    assert!(matches!(error, LedgerError::Unfit(_)), "{error}");
}

/// These cases start without a schema.
macro_rules! on_bare {
    ($($case:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::bed::Bed::bare_sqlite().await).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::bed::Bed::bare_postgres().await).await;
            })+
        }
    };
}

on_bare!(
    up_down_and_up_again,
    tables_with_submissions_are_not_taken_away,
    processes_that_start_together_take_turns,
    without_a_schema_every_verb_says_so,
);
