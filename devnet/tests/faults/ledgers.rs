//! Ledgers that close empty, late, early or not at all.

use crate::common::{START, config, root};
use crate::support::{Served, payment};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tender_devnet::faults::{CloseFault, FaultPlan, Rule, When};
use tender_devnet::node::{DevNode, Pace};

fn close(fault: CloseFault, when: When) -> Vec<Rule> {
    vec![Rule::close(fault, when)]
}

fn unix_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

#[tokio::test]
async fn ledgers_close_without_transactions_which_grow_older() {
    let served = Served::by_hand().await;
    served.rules(close(CloseFault::Empty { ledgers: 3 }, When::Nth(1)));
    let envelope = payment(1, &root(), 1);
    let hash = served.send_ok(&envelope).await;
    for _ in 0..3 {
        served.node.close_ledger();
        assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
        assert_eq!(served.send(&envelope).await["status"], "DUPLICATE");
    }
    served.node.close_ledger();
    assert_eq!(served.look_up(&hash).await["ledger"], 14);
    // One empty ledger more, and a transaction is too old.
    served.rules(close(CloseFault::Empty { ledgers: 4 }, When::Nth(1)));
    let envelope = payment(2, &root(), 1);
    let hash = served.send_ok(&envelope).await;
    for _ in 0..5 {
        served.node.close_ledger();
    }
    assert_eq!(served.look_up(&hash).await["status"], "NOT_FOUND");
    assert_eq!(served.send(&envelope).await["status"], "TRY_AGAIN_LATER");
}

#[tokio::test]
async fn no_ledger_closes_for_a_while() {
    let served = Served::by_hand().await;
    served.rules(close(CloseFault::Stall { intervals: 3 }, When::Nth(2)));
    let hash = served.send_ok(&payment(1, &root(), 1)).await;
    let heights: Vec<u32> = (0..6)
        .map(|_| served.node.close_ledger().sequence)
        .collect();
    assert_eq!(heights, [11, 11, 11, 11, 12, 13]);
    assert_eq!(served.look_up(&hash).await["ledger"], 11);
}

#[tokio::test]
async fn a_timer_stalls_and_goes_on() {
    let node = DevNode::start(config(), Pace::Every(Duration::from_millis(5)));
    let stall = CloseFault::Stall { intervals: 10_000 };
    node.set_faults(FaultPlan::ruled(1, close(stall, When::Always)).unwrap());
    let stuck = node.latest().borrow().sequence;
    let moved = tokio::time::timeout(Duration::from_millis(100), async {
        let mut latest = node.latest();
        latest.changed().await
    });
    assert!(moved.await.is_err(), "a ledger closed in a stall");
    node.set_faults(FaultPlan::none());
    let mut latest = node.latest();
    let moved = latest.wait_for(|latest| latest.sequence > stuck);
    tokio::time::timeout(Duration::from_secs(10), moved)
        .await
        .expect("ledgers close again")
        .unwrap();
    node.shutdown().await;
}

#[tokio::test]
async fn close_times_are_ahead_of_the_wall_clock_or_behind() {
    let started = unix_now() - 1000;
    let config = tender_devnet::config::NetworkConfig {
        start_close_time: started,
        ..config()
    };
    for seconds in [60_i32, -60] {
        let node = DevNode::start(config.clone(), Pace::Every(Duration::from_hours(1)));
        let skew = CloseFault::Skew {
            seconds,
            ledgers: 1,
        };
        node.set_faults(FaultPlan::ruled(1, close(skew, When::Nth(1))).unwrap());
        let before = unix_now();
        let skewed = node.close_ledger().close_time;
        let expected = before.saturating_add_signed(seconds.into());
        assert!(
            (expected..expected + 10).contains(&skewed),
            "{seconds}: {skewed}"
        );
        // Afterwards the clock is right again, but times still increase.
        let next = node.close_ledger().close_time;
        let right = unix_now();
        assert!((right - 10..=right).contains(&next) || next == skewed + 1);
        node.shutdown().await;
    }
}

#[tokio::test]
async fn close_times_by_hand_are_skewed_too() {
    let served = Served::by_hand().await;
    let skew = CloseFault::Skew {
        seconds: 30,
        ledgers: 2,
    };
    served.rules(close(skew, When::Nth(1)));
    assert_eq!(served.node.close_ledger().close_time, START + 31);
    assert_eq!(served.node.close_ledger().close_time, START + 32);
    assert_eq!(served.node.close_ledger().close_time, START + 33);
    let skew = CloseFault::Skew {
        seconds: -20,
        ledgers: 1,
    };
    served.rules(close(skew, When::Nth(1)));
    assert_eq!(
        served.node.close_ledger_at(START + 100).close_time,
        START + 80
    );
}
