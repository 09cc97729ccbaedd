use super::*;

fn shown(ledger: u32, close_time: u64) -> Shown {
    Shown {
        ledger,
        close_time: Some(close_time),
    }
}

/// A node that showed ledger 1000, closed at 5000, so many seconds before `now`.
fn heard(ago: u64, now: Instant) -> Standing {
    let at = now.checked_sub(Duration::from_secs(ago));
    Standing {
        serves: Serves::Ours,
        highest: Some(shown(1_000, 5_000)),
        heard_at: at,
        tried_at: at,
        ..Standing::default()
    }
}

/// Time enough before `now` for all that these tests look back to.
fn now() -> Instant {
    Instant::now() + Duration::from_secs(1_000)
}

use Verdict::{AskOthers as Ask, Believed, Implausible};

/// Why, the node itself, the other one, the ledger and close time it shows, and the verdict.
type Case = (&'static str, Standing, Standing, (u32, u64), Verdict);

/// Weighs each answer against the other node, before and after that was asked.
fn check(table: &[Case], now: Instant) {
    for (why, own, other, (ledger, close_time), expected) in table {
        let shown = shown(*ledger, *close_time);
        let verdict = |asked| weigh(own, [other].into_iter(), shown, asked, now);
        assert_eq!(verdict(false), *expected, "{why}");
        if *expected == Ask {
            assert_ne!(verdict(true), Ask, "{why}");
        } else {
            assert_eq!(verdict(true), *expected, "{why}");
        }
    }
}

#[test]
fn far_ahead_of_all_others_is_not_believed() {
    let now = now();
    let (new, just) = (Standing::default(), heard(0, now));
    let failing = |node| Standing {
        tried_at: Some(now),
        ..node
    };
    let aside = Standing {
        aside: true,
        ..just
    };
    let table = [
        ("20 ledgers", new, just, (1_020, 5_100), Believed),
        ("21 ledgers", new, just, (1_021, 5_100), Implausible),
        ("120 s", new, just, (1_001, 5_120), Believed),
        ("121 s", new, just, (1_001, 5_121), Implausible),
        ("behind", new, just, (1, 5), Believed),
        ("moved on?", new, heard(5, now), (1_021, 5_100), Ask),
        (
            "29 s",
            new,
            failing(heard(29, now)),
            (1_021, 5),
            Implausible,
        ),
        ("30 s", new, failing(heard(30, now)), (1_021, 5), Believed),
        ("not asked", new, new, (1_021, 5_100), Ask),
        ("not answering", new, failing(new), (1_021, 5), Believed),
        ("other aside", new, aside, (1_021, 5_100), Believed),
    ];
    check(&table, now);
    let alone = weigh(&new, [].into_iter(), shown(9_999, 9), false, now);
    assert_eq!(alone, Believed, "the only node");
}

#[test]
fn a_jump_is_not_believed_where_going_on_is() {
    let now = now();
    let (own, just) = (heard(2, now), heard(0, now));
    let table = [
        ("in time", own, just, (1_022, 5_100), Believed),
        ("too far", own, just, (1_023, 5_100), Implausible),
        ("in time, by its clock", own, just, (1_001, 5_122), Believed),
        (
            "too far by its clock",
            own,
            just,
            (1_001, 5_123),
            Implausible,
        ),
    ];
    check(&table, now);
}

#[test]
fn a_node_stays_aside_until_the_others_catch_up_or_fall_silent() {
    let now = now();
    let aside = Standing {
        aside: true,
        ..heard(0, now)
    };
    let failing = |ago| Standing {
        tried_at: Some(now),
        ..heard(ago, now)
    };
    let just = heard(0, now);
    let table = [
        ("far behind", aside, just, (1_021, 5_100), Implausible),
        ("caught up", aside, just, (1_020, 5_100), Believed),
        ("59 s", aside, failing(59), (1_021, 5_100), Implausible),
        ("60 s", aside, failing(60), (1_021, 5_100), Believed),
    ];
    check(&table, now);
}

#[test]
fn a_node_that_goes_on_is_believed_while_all_others_stand_still() {
    let start = now();
    let stuck = heard(0, start);
    let mut own = stuck;
    for ledger in 1_001..1_200 {
        let now = start + Duration::from_secs(5 * u64::from(ledger - 1_000));
        let other = Standing {
            heard_at: Some(now),
            tried_at: Some(now),
            ..stuck
        };
        let next = shown(ledger, u64::from(ledger) * 5);
        assert_eq!(
            weigh(&own, [&other].into_iter(), next, false, now),
            Verdict::Believed
        );
        own.showed(next, now);
    }
}

#[test]
fn the_configured_order_holds_among_nodes_that_are_well() {
    let now = Instant::now();
    let well = Standing::default();
    let failed = Standing {
        rests_until: Some(now),
        ..well
    };
    let failed_later = Standing {
        rests_until: Some(now + REST),
        ..well
    };
    let lags = Standing { lags: true, ..well };
    let aside = Standing {
        aside: true,
        ..well
    };
    let another = Standing {
        serves: Serves::Another,
        ..well
    };
    let table = [
        (vec![well, well, well], vec![0, 1, 2]),
        (vec![failed, well, well], vec![1, 2, 0]),
        (vec![lags, failed, well], vec![2, 0, 1]),
        (vec![aside, failed_later, failed, lags], vec![3, 2, 1, 0]),
        (vec![another, aside], vec![1]),
        (vec![another], vec![]),
    ];
    for (nodes, expected) in table {
        assert_eq!(order(&nodes), expected, "{nodes:?}");
    }
}

#[test]
fn a_node_comes_back_when_it_answers_after_its_rest() {
    let now = Instant::now();
    let mut node = Standing::default();
    node.failed(now);
    node.answered(now + REST / 2);
    assert!(
        node.rests_until.is_some(),
        "another call that was under way"
    );
    node.answered(now + REST);
    assert_eq!(node.rests_until, None);
}

#[test]
fn more_than_three_ledgers_behind_the_highest_lags() {
    let now = Instant::now();
    let mut node = Standing::default();
    for (ledger, others, lags) in [(7, Some(10), false), (6, Some(10), true), (6, None, false)] {
        node.showed(shown(ledger, 0), now);
        node.compare(shown(ledger, 0), others.map(|ledger| shown(ledger, 0)));
        assert_eq!(node.lags, lags, "{ledger} {others:?}");
    }
    assert_eq!(node.highest, Some(shown(7, 0)), "it never goes back");
}
