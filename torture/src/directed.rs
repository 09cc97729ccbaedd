//! Points that everyday work does not reach: a situation is made for each.

mod set_back;

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tender::domain::ids::AccountId;
use tender_devnet::faults::FaultPlan;
use tender_devnet::rpc::Method::GetLedgerEntries;

use crate::client::Payment;
use crate::deployment::Deployment;
use crate::foreign::{consume, ledgers_close, pair_of};
use crate::stage::{End, PATIENCE, Stage, ready};
use crate::steps::both;
use crate::support::process::Process;
use crate::waiting::{until, when};
use crate::weather;

/// Numbers of these payments; those of the storm's callers come after them.
pub const NUMBERS: u32 = 1_000;
/// How long a process is given to do something unobserved.
const MOMENT: Duration = Duration::from_millis(200);
/// Times a race is run again.
const RACES: usize = 8;

/// Everything, one situation after the other. Returns what still waits for its moment.
pub fn run(stage: &Stage, deployment: &mut Deployment) -> Late {
    let mut scene = Scene {
        stage,
        deployment,
        next: 0,
    };
    let api = stage.role("api");
    scene.staff();
    scene.no_channel();
    scene.no_key();
    scene.taken_but_not_started();
    scene.idle_pair_used();
    scene.pair_used();
    scene.dead();
    scene.fees();
    scene.refused_commits();
    drop(api);
    scene.set_back();
    let api = stage.role("api");
    let late = scene.out_of_reach();
    drop(api);
    stage.say("every situation was made");
    late
}

/// Processes that wait for the half-minute in which old rows are looked up again, and die then.
pub type Late = Vec<(Process, String)>;

/// Waits for them.
pub fn finish(stage: &Stage, late: Late) {
    for (mut process, point) in late {
        let end = stage.live(&mut process, PATIENCE);
        if end != End::Failpoint(point.clone()) {
            stage.violation(format!("{point} was not reached, but {end:?}"));
        }
    }
}

/// The command that takes an account back into the pool.
fn release(account: &str) -> [&str; 6] {
    [
        "channels",
        "verify",
        "--release",
        account,
        "--reason",
        "a test",
    ]
}

struct Scene<'a> {
    stage: &'a Stage,
    deployment: &'a mut Deployment,
    next: u32,
}

