//! A throwaway PostgreSQL.
//!
//! The first one on a machine makes a template of an empty cluster; each server starts from a copy of it, which takes
//! a fraction of the time. `synchronous_commit` is on as the service demands. `fsync` is off unless asked for: it
//! matters only when the machine itself loses power, and costs most of a test's time.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::process::Signal;

use super::{
    PATIENCE,
    child::{self, Child},
    port,
    scratch::Scratch,
};

mod cluster;
#[allow(dead_code, reason = "for tests of a failover")]
mod standby;
use cluster::Install;
#[allow(unused_imports, reason = "for tests of a failover")]
pub use standby::Standby;

/// A server with a cluster of its own. Anyone on the loopback interface may log in as `postgres`.
pub struct Postgres {
    child: Child,
    port: u16,
    fsync: bool,
    install: Install,
    databases: AtomicUsize,
    scratch: Scratch,
}

impl Postgres {
    pub fn start() -> Self {
        Self::launch(false)
    }

    /// A server whose commits reach the disk, for tests and measurements of durability.
    pub fn durable() -> Self {
        Self::launch(true)
    }

    /// The server of this test process, started by the first test that asks and ended after the last.
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        let mut shared = SHARED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start());
            *shared = Arc::downgrade(&server);
            server
        })
    }

    fn launch(fsync: bool) -> Self {
        let install = Install::find();
        let scratch = install.new_cluster();
        let (port, child) =
            port::start_on_free_port(|port| run(&install, &scratch, cluster::DATA, port, fsync));
        Self {
            child,
            port,
            fsync,
            install,
            databases: AtomicUsize::new(0),
            scratch,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// The URL of the database `postgres`.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of a database by name.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes an empty database and returns its URL.
    pub fn create_database(&self) -> String {
        let serial = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{serial}");
        self.psql(&self.url(), &format!("CREATE DATABASE {name}"));
        self.url_of(&name)
    }

    /// Runs statements, and returns the rows with `|` between columns. For looking at a database from outside the
    /// code under test.
    pub fn psql(&self, url: &str, sql: &str) -> String {
        let output = Command::new(self.install.program("psql"))
            .args([
                "--no-psqlrc",
                "--quiet",
                "--tuples-only",
                "--no-align",
                "-v",
                "ON_ERROR_STOP=1",
            ])
            .args(["--command", sql, url])
            .stdin(Stdio::null())
            .output()
            .expect("psql is installed beside the server");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql -c {sql:?}: {complaint}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// Runs a script, statement by statement, as a file handed to psql.
    pub fn psql_script(&self, url: &str, script: &str) {
        let file = self.scratch.path().join("script.sql");
        std::fs::write(&file, script).expect("the tests may write there");
        let output = Command::new(self.install.program("psql"))
            .args(["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1", "--file"])
            .arg(&file)
            .arg(url)
            .stdin(Stdio::null())
            .output()
            .expect("psql is installed beside the server");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql -f: {complaint}");
    }

    /// Makes a database of a dump of another one, as a logical backup is restored, and returns its URL.
    #[allow(dead_code, reason = "for tests of restored databases")]
    pub fn restored(&self, url: &str) -> String {
        let dump = self.scratch.path().join("dump.sql");
        let restored = self.create_database();
        let into = ["--no-psqlrc", "--quiet", "-v", "ON_ERROR_STOP=1"];
        let mut programs = [
            Command::new(self.install.program("pg_dump")),
            Command::new(self.install.program("psql")),
        ];
        programs[0].arg("--file").arg(&dump).arg(url);
        programs[1]
            .args(into)
            .arg("--file")
            .arg(&dump)
            .arg(&restored);
        for program in &mut programs {
            let output = program.output().expect("it is installed beside the server");
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program:?}: {complaint}");
        }
        restored
    }

    /// Keeps a copy of the files of a server that is not running.
    #[allow(dead_code, reason = "for tests of restored databases")]
    pub fn back_up(&self) {
        self.copy(cluster::DATA, "backup");
    }

    /// Puts that copy in the place of its files.
    #[allow(dead_code, reason = "for tests of restored databases")]
    pub fn put_back(&self) {
        std::fs::remove_dir_all(self.scratch.path().join(cluster::DATA))
            .expect("it is not running");
        self.copy("backup", cluster::DATA);
    }

    fn copy(&self, from: &str, to: &str) {
        let path = |name| self.scratch.path().join(name);
        let copied = Command::new("cp")
            .arg("-a")
            .arg(path(from))
            .arg(path(to))
            .status();
        assert!(copied.expect("a copy").success(), "{from} to {to}");
    }

    /// Starts it again as a backup that is restored from an archive: it goes on as another timeline.
    #[allow(dead_code, reason = "for tests of restored databases")]
    pub fn start_on_another_timeline(&mut self) {
        let data = self.scratch.path().join(cluster::DATA);
        std::fs::write(data.join("recovery.signal"), "").expect("the tests may write there");
        let settings = data.join("postgresql.auto.conf");
        let mut text = std::fs::read_to_string(&settings).expect("it is there");
        text.push_str("restore_command = 'false'\n");
        std::fs::write(settings, text).expect("the tests may write there");
        self.start_again();
        // Until the archive is read it takes nothing but reads.
        let log = self.child.log();
        let ready = |line: &str| line.contains("ready to accept connections");
        assert!(log.wait_for(ready, PATIENCE).is_some(), "{}", log.tail());
    }

    /// Ends it in good order: clients are cut off, nothing is lost.
    pub fn stop(&mut self) {
        self.child.signal(Signal::INT);
        self.child.expect_exit();
    }

    /// Kills every process of the server at once.
    pub fn kill9(&mut self) {
        self.child.kill();
    }

    /// Starts it again on the same port with the same data, after [`Postgres::stop`] or [`Postgres::kill9`].
    pub fn start_again(&mut self) {
        self.child = run(
            &self.install,
            &self.scratch,
            cluster::DATA,
            self.port,
            self.fsync,
        )
        .unwrap_or_else(|log| panic!("PostgreSQL did not start again: {log}"));
    }

    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Keeps its connections open and answers nobody until [`Postgres::resume`].
    pub fn pause(&mut self) {
        self.child.pause();
    }

    pub fn resume(&mut self) {
        self.child.resume();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An immediate shutdown returns the shared memory that a kill would leave behind.
        self.child.resume();
        self.child.signal(Signal::QUIT);
        let _ = self.child.wait(PATIENCE);
    }
}

fn run(
    install: &Install,
    scratch: &Scratch,
    data: &str,
    port: u16,
    fsync: bool,
) -> Result<Child, String> {
    let mut command = child::command(install.program("postgres"), install.user());
    command
        .arg("-D")
        .arg(scratch.path().join(data))
        .args(["-p", &port.to_string()]);
    let on_off = if fsync { "on" } else { "off" };
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "synchronous_commit=on",
        &format!("fsync={on_off}"),
        &format!("full_page_writes={on_off}"),
        "max_connections=300",
        "shared_buffers=32MB",
        "jit=off",
        // In files of the cluster, so that a killed server leaves nothing in the machine's shared memory.
        "dynamic_shared_memory_type=mmap",
    ] {
        command.args(["-c", setting]);
    }
    let child = Child::spawn("postgres", command);
    match child.log().wait_for(
        // A replica is ready for "read-only connections".
        |line| line.contains("ready to accept"),
        PATIENCE,
    ) {
        Some(_) => Ok(child),
        None => Err(child.log().tail()),
    }
}
