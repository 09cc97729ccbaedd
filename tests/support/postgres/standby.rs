//! A replica that follows a server asynchronously.

use std::{fs, process::Output};

use super::{Child, Postgres, Signal, child, cluster, port, run};

/// The replica's data directory, beside that of the server it follows.
const FOLLOWS: &str = "standby";

/// A replica that runs.
pub struct Standby {
    child: Child,
    port: u16,
}

impl Standby {
    /// The URL of the database that the server has at that URL.
    pub fn url(&self, of_primary: &str, primary: &Postgres) -> String {
        of_primary.replace(&primary.port().to_string(), &self.port.to_string())
    }

    /// Ends it in good order: it has received what it has received, and nothing comes after that.
    pub fn stop(mut self) {
        self.child.signal(Signal::INT);
        self.child.expect_exit();
    }
}

impl Postgres {
    /// Starts a replica. It follows until it is stopped.
    pub fn follow(&self) -> Standby {
        let target = self.scratch.path().join(FOLLOWS);
        let mut backup = child::command(self.install.program("pg_basebackup"), self.install.user());
        backup
            .args(["--host", "127.0.0.1", "--username", "postgres"])
            .args(["--port", &self.port.to_string()])
            .args(["--checkpoint", "fast", "--write-recovery-conf"])
            .arg("--pgdata")
            .arg(target);
        expect(&backup.output().expect("it is installed beside the server"));
        let (port, child) = port::start_on_free_port(|port| {
            run(&self.install, &self.scratch, FOLLOWS, port, self.fsync)
        });
        Standby { child, port }
    }

    /// Puts the replica in the place of this server, which was killed, and promotes it.
    pub fn fail_over(&mut self) {
        let path = |name| self.scratch.path().join(name);
        fs::remove_dir_all(path(cluster::DATA)).expect("it is not running");
        fs::rename(path(FOLLOWS), path(cluster::DATA)).expect("the tests may write there");
        self.start_again();
        self.psql(&self.url(), "SELECT pg_promote()");
    }
}

fn expect(output: &Output) {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}
