//! Every durable step of a payment, without a network: accept, claim with a pair, build and sign, record, note the
//! answer, settle and give the pair back. Settling is batched, as the reconciler does it for a ledger's payments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tender::domain::ids::AccountId;
use tender::domain::submission::Event;
use tender::flow::accept::operation_of;
use tender::ledger::{Applied, Change, ClaimOutcome, Ledger, SendPlan, Submission};
use tender::stellar::envelope::{self, Recipe};
use tender::stellar::keyring::KeyRing;
use tender::stellar::network::NetworkId;
use tender::stellar::signer::Signer;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::deployment::{PASSPHRASE, Servers};
use crate::report::{Goal, Report, number};
use crate::work::{Template, fresh_ledger};

const RUNS: usize = 3;
const TIME: Duration = Duration::from_secs(3);
/// Payments under way at once.
const FLIGHT: usize = 128;
/// Accounts to lease: more than are ever leased, so that none is waited for.
const CHANNELS: usize = 512;
/// Payments settled in one SQL transaction, about what a full ledger brings.
const SETTLED: usize = 100;
const CONNECTIONS: u32 = 32;

/// What every payment is built with.
struct Desk {
    ledger: Ledger,
    template: Template,
    network: NetworkId,
    keys: KeyRing,
}

pub async fn measure(report: &mut Report) -> Outcome<()> {
    let servers = Servers::start();
    let ledger = fresh_ledger(&servers.postgres.create_database(), CONNECTIONS).await?;
    let signers: Vec<_> = (0..CHANNELS)
        .map(|_| Signer::from_seed(&rand::random()))
        .collect();
    let accounts: Vec<(AccountId, i64)> = signers.iter().map(|it| (it.account(), 1)).collect();
    ledger.add_channels(&accounts).await?;
    let treasury = Signer::from_seed(&rand::random());
    let desk = Arc::new(Desk {
        ledger,
        template: Template::new()?,
        network: NetworkId::new(PASSPHRASE),
        keys: KeyRing::new(treasury.clone(), treasury.account(), signers)?,
    });
    run(&desk, TIME / 3).await?;
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        rates.push(run(&desk, TIME).await?);
    }
    let name = format!("whole life without a network, PostgreSQL, {FLIGHT} at once");
    report.judge(name, "1/s", &rates, Goal::AtLeast(1_500.0));
    Ok(())
}

/// Payments settled a second.
async fn run(desk: &Arc<Desk>, time: Duration) -> Outcome<f64> {
    let (acknowledged, landed) = mpsc::channel(SETTLED);
    let settling = tokio::spawn(settle(desk.ledger.clone(), landed));
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for _ in 0..FLIGHT {
        let (desk, acknowledged) = (Arc::clone(desk), acknowledged.clone());
        tasks.spawn(async move {
            while began.elapsed() < time {
                // Waits when settling lags behind, which bounds the accounts in use.
                acknowledged.send(pay(&desk).await?).await?;
            }
            Outcome::Ok(())
        });
    }
    drop(acknowledged);
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    let settled = settling.await??;
    Ok(number(settled) / began.elapsed().as_secs_f64())
}

/// One payment up to the network's answer.
async fn pay(desk: &Desk) -> Outcome<Submission> {
    let accepted = match desk.ledger.accept(desk.template.fresh()?).await? {
        tender::ledger::Accepted::New(row) => row,
        tender::ledger::Accepted::Existing(_) => return Err("a new key exists already".into()),
    };
    let claim = match desk.ledger.claim(accepted.id).await? {
        ClaimOutcome::Claimed(claim) => claim,
        ClaimOutcome::NotDue | ClaimOutcome::NoChannel | ClaimOutcome::Paid(..) => {
            return Err("not claimed".into());
        }
    };
    let operation = operation_of(&claim.submission.payload).map_err(|it| format!("{it:?}"))?;
    let channel = desk.keys.channel(claim.pair.account).ok_or("a channel")?;
    let signed = envelope::build(Recipe {
        network: &desk.network,
        pair: claim.pair,
        channel,
        treasury: desk.keys.treasury(),
        operation: &operation,
        tag: claim.submission.tag,
        fee: 100,
        max_time: 4_000_000_000,
    })
    .await?;
    let hash = signed.hash;
    let row = done(desk.ledger.record(&claim, signed.into(), 1).await?)?;
    let change = Change {
        sending: Some(SendPlan::Resend(Duration::from_secs(5))),
        tx_hash: Some(hash),
        evidence: Some(json!({ "answer": "Pending", "hash": hash.to_string() })),
        ..Change::new(&row, Event::Acknowledged, "sender")
    };
    done(desk.ledger.apply(change).await?)
}

async fn settle(ledger: Ledger, mut landed: mpsc::Receiver<Submission>) -> Outcome<usize> {
    let (mut settled, mut rows) = (0, Vec::new());
    while landed.recv_many(&mut rows, SETTLED).await > 0 {
        let changes = rows.drain(..).map(|row| Change {
            evidence: Some(json!({ "ledger": 2, "closed_at": 4_000_000_000_u64 })),
            ..Change::new(&row, Event::Succeeded, "reconciler")
        });
        for applied in ledger.apply_all(changes.collect()).await? {
            done(applied)?;
            settled += 1;
        }
    }
    Ok(settled)
}

fn done(applied: Applied) -> Outcome<Submission> {
    match applied {
        Applied::Done(row) => Ok(*row),
        Applied::Stale | Applied::Illegal(_) | Applied::NotFound => {
            Err(format!("a step did not apply: {applied:?}").into())
        }
    }
}
