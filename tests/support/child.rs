//! A child process that never outlives the test.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, OnceLock,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal};

use super::{PATIENCE, log::Log, log::Stream, scratch, tree};

/// Runs `program` so that the kernel kills it when the test process dies. `user` makes it run as another user.
///
/// `setpriv` sets the parent-death signal and then becomes the program, so process id and outputs are its own.
pub fn command(program: impl AsRef<OsStr>, user: Option<&str>) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(user) = user {
        command.args(["--reuid", user, "--regid", user, "--init-groups"]);
    }
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
        .process_group(0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A running (or ended) process and what it printed.
pub struct Child {
    name: String,
    process: std::process::Child,
    log: Arc<Log>,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts a command made by [`command`].
    pub fn spawn(name: &str, command: Command) -> Self {
        let mut process = spawn_from_lasting_thread(command).unwrap_or_else(|e| {
            panic!("cannot start {name}: {e}; `setpriv` is in the package util-linux")
        });
        let log = Log::create(scratch::log_file(name), 2);
        log.read_from(Stream::Out, process.stdout.take().expect("stdout is piped"));
        log.read_from(Stream::Err, process.stderr.take().expect("stderr is piped"));
        Self {
            name: name.to_owned(),
            process,
            log,
            ended: None,
        }
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self
                .process
                .try_wait()
                .expect("a child can be asked for its state");
        }
        self.ended.is_none()
    }

    /// Sends a signal to the process alone.
    pub fn signal(&mut self, signal: Signal) {
        if self.is_running() {
            tree::send(self.pid(), signal);
        }
    }

    /// Stops the process and its children where they stand: they keep their sockets and answer nobody.
    pub fn pause(&mut self) {
        if self.is_running() {
            tree::signal(self.pid(), Signal::STOP);
        }
    }

    /// Undoes [`Child::pause`].
    pub fn resume(&mut self) {
        if self.is_running() {
            tree::signal(self.pid(), Signal::CONT);
        }
    }

    /// Kills the process and its children with SIGKILL and waits until they are gone.
    pub fn kill(&mut self) {
        if self.is_running() {
            tree::kill(self.pid(), PATIENCE);
            self.ended = Some(
                self.process
                    .wait()
                    .expect("a killed child can be waited for"),
            );
        }
    }

    /// Its exit status, if it ends within `patience`.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.is_running()
            && let Some(watch) = tree::watch(self.pid())
            && tree::wait_gone(&watch, patience)
        {
            self.ended = Some(
                self.process
                    .wait()
                    .expect("an ended child can be waited for"),
            );
        }
        self.ended
    }

    /// Its exit status; the test fails with its log when it does not end in time.
    pub fn expect_exit(&mut self) -> ExitStatus {
        let name = self.name.clone();
        self.wait(PATIENCE)
            .unwrap_or_else(|| panic!("{name} did not end within {PATIENCE:?}"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            eprintln!(
                "--- {} ({}) printed {}",
                self.name,
                self.process.id(),
                self.log.tail()
            );
        } else {
            self.log.discard();
        }
    }
}

type Order = (Command, Sender<io::Result<std::process::Child>>);

/// Spawns from a thread that lives as long as the test process: the parent-death signal is sent when the *thread*
/// that spawned ends, and test runners and async runtimes end threads early.
fn spawn_from_lasting_thread(command: Command) -> io::Result<std::process::Child> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                // The asking test may have panicked meanwhile; the child then ends with this process.
                let _ = answer.send(command.spawn());
            }
        });
        orders
    });
    let (answer, spawned) = channel();
    spawner
        .send((command, answer))
        .expect("the spawning thread lasts");
    spawned.recv().expect("the spawning thread answers")
}
