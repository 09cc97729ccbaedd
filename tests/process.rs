//! How tests run the program: with nothing inherited, every line kept, and an end in any case.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod support;

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use support::{
    child::{Child, command},
    process::{get, tender},
};

#[test]
fn a_command_ends_with_its_output_and_status() {
    let version = tender(&["--version"]).run().success();
    assert_eq!(
        version.stdout,
        [concat!("tender ", env!("CARGO_PKG_VERSION"))]
    );
    assert_eq!(version.stderr, [""; 0]);
    let unknown = tender(&["no-such-command"]).run();
    assert!(!unknown.status.success());
    assert!(
        unknown
            .stderr
            .iter()
            .any(|line| line.contains("no-such-command")),
        "{unknown:?}"
    );
}

#[test]
fn a_command_sees_only_the_settings_it_is_given() {
    let alone = tender(&["config", "check", "--role", "store"]).run();
    assert!(
        !alone.status.success(),
        "it found a database somewhere: {alone:?}"
    );
    let told = tender(&["config", "check", "--role", "store"])
        .env("DATABASE_URL", "sqlite://tender.sqlite")
        .run();
    assert!(told.status.success(), "{told:?}");
}

#[test]
fn a_probe_reads_status_and_body_and_knows_when_nobody_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/readyz", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = BufReader::new(client.try_clone().unwrap()).lines();
        let first = request.next().unwrap().unwrap();
        while request.next().is_some_and(|line| !line.unwrap().is_empty()) {}
        write!(client, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nwait").unwrap();
        first
    });
    assert_eq!(get(&url), Some((503, "wait".to_owned())));
    assert_eq!(server.join().unwrap(), "GET /readyz HTTP/1.1");
    assert_eq!(get(&url), None, "the listener is gone");
}

#[test]
fn a_process_and_its_children_die_together() {
    let mut shell = command("/bin/sh", None);
    shell.args(["-c", "setsid cat /dev/zero >/dev/null & echo $!; wait"]);
    let mut shell = Child::spawn("shell", shell);
    let child = shell
        .log()
        .wait_for(|line| !line.is_empty(), support::PATIENCE)
        .unwrap();
    let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
    let watch = support::tree::watch(child).unwrap();
    assert!(shell.is_running());
    shell.kill();
    assert!(!shell.is_running());
    assert!(
        support::tree::wait_gone(&watch, support::PATIENCE),
        "it left the group, not the tree"
    );
}
