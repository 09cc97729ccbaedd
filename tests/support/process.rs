//! The service's own processes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{
    PATIENCE,
    child::{self, Child},
    log::{Log, Stream},
    scratch::Scratch,
};

/// How often a URL is asked again while the process says nothing.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// Longest answer to a probe that is read, in bytes.
const MAX_ANSWER: u64 = 1024 * 1024;

/// A command line of the service, about to be run. Nothing is inherited from the environment of the tests.
pub struct Launch {
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// `tender` with these arguments.
pub fn tender(args: &[&str]) -> Launch {
    Launch {
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
    }
}

impl Launch {
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    pub fn envs<'a>(mut self, pairs: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        self.env.extend(
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        self
    }

    /// Starts a process that runs until it is told to end.
    pub fn start(self) -> Process {
        // An empty directory: no `.env` of a developer's is read, and files made by default stay here.
        let scratch = Scratch::new("tender", None);
        let name = self
            .args
            .first()
            .map_or("tender", String::as_str)
            .to_owned();
        let mut command = program();
        command
            .args(&self.args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(self.env);
        command
            .env("RUST_BACKTRACE", "1")
            .current_dir(scratch.path());
        Process {
            child: Child::spawn(&name, command),
            scratch,
        }
    }

    /// Runs a command to its end.
    pub fn run(self) -> Finished {
        let mut process = self.start();
        let status = process.child.expect_exit();
        let log = process.child.log();
        log.wait_closed(PATIENCE);
        Finished {
            status,
            stdout: log.lines(Stream::Out),
            stderr: log.lines(Stream::Err),
        }
    }
}

/// The program. Cargo tells integration tests where it is; the benches are it themselves, when called by its name.
fn program() -> Command {
    if let Some(path) = option_env!("CARGO_BIN_EXE_tender") {
        return child::command(path, None);
    }
    let itself = std::env::current_exe().expect("a running program has a path");
    let mut command = child::command(itself, None);
    command.arg("tender");
    command
}

/// A command that has ended, and what it printed, line by line.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
}

impl Finished {
    /// The same, once it is known to have succeeded.
    pub fn success(self) -> Self {
        assert!(self.status.success(), "the command failed: {self:#?}");
        self
    }
}

/// A running process of the service. It is killed when this value is dropped, and its log shown if the test failed.
pub struct Process {
    child: Child,
    scratch: Scratch,
}

impl Process {
    pub fn log(&self) -> &Log {
        self.child.log()
    }

    /// Its process id, for `/proc`.
    pub fn id(&self) -> i32 {
        self.child.pid().as_raw_nonzero().get()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.is_running()
    }

    /// Waits for a line that contains `text`, and returns it.
    pub fn wait_for_line(&self, text: &str) -> String {
        let line = self.log().wait_for(|line| line.contains(text), PATIENCE);
        line.unwrap_or_else(|| panic!("the process never said {text:?}"))
    }

    /// Waits until a loopback URL answers 200.
    pub fn wait_ready(&mut self, url: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut last = None;
        while last != Some(200) {
            assert!(
                self.is_running(),
                "the process ended before {url} answered 200"
            );
            assert!(
                Instant::now() < deadline,
                "{url} did not answer 200 in time, at last {last:?}"
            );
            self.log().wait_for_news(PROBE_INTERVAL);
            last = get(url).map(|(status, _)| status);
        }
    }

    /// Asks it to end with SIGTERM, and returns its exit status.
    pub fn terminate(&mut self) -> ExitStatus {
        self.child.signal(Signal::TERM);
        self.child.expect_exit()
    }

    /// Its exit status, if it ends within `patience`.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.child.wait(patience)
    }

    /// Ends it with SIGKILL, in the middle of whatever it does.
    pub fn kill9(&mut self) {
        self.child.kill();
    }

    pub fn pause(&mut self) {
        self.child.pause();
    }

    pub fn resume(&mut self) {
        self.child.resume();
    }
}

/// Status and body of a plain GET on a loopback URL such as `http://127.0.0.1:8080/readyz`, or `None` when nobody
/// answers. For probes; tests of the API use a real client.
pub fn get(url: &str) -> Option<(u16, String)> {
    let rest = url.strip_prefix("http://").expect("a plain http URL");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address: SocketAddr = host.parse().expect("an address and a port");
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout above zero");
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    let mut answer = String::new();
    BufReader::new(stream)
        .take(MAX_ANSWER)
        .read_to_string(&mut answer)
        .ok()?;
    let status = answer
        .as_bytes()
        .lines()
        .next()?
        .ok()?
        .split(' ')
        .nth(1)?
        .parse()
        .ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}
