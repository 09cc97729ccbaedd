//! Sequences of a shared account: each is handed out once to those who ask at the same time, whatever the server forgets
//! or was made to believe, as long as the ledger brings along what it knows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::on;
use super::support::redis::Redis;
use tender::domain::ids::AccountId;
use tender::queue::{Draw, Drawn, Queue};

/// Far above what a double holds exactly, as sequences of real accounts are.
const BASE: i64 = 60_000_000 << 32;

const ACCOUNT: AccountId = AccountId([7; 32]);

fn ask(after: i64) -> Draw {
    Draw {
        account: ACCOUNT,
        after,
        last: after + 1_000,
        anew: false,
    }
}

fn drawn(sequence: i64, remembered: bool) -> Drawn {
    Drawn {
        sequence: Some(sequence),
        remembered,
    }
}

fn key() -> String {
    format!("tender:sequence:{ACCOUNT}")
}

async fn conform(queue: Queue) {
    let first = queue.draw(ask(BASE)).await.unwrap();
    assert_eq!(first, drawn(BASE + 1, false));
    assert_eq!(queue.draw(ask(BASE)).await.unwrap(), drawn(BASE + 2, true));
    // The ledger knows more: somebody else handed them out.
    let later = queue.draw(ask(BASE + 9)).await.unwrap();
    assert_eq!(later, drawn(BASE + 10, true));
    let tight = Draw {
        last: BASE + 10,
        ..ask(BASE)
    };
    let none = queue.draw(tight).await.unwrap();
    assert_eq!((none.sequence, none.remembered), (None, true));
    let anew = Draw {
        anew: true,
        ..tight
    };
    assert_eq!(queue.draw(anew).await.unwrap(), drawn(BASE + 1, true));
    let other = Draw {
        account: AccountId([8; 32]),
        ..ask(BASE)
    };
    assert_eq!(queue.draw(other).await.unwrap(), drawn(BASE + 1, false));
    let end = Draw {
        after: i64::MAX - 1,
        last: i64::MAX,
        ..other
    };
    assert_eq!(queue.draw(end).await.unwrap(), drawn(i64::MAX, true));
    let beyond = Draw {
        after: i64::MAX,
        ..end
    };
    assert_eq!(queue.draw(beyond).await.unwrap().sequence, None);
}

#[tokio::test]
async fn sequences_within_a_process_are_handed_out_as_on_a_server() {
    conform(Queue::memory()).await;
}

#[tokio::test]
async fn sequences_are_handed_out_to_the_last_digit() {
    let server = Redis::start();
    conform(on(&server).await).await;
}

#[tokio::test]
async fn what_a_key_was_made_to_hold_does_no_harm() {
    let server = Redis::start();
    let queue = on(&server).await;
    let texts = [
        "",
        "riddle",
        "-5",
        "007",
        "1e3",
        "99999999999999999999",
        " 12",
    ];
    for text in texts {
        server.ask::<()>(redis::cmd("SET").arg(key()).arg(text));
        let answer = queue.draw(ask(BASE)).await.unwrap();
        assert_eq!(answer, drawn(BASE + 1, false), "{text:?}");
    }
    server.ask::<()>(redis::cmd("DEL").arg(key()));
    server.ask::<u64>(redis::cmd("LPUSH").arg(key()).arg("a list"));
    assert_eq!(queue.draw(ask(BASE)).await.unwrap(), drawn(BASE + 1, false));
    // Set back: the ledger's number counts. Set ahead: nothing beyond what may be handed out.
    server.ask::<()>(redis::cmd("SET").arg(key()).arg(3));
    assert_eq!(queue.draw(ask(BASE)).await.unwrap(), drawn(BASE + 1, true));
    server.ask::<()>(redis::cmd("SET").arg(key()).arg(i64::MAX));
    let ahead = queue.draw(ask(BASE)).await.unwrap();
    assert_eq!((ahead.sequence, ahead.remembered), (None, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_who_ask_at_once_never_hold_the_same_one_whatever_the_server_forgets() {
    const EACH: usize = 20;
    let server = Arc::new(Redis::start());
    let queue = on(&server).await;
    // What the ledger's unique index is: whoever comes second is refused.
    let held = Arc::new(Mutex::new(BTreeSet::new()));
    let askers = (0..64).map(|asker| {
        let (queue, held, server) = (queue.clone(), Arc::clone(&held), Arc::clone(&server));
        tokio::spawn(async move {
            let (mut won, mut refused) = (Vec::new(), 0);
            while won.len() < EACH {
                let after = held.lock().unwrap().last().copied().unwrap_or(BASE);
                let answer = queue.draw(ask(after)).await.unwrap();
                let sequence = answer.sequence.unwrap();
                assert!(sequence > after);
                if held.lock().unwrap().insert(sequence) {
                    won.push(sequence);
                } else {
                    refused += 1;
                }
                if asker == 0 && won.len().is_multiple_of(5) {
                    server.flushall();
                }
            }
            (won, refused)
        })
    });
    let (mut all, mut refused) = (BTreeSet::new(), 0);
    for asker in askers.collect::<Vec<_>>() {
        let (won, lost) = asker.await.unwrap();
        refused += lost;
        for sequence in won {
            assert!(all.insert(sequence), "{sequence} is held twice");
        }
    }
    assert_eq!(all.len(), 64 * EACH);
    assert!(
        refused < 64 * EACH,
        "{refused} refusals: forgetting is the exception"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgets_nothing_hands_each_out_once_by_itself() {
    let server = Redis::start();
    let queue = on(&server).await;
    let askers = (0..64).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.draw(ask(BASE)).await.unwrap().sequence.unwrap() })
    });
    let mut all = BTreeSet::new();
    for asker in askers.collect::<Vec<_>>() {
        all.insert(asker.await.unwrap());
    }
    assert_eq!(all, (BASE + 1..=BASE + 64).collect());
}
