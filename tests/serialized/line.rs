//! A world whose submissions stand in line for one account.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use secrecy::SecretString;
use tender::domain::ids::{AccountId, SubmissionId};
use tender::domain::submission::{Status, Verdict};
use tender::flow::allocate::Allocator;
use tender::flow::chain::Chain;
use tender::flow::submit::Submitted;
use tender::ledger::{Ledger, Submission};
use tender::queue::{Queue, RedisOptions};

use crate::net::{Net, channel};
use crate::servers::redis::Redis;
use crate::support::{NEVER, Reply};
use crate::world::{World, answer};

pub const PAID: (Status, Verdict) = (Status::Confirmed, Verdict::Success);

/// The account that all share.
pub fn shared() -> AccountId {
    channel(0).account()
}

/// The key that remembers what was handed out.
pub fn key() -> String {
    format!("tender:sequence:{}", shared())
}

/// An allocator as a worker of that ledger, queue and network has.
pub async fn allocator(ledger: &Ledger, net: &Net, server: &Redis) -> Allocator {
    let url = SecretString::from(server.url());
    let queue = Queue::redis(&url, RedisOptions::default()).await.unwrap();
    let (ledger, rpc) = (ledger.clone(), net.rpc.clone());
    Allocator::new(ledger, queue, rpc, Arc::new(Chain::default()), shared())
}

/// What becomes of an envelope on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// It arrives.
    Open,
    /// It arrives, and every other answer is lost.
    AnswersLost,
    /// It gets lost.
    Closed,
}

pub struct Line {
    pub world: World,
    pub server: Redis,
    way: Arc<AtomicU8>,
    asked: Arc<AtomicUsize>,
}

impl Line {
    pub async fn start() -> Self {
        let world = World::start(1).await;
        let server = Redis::start();
        let allocator = allocator(&world.ledger, &world.net, &server).await;
        let world = world.serialized_by(allocator);
        let (way, asked) = (Arc::new(AtomicU8::new(0)), Arc::new(AtomicUsize::new(0)));
        let (told, counted) = (Arc::clone(&way), Arc::clone(&asked));
        world.nodes[0].when_asked(move |node, method, params| {
            if method != "sendTransaction" {
                return None;
            }
            let number = counted.fetch_add(1, Ordering::SeqCst);
            match told.load(Ordering::SeqCst) {
                way if way == Way::Closed as u8 => Some(Reply::Status(504)),
                way if way == Way::AnswersLost as u8 && number % 2 == 0 => {
                    answer(node, method, params);
                    Some(Reply::Reset)
                }
                _ => None,
            }
        });
        Self {
            world,
            server,
            way,
            asked,
        }
    }

    pub fn way(&self, way: Way) {
        self.way.store(way as u8, Ordering::SeqCst);
    }

    /// Envelopes handed to the network so far, again and again ones included.
    pub fn sent(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Hands a row to a worker and tells what became of it.
    pub async fn submit(&self, id: SubmissionId) -> Submitted {
        self.world.submitter.submit(id).await.unwrap()
    }

    /// Accepts a row and submits it, with that end; the sequence it holds then.
    pub async fn take(&self, key: &str, expected: Submitted) -> (SubmissionId, i64) {
        let id = self.world.accept(key).await;
        assert_eq!(self.submit(id).await, expected);
        (id, self.world.row(id).await.pair.unwrap().sequence)
    }

    /// Passes until the row is paid. The answer to a send that went aside may come between.
    pub async fn paid(&self, id: SubmissionId) {
        let paid = |row: &Submission| (row.state.status, row.state.verdict) == PAID;
        self.world.pass_until(id, paid).await;
    }

    /// Closes a ledger, passes over the leases and waits until what was sent again has arrived.
    pub async fn round(&self) {
        self.world.close(1);
        self.pass().await;
    }

    pub async fn pass(&self) {
        let before = self.sent();
        let report = self.world.pass().await;
        assert_eq!(report.faults, 0);
        let arrived = async {
            while self.sent() < before + report.resent {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(NEVER, arrived).await.unwrap();
    }

    /// Offers every pending row to a worker, the oldest first.
    pub async fn offer(&self, rows: &[SubmissionId]) {
        for id in rows {
            if self.world.row(*id).await.state.status == Status::Pending {
                self.submit(*id).await;
            }
        }
    }

    /// Rounds until all rows are paid.
    pub async fn until_paid(&self, rows: &[SubmissionId], most: usize) {
        for _ in 0..most {
            self.offer(rows).await;
            self.round().await;
            let mut open = 0;
            for id in rows {
                open += usize::from(self.world.stands(*id).await != PAID);
            }
            if open == 0 {
                return;
            }
        }
        for id in rows {
            assert_eq!(
                self.world.stands(*id).await,
                PAID,
                "{:?}",
                self.world.row(*id).await
            );
        }
    }

    /// Every row has one effect, and no two of them ended with the same pair.
    pub async fn audit(&self, rows: &[SubmissionId]) {
        assert_eq!(self.world.payments().await, rows.len());
        let mut pairs = BTreeSet::new();
        for id in rows {
            let pair = self.world.row(*id).await.pair.unwrap();
            assert_eq!(pair.account, shared());
            assert!(pairs.insert(pair), "{pair:?} was held twice");
        }
        let sequences = self
            .world
            .ledger
            .sequences(shared())
            .await
            .unwrap()
            .unwrap();
        assert!(sequences.held.is_empty(), "{sequences:?}");
        assert_eq!(sequences.next, pairs.last().unwrap().sequence + 1);
    }
}
