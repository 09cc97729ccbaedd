//! A Redis that forgets, is set back, is set ahead or is gone: nothing is paid twice, and the line goes on.

use std::io;
use std::sync::{Arc, Mutex};

use tender::domain::ids::Pair;
use tender::domain::key::KeyTag;
use tender::domain::operation::Asset;
use tender::domain::submission::Status;
use tender::flow::submit::Submitted;
use tender::ledger::ChannelState;
use tender::stellar::envelope::{Recipe, build};
use tender::stellar::signer::Signer;

use crate::line::{Line, Way, key, shared};
use crate::net::{FIRST_SEQUENCE, channel, payee, paying};

#[tokio::test]
async fn whatever_redis_says_no_sequence_is_held_twice() {
    let line = Line::start().await;
    let mut rows = Vec::new();
    let lies = [
        Some(FIRST_SEQUENCE),
        Some(1),
        Some(FIRST_SEQUENCE + 1_000_000),
        Some(i64::MAX),
        None,
    ];
    for (number, lie) in lies.iter().cycle().take(15).enumerate() {
        match lie {
            Some(lie) => line
                .server
                .ask::<()>(redis::cmd("SET").arg(key()).arg(*lie)),
            None => line.server.flushall(),
        }
        rows.push(line.world.accept(&format!("key-{number}")).await);
        line.offer(&rows).await;
        if number % 3 == 0 {
            line.way(Way::AnswersLost);
        } else {
            line.way(Way::Open);
        }
        line.round().await;
    }
    line.until_paid(&rows, 20).await;
    line.audit(&rows).await;
}

#[tokio::test]
async fn without_redis_the_ledger_hands_sequences_out() {
    let mut line = Line::start().await;
    let first = line.world.accept("first").await;
    assert_eq!(line.submit(first).await, Submitted::Sent);
    line.server.stop();
    let second = line.world.accept("second").await;
    assert_eq!(line.submit(second).await, Submitted::Recorded);
    line.until_paid(&[first, second], 4).await;
    line.audit(&[first, second]).await;
}

#[tokio::test]
async fn an_account_that_somebody_else_moved_is_set_aside_and_pays_nobody_meanwhile() {
    let line = Line::start().await;
    let net = &line.world.net;
    let (operation, account) = (paying(Asset::Native, payee(), "3"), channel(0));
    // Of an account of theirs: one of the treasury would be a payment that the ledger has forgotten.
    let theirs = build(Recipe {
        network: &net.id,
        pair: Pair {
            account: account.account(),
            sequence: FIRST_SEQUENCE + 1,
        },
        channel: &account,
        treasury: &Signer::from_seed(&[4; 32]),
        operation: &operation,
        tag: KeyTag(7),
        fee: 100,
        max_time: net.closed_at() + 60,
    })
    .await
    .unwrap();
    net.rpc.send_transaction(theirs.hash, &theirs.xdr).await;
    line.world.close(1);
    let first = line.world.accept("first").await;
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    // The test's runtime has one thread, so the subscriber of the thread sees the claim.
    let guard = tracing::subscriber::set_default(subscriber);
    line.submit(first).await;
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("used by somebody unknown"), "{text}");
    line.world
        .pass_until(first, |row| row.state.status == Status::Pending)
        .await;
    let account = line.world.channel(shared()).await;
    assert_eq!(account.state, ChannelState::Quarantined);
    let second = line.world.accept("second").await;
    assert_eq!(line.submit(second).await, Submitted::NoChannel);
    assert_eq!(line.world.payments().await, 0);
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
