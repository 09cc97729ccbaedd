//! Throughput before and after an outage, by processes that nobody restarts: how long until it is what it was, and what
//! the chain says of all payments in the end.

use std::time::Duration;

use tender_devnet::rpc::FrontEnd;
use tokio_util::sync::CancellationToken;

use crate::Outcome;
use crate::crowd::{Closes, now};
use crate::deployment::{Deployment, Servers, serve};
use crate::flow::{Effects, Flow};
use crate::report::{Goal, Report, number};
use crate::support::proxy::{Proxy, Weather};
use crate::web;

const CHANNELS: usize = 20;
/// Payments that wait at any time: enough for some ledgers, so that the pool alone is the limit.
const WAITING: usize = 5 * CHANNELS;
/// Ledgers of a window.
const WINDOW: u32 = 10;
/// Ledgers before the first window.
const WARM_UP: u32 = 5;
/// Ledgers, after the outage, within which a window must be as good as before.
const LIMIT: u32 = 180;
const OUTAGE: Duration = Duration::from_secs(60);
/// Between two looks at the chain.
const LOOK: Duration = Duration::from_secs(2);
/// How far the node lags.
const LAG: u32 = 5;

/// What happens to the service, from its beginning to its end.
#[derive(Clone, Copy)]
enum Outage {
    Flush,
    Redis,
    Postgres,
    /// No node can be reached, or none answers.
    Nodes(Weather),
    /// The preferred one of two nodes is behind from then on.
    Lag,
}

impl Outage {
    const ALL: [(&'static str, Self); 6] = [
        ("FLUSHALL", Self::Flush),
        ("Redis restarted, empty", Self::Redis),
        ("PostgreSQL restarted", Self::Postgres),
        ("RPC refused for 60 s", Self::Nodes(Weather::Down)),
        ("RPC silent for 60 s", Self::Nodes(Weather::Silent)),
        ("one of two nodes 5 ledgers behind", Self::Lag),
    ];
}

/// Measures each outage on a deployment of its own.
pub async fn measure(report: &mut Report) -> Outcome<()> {
    let mut servers = Servers::start();
    for (name, outage) in Outage::ALL {
        run(report, &mut servers, name, outage).await?;
    }
    Ok(())
}

/// What stands between the processes and the network.
struct Nodes {
    first: Proxy,
    /// Where a node listens that lags.
    lagging: String,
    _serving: tokio_util::sync::DropGuard,
}

impl Nodes {
    /// A deployment that sees the network through a proxy, and one more node only where that is what is measured.
    async fn deploy(servers: &Servers, outage: Outage) -> Outcome<(Deployment, Self)> {
        let (stop, mut first, mut lagging) = (CancellationToken::new(), None, String::new());
        let deployment = Deployment::seeing(servers, CHANNELS, async |node, url| {
            let view = FrontEnd::new(node.clone()).with_lags(&[LAG]);
            lagging = serve(view, &stop).await?;
            let proxy = first.insert(Proxy::to(web::address(url)?).await);
            let first = format!("http://{}", proxy.address());
            Ok(match outage {
                Outage::Lag => format!("{first},{url}"),
                Outage::Flush | Outage::Redis | Outage::Postgres | Outage::Nodes(_) => first,
            })
        })
        .await?;
        let nodes = Self {
            first: first.ok_or("a proxy")?,
            lagging,
            _serving: stop.drop_guard(),
        };
        Ok((deployment, nodes))
    }
}

/// Lets it happen. Ends when it is over; a lag is never over.
async fn strike(outage: Outage, servers: &mut Servers, nodes: &Nodes) -> Outcome<()> {
    match outage {
        Outage::Flush => servers.redis.flushall(),
        Outage::Redis => tokio::task::block_in_place(|| servers.redis.restart()),
        Outage::Postgres => tokio::task::block_in_place(|| servers.postgres.restart()),
        Outage::Nodes(weather) => {
            nodes.first.set(weather);
            tokio::time::sleep(OUTAGE).await;
            nodes.first.set(Weather::Fair);
        }
        Outage::Lag => nodes.first.redirect(web::address(&nodes.lagging)?),
    }
    Ok(())
}

async fn run(
    report: &mut Report,
    servers: &mut Servers,
    name: &str,
    outage: Outage,
) -> Outcome<()> {
    let (deployment, nodes) = Nodes::deploy(servers, outage).await?;
    let payer = &deployment.payer;
    let closes = Closes::watch(&deployment.node);
    let mut latest = deployment.node.latest();
    let flow = Flow::start(payer, WAITING);
    let warm = latest.borrow().sequence + WARM_UP;
    let enough = |seen: &tender_devnet::node::Latest| seen.sequence >= warm + WINDOW;
    let last = latest.wait_for(enough).await?.sequence;
    strike(outage, servers, &nodes).await?;
    let (over, ended) = (latest.borrow().sequence, now());
    let (before, after) = loop {
        tokio::time::sleep(LOOK).await;
        let closed = latest.borrow().sequence;
        let effects = Effects::look(payer).await?;
        let before = effects.within(last + 1 - WINDOW, WINDOW);
        let windows = (over + 1)..=(closed + 1).saturating_sub(WINDOW);
        let paid = windows.map(|from| (from, effects.within(from, WINDOW)));
        let good = paid.clone().find(|it| it.1 * 100 >= before * 98);
        if good.is_some() || closed > over + LIMIT {
            break (before, good.or(paid.max_by_key(|it| it.1)));
        }
    };
    let (from, paid) = after.ok_or("ledgers close")?;
    let keys = flow.finish(payer).await?;
    let wait = closes.of(from - 1).map_or(0, |closed| closed - ended);
    let (doubled, missing) = Effects::look(payer).await?.compare(&keys)?;
    Found {
        before,
        after: paid,
        wait: Duration::from_millis(u64::try_from(wait).unwrap_or(0)),
        keys: keys.len(),
        doubled,
        missing,
    }
    .tell(report, name);
    for (role, mut process) in deployment.processes {
        if !process.is_running() {
            return Err(format!("the {role} ended").into());
        }
    }
    Ok(())
}

/// What came of an outage.
struct Found {
    /// Payments in the window before it, and in the one after it.
    before: usize,
    after: usize,
    /// From its end to the start of that window; nothing if it had begun by then.
    wait: Duration,
    /// Payments in all, those that took effect more than once, and those that did not.
    keys: usize,
    doubled: usize,
    missing: usize,
}

impl Found {
    fn tell(&self, report: &mut Report, name: &str) {
        let title = format!("{name}: payments per ledger before");
        report.note(
            title,
            "1/ledger",
            &[number(self.before) / f64::from(WINDOW)],
        );
        let share = 100.0 * number(self.after) / number(self.before);
        let title = format!("{name}: as many after");
        report.judge(title, "%", &[share], Goal::AtLeast(98.0));
        let title = format!("{name}: from its end until then");
        report.note(title, "s", &[self.wait.as_secs_f64()]);
        let title = format!("{name}: payments accepted");
        report.note(title, "payments", &[number(self.keys)]);
        for (what, count) in [("doubled", self.doubled), ("missing", self.missing)] {
            let title = format!("{name}: {what}");
            report.judge(title, "payments", &[number(count)], Goal::AtMost(0.0));
        }
    }
}
