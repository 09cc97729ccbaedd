//! A throwaway Redis.

use std::{path::Path, time::Duration};

use ::redis::{Client, Cmd, Connection, FromRedisValue};

use super::{PATIENCE, child, child::Child, port, scratch::Scratch};

/// How long one command of a test may take.
const COMMAND_PATIENCE: Duration = Duration::from_secs(10);

/// A Redis that keeps nothing on disk: a restart loses everything, as a failover to an empty replica does.
pub struct Redis {
    child: Child,
    port: u16,
    password: Option<String>,
    scratch: Scratch,
}

impl Redis {
    pub fn start() -> Self {
        Self::launch(None)
    }

    /// Refuses clients that do not give the password.
    pub fn with_password(password: &str) -> Self {
        Self::launch(Some(password.to_owned()))
    }

    fn launch(password: Option<String>) -> Self {
        let scratch = Scratch::new("redis", None);
        let (port, child) =
            port::start_on_free_port(|port| run(port, password.as_deref(), &scratch));
        let redis = Self {
            child,
            port,
            password,
            scratch,
        };
        assert_eq!(redis.ask::<String>(&::redis::cmd("PING")), "PONG");
        redis
    }

    /// `redis://127.0.0.1:port/`, with the password when there is one.
    pub fn url(&self) -> String {
        match &self.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}/", self.port),
            None => format!("redis://127.0.0.1:{}/", self.port),
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Runs one command on a connection of its own.
    pub fn ask<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command
            .query(&mut self.connection())
            .unwrap_or_else(|e| panic!("Redis refuses the test's command: {e}"))
    }

    fn connection(&self) -> Connection {
        let client = Client::open(self.url()).expect("the URL is well formed");
        let connection = client.get_connection_with_timeout(COMMAND_PATIENCE);
        let connection =
            connection.unwrap_or_else(|e| panic!("cannot connect to the test's Redis: {e}"));
        connection
            .set_read_timeout(Some(COMMAND_PATIENCE))
            .expect("a timeout above zero");
        connection
    }

    /// Forgets everything.
    pub fn flushall(&self) {
        self.ask::<()>(&::redis::cmd("FLUSHALL"));
    }

    /// How many keys there are.
    pub fn key_count(&self) -> u64 {
        self.ask(&::redis::cmd("DBSIZE"))
    }

    /// The keys that match a glob pattern, sorted.
    pub fn keys(&self, pattern: &str) -> Vec<String> {
        let mut keys: Vec<String> = self.ask(::redis::cmd("KEYS").arg(pattern));
        keys.sort();
        keys
    }

    /// Bytes that Redis has allocated.
    pub fn memory(&self) -> u64 {
        let info: String = self.ask(::redis::cmd("INFO").arg("memory"));
        let used = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        used.and_then(|used| used.trim().parse().ok())
            .expect("INFO says used_memory")
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        self.child.signal(rustix::process::Signal::TERM);
        self.child.expect_exit();
    }

    /// Ends it with SIGKILL.
    pub fn kill9(&mut self) {
        self.child.kill();
    }

    /// Starts it again on the same port, empty, after [`Redis::stop`] or [`Redis::kill9`].
    pub fn start_again(&mut self) {
        self.child = run(self.port, self.password.as_deref(), &self.scratch)
            .unwrap_or_else(|log| panic!("Redis did not start again: {log}"));
    }

    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Keeps its connections open and answers nobody until [`Redis::resume`].
    pub fn pause(&mut self) {
        self.child.pause();
    }

    pub fn resume(&mut self) {
        self.child.resume();
    }
}

/// Starts a server on a port; its log when it ends before it is ready.
pub fn run(port: u16, password: Option<&str>, scratch: &Scratch) -> Result<Child, String> {
    let mut command = child::command(binary(), None);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    command.args([
        "--save",
        "",
        "--appendonly",
        "no",
        "--maxmemory-policy",
        "noeviction",
    ]);
    command.arg("--dir").arg(scratch.path());
    if let Some(password) = password {
        command.args(["--requirepass", password]);
    }
    let child = Child::spawn("redis", command);
    match child.log().wait_for(
        |line| line.contains("Ready to accept connections"),
        PATIENCE,
    ) {
        Some(_) => Ok(child),
        None => Err(child.log().tail()),
    }
}

fn binary() -> &'static str {
    ["/usr/bin/redis-server", "/usr/local/bin/redis-server"]
        .into_iter()
        .find(|path| Path::new(path).exists())
        .expect("redis-server is not installed: it is in the package redis-server, and scripts/test installs it")
}
