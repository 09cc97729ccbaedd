//! The ledger is set back to what it was before some payments, and whoever takes part in its recovery dies at each step.

use tender::domain::ids::Pair;

use super::{Scene, release};
use crate::client::Payment;
use crate::foreign::{consume, pair_of};
use crate::stage::PATIENCE;
use crate::steps::both;
use crate::waiting::{until, when};

/// Keeps a copy of every table.
const KEEP: &str = "DO $$ DECLARE t text; BEGIN
    CREATE SCHEMA kept;
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', t, t);
    END LOOP;
END $$";
/// Puts the copy in place of the tables, whatever refers to what meanwhile.
const PUT_BACK: &str = "DO $$ DECLARE t text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('DELETE FROM public.%I', t);
        EXECUTE format('INSERT INTO public.%I SELECT * FROM kept.%I', t, t);
    END LOOP;
    DROP SCHEMA kept CASCADE;
END $$";

impl Scene<'_> {
    /// No api may run: it would be the first to notice.
    pub(super) fn set_back(&mut self) {
        self.adopted();
        self.used_by_a_stranger();
        self.forgotten();
        self.nothing_forgotten();
    }

    /// The ledger does not know yet in which database it is.
    fn adopted(&mut self) {
        let api = self.stage.role("api");
        for point in both("memory.adopt") {
            self.push();
            self.sql("UPDATE ledger_memory SET witness = NULL");
            self.die(&["worker"], &[&point]);
        }
        self.settle();
        drop(api);
    }

    /// A free account turns out to have been used by somebody else.
    fn used_by_a_stranger(&mut self) {
        let account = self.use_a_free_account();
        self.kill_each(&["reconciler"], &["memory.set_aside"]);
        self.stage.launch(&release(&account)).run().success();
    }

    /// Of one key the ledger knows that it was claimed, of another one nothing, and both were paid.
    fn forgotten(&mut self) {
        let api = self.stage.role("api");
        let claimed = self.push();
        self.die(&["worker"], &["submit.build.before"]);
        assert!(pair_of(self.deployment, &claimed).sequence > 0, "claimed");
        self.sql(KEEP);
        let forgotten = self.payment();
        let client = self.stage.client();
        self.stage.wait(until("an answer", PATIENCE, async || {
            let answer = client.try_push(forgotten).await;
            when(answer.is_some(), answer)
        }));
        self.settle();
        drop(api);
        let stranger = self.use_a_free_account();
        self.sql(PUT_BACK);

        self.die(
            &["worker"],
            &[
                "memory.stop.before",
                "memory.update.before",
                "memory.update.after",
                "memory.stop.after",
            ],
        );
        self.wait_out();
        self.kill_each(&["reconciler"], &["memory.hold"]);
        self.kill_each(
            &["recover"],
            &[
                "recover.note",
                "recover.apply",
                "recover.set_aside",
                "recover.go_on",
                "recover.reopen",
            ],
        );
        self.status(&claimed, &["confirmed"]);
        self.stage.launch(&release(&stranger)).run().success();
        self.pushed_again(forgotten);
    }

    /// Its row is gone, and the chain has told that it was paid.
    fn pushed_again(&mut self, forgotten: Payment) {
        let api = self.stage.role("api");
        let id = self.push_this(forgotten);
        self.kill_each(&["worker"], &["submit.recovered"]);
        self.status(&id, &["confirmed"]);
        self.settle();
        drop(api);
    }

    /// Staff say that the ledger was set back, and it was not.
    fn nothing_forgotten(&mut self) {
        let stop = ["recover", "--stop", "--reason", "a test"];
        self.stage.launch(&stop).run().success();
        self.wait_out();
        self.kill_each(&["reconciler"], &["memory.reopen"]);
        let state = self.sql("SELECT state FROM ledger_memory");
        if state != "open" {
            self.stage
                .violation(format!("a ledger that forgot nothing is {state}"));
        }
    }

    /// Reconcilers die while they note how long to wait, and then that time goes by.
    fn wait_out(&self) {
        self.die(
            &["reconciler"],
            &[
                "memory.wait.before",
                "memory.move.before",
                "memory.move.after",
                "memory.wait.after",
            ],
        );
        let until = self.sql("SELECT resume_after FROM ledger_memory");
        let until: u64 = until.parse().expect("the end of the wait is noted");
        self.deployment.node.close_ledger_at(until + 1);
    }

    /// A process dies before each of these steps, and another one after it.
    fn kill_each(&self, args: &[&str], steps: &[&str]) {
        for step in steps {
            self.die(args, &both(step).each_ref().map(String::as_str));
        }
    }

    /// Somebody else uses the next sequence of a free account.
    fn use_a_free_account(&self) -> String {
        let free = self.sql(
            "SELECT account, next_sequence FROM channel_accounts WHERE state = 'free' ORDER BY account LIMIT 1",
        );
        let (account, sequence) = free.split_once('|').expect("two columns");
        let pair = Pair {
            account: account.parse().expect("an account"),
            sequence: sequence.parse().expect("a number"),
        };
        consume(self.stage, self.deployment, pair);
        account.to_owned()
    }
}