impl Scene<'_> {
    fn payment(&mut self) -> Payment {
        self.next += 1;
        assert!(self.next < NUMBERS);
        self.deployment.payment(self.next)
    }

    /// Pushes a payment; its row's identity.
    fn push(&mut self) -> String {
        let payment = self.payment();
        self.push_this(payment)
    }

    fn push_this(&self, payment: Payment) -> String {
        let client = self.stage.client();
        self.stage.wait(self.stage.accepted.push(&client, payment))
    }

    fn sql(&self, sql: &str) -> String {
        self.deployment
            .postgres
            .psql(&self.deployment.database, sql)
    }

    /// Waits until a row has one of these statuses.
    fn status(&self, id: &str, wanted: &[&str]) {
        let sql = format!("SELECT status FROM submission_ledger WHERE id = '{id}'");
        self.stage.wait(until("a status", PATIENCE, async || {
            let status = self.sql(&sql);
            when(wanted.contains(&status.as_str()), status)
        }));
    }

    fn die(&self, args: &[&str], points: &[&str]) {
        for point in points {
            self.stage.die(args, point, |_| {});
        }
    }

    /// Everything that was pushed so far ends.
    fn settle(&self) {
        self.deployment.node.set_faults(FaultPlan::none());
        let _roles = (self.stage.role("worker"), self.stage.role("reconciler"));
        self.stage.wait(until("rows to end", PATIENCE, async || {
            let counts = self.deployment.counts().await.unwrap_or_default();
            let open = ["pending", "building", "submitted", "confirming"];
            when(
                open.iter().all(|status| !counts.contains_key(status)),
                counts,
            )
        }));
    }

    fn staff(&mut self) {
        let id = self.push();
        let cancel = ["admin", "cancel", &id, "--reason", "a test"];
        self.die(&cancel, &["cancel.apply.before", "cancel.apply.after"]);
        self.status(&id, &["cancelled"]);
        let to = AccountId(rand::random());
        let nobody = Payment {
            to,
            ..self.payment()
        };
        let id = self.push_this(nobody);
        self.settle();
        self.status(&id, &["failed"]);
        let requeue = ["admin", "requeue", &id, "--reason", "a test"];
        self.die(&requeue, &["requeue.apply.before", "requeue.apply.after"]);
        self.status(&id, &["pending"]);
        self.settle();
    }

    /// Jobs are dispatched, and then all channels are gone.
    fn no_channel(&mut self) {
        let hide = "UPDATE channel_accounts SET state = 'quarantined', reason = 'a test' WHERE state = 'free'";
        let show =
            "UPDATE channel_accounts SET state = 'free', reason = NULL WHERE reason = 'a test'";
        for point in both("claim.no_channel") {
            self.push();
            self.jobs_wait();
            self.sql(hide);
            self.die(&["worker"], &[&point]);
            self.sql(show);
        }
        self.settle();
    }

    /// Waits until a job is in Redis.
    fn jobs_wait(&self) {
        self.stage.wait(until("a job", PATIENCE, async || {
            let jobs: u64 = self
                .deployment
                .redis
                .ask(redis::cmd("LLEN").arg("tender:normal:waiting"));
            when(jobs > 0, jobs)
        }));
    }

    fn reads_of_accounts(&self) -> u64 {
        let calls = self.deployment.node.calls();
        calls
            .get(GetLedgerEntries.name())
            .copied()
            .unwrap_or_default()
    }

    /// A worker that cannot sign for the channel it leased.
    fn no_key(&mut self) {
        for point in both("submit.give_back") {
            self.push();
            let seed = hex::encode(rand::random::<[u8; 32]>());
            let stranger = self
                .stage
                .armed(&["worker"], &point, 0)
                .env("STELLAR_CHANNEL_SEED", seed);
            self.stage.die_with(stranger, &point, |_| {});
        }
        self.settle();
    }

    /// Redis hands a job out while the worker is told to stop.
    fn taken_but_not_started(&mut self) {
        for point in both("queue.give_back") {
            for race in 0.. {
                self.push();
                self.jobs_wait();
                // Before it starts it asks Redis, and then the network, which is slow to answer.
                let asked = self.reads_of_accounts();
                self.deployment.node.set_faults(weather::slow_accounts());
                let mut process = self.stage.armed(&["worker"], &point, 0).start();
                self.stage
                    .wait(until("a look at the pool", PATIENCE, async || {
                        let reads = self.reads_of_accounts();
                        when(reads > asked, reads)
                    }));
                self.deployment.redis.pause();
                process.wait_for_line("worker starts");
                self.deployment.node.set_faults(FaultPlan::none());
                process.log().wait_for_news(MOMENT);
                process.wait(MOMENT);
                let pid = Pid::from_raw(process.id()).expect("a process id");
                kill_process(pid, Signal::TERM).expect("the process runs");
                process.wait_for_line("shutting down");
                self.deployment.redis.resume();
                let end = self.stage.live(&mut process, PATIENCE);
                if end == End::Failpoint(point.clone()) {
                    break;
                }
                if race == RACES {
                    self.stage.violation(format!("{point} was not reached"));
                    break;
                }
            }
        }
        self.settle();
    }

    /// A row that was claimed, and whose pair somebody else uses before an envelope of it was recorded.
    fn idle_pair_used(&mut self) {
        let id = self.push();
        self.die(&["worker"], &["submit.build.before"]);
        let pair = pair_of(self.deployment, &id);
        self.die(
            &["reconciler"],
            &both("reconcile.lapse").each_ref().map(String::as_str),
        );
        consume(self.stage, self.deployment, pair);
        self.die(
            &["reconciler"],
            &[
                "reconcile.idle_consumed.before",
                "pair.quarantine.before",
                "pair.quarantine.after",
                "reconcile.idle_consumed.after",
            ],
        );
        let account = pair.account.to_string();
        self.die(
            &release(&account),
            &[
                "channels.release.before",
                "channels.change.before",
                "channels.change.after",
                "channels.release.after",
            ],
        );
        self.settle();
    }

    /// A recorded envelope never arrives, and somebody else uses its pair.
    fn pair_used(&mut self) {
        let id = self.recorded_but_lost();
        let pair = pair_of(self.deployment, &id);
        consume(self.stage, self.deployment, pair);
        self.die(
            &["reconciler"],
            &["reconcile.set_aside.before", "reconcile.set_aside.after"],
        );
        let account = pair.account.to_string();
        self.stage.launch(&release(&account)).run().success();
        self.settle();
    }

    fn recorded_but_lost(&mut self) -> String {
        self.deployment.node.set_faults(weather::nothing_arrives());
        let id = self.push();
        let worker = self.stage.role("worker");
        self.status(&id, &["submitted"]);
        drop(worker);
        id
    }

    /// A recorded envelope never arrives, and its time goes by.
    fn dead(&mut self) {
        self.recorded_but_lost();
        let latest = *self.deployment.node.latest().borrow();
        self.deployment
            .node
            .close_ledger_at(latest.close_time + 200);
        self.die(
            &["reconciler"],
            &["reconcile.bury.before", "reconcile.bury.after"],
        );
        self.settle();
    }

    fn fees(&mut self) {
        self.deployment
            .node
            .set_faults(weather::fees_rise(1_000_000));
        ledgers_close(self.stage, self.deployment, 3);
        let worker = self.stage.role("worker");
        for point in both("reconcile.wait_fees") {
            self.push();
            self.die(&["reconciler"], &[&point]);
        }
        self.deployment.node.set_faults(weather::fees_rise(5_000));
        ledgers_close(self.stage, self.deployment, 3);
        for point in ["bump.build", "bump.record", "bump.send"]
            .iter()
            .flat_map(|name| both(name))
        {
            self.push();
            self.die(&["reconciler"], &[&point]);
        }
        drop(worker);
        self.settle();
    }

    /// The database refuses to settle rows.
    fn refused_commits(&mut self) {
        self.sql(
            "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$ LANGUAGE plpgsql",
        );
        self.sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON submission_log FOR EACH ROW WHEN (NEW.event = 'succeeded') EXECUTE FUNCTION refuse()",
        );
        let worker = self.stage.role("worker");
        for point in ["reconcile.landed_one", "store.rollback"]
            .iter()
            .flat_map(|name| both(name))
        {
            let payment = self.payment();
            self.stage.die(&["reconciler"], &point, |process| {
                process.wait_for_line(ready("reconciler"));
                process.log().wait_for_news(MOMENT);
                self.push_this(payment);
            });
        }
        drop(worker);
        self.sql("DROP TRIGGER refuse ON submission_log");
        self.settle();
    }

    /// Payments land while no reconciler looks, and no node remembers; later one does.
    fn out_of_reach(&mut self) -> Late {
        let ids = [self.push(), self.push()];
        let worker = self.stage.role("worker");
        for id in &ids {
            self.status(id, &["confirming"]);
        }
        drop(worker);
        ledgers_close(self.stage, self.deployment, 6);
        self.deployment.node.set_faults(weather::short_history());
        self.die(
            &["reconciler"],
            &["reconcile.give_up.before", "reconcile.give_up.after"],
        );
        let reconciler = self.stage.role("reconciler");
        self.stage
            .wait(until("rows out of reach", PATIENCE, async || {
                let sql = "SELECT count(*) FROM submission_ledger WHERE verdict = 'INDETERMINATE'";
                let count = self.sql(sql);
                when(count == "2", count)
            }));
        drop(reconciler);
        self.deployment.node.set_faults(FaultPlan::none());
        let points = both("reconcile.late").into_iter();
        points
            .map(|point| (self.stage.armed(&["reconciler"], &point, 0).start(), point))
            .collect()
    }
}
