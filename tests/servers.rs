//! The throwaway servers themselves: they start, forget, restart, and never outlive a test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod support;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rustix::process::Pid;
use support::{child, log::Stream, port, postgres::Postgres, redis::Redis, scratch::Scratch, tree};

/// What a PostgreSQL client sends first when it would like TLS: a length of 8 and a magic number.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// An argument that makes [`helper_that_is_killed`] do something. The test runner takes it for a filter.
const ASKED_TO_HELP: &str = "asked-to-help";

fn set(redis: &Redis, key: &str) {
    redis.ask::<()>(redis::cmd("SET").arg(key).arg("value"));
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[test]
fn redis_starts_forgets_and_never_evicts() {
    let redis = Redis::start();
    set(&redis, "tx:1");
    set(&redis, "other");
    assert_eq!(redis.keys("tx:*"), ["tx:1"]);
    assert_eq!(redis.key_count(), 2);
    assert!(redis.memory() > 0);
    let (_, policy): (String, String) =
        redis.ask(redis::cmd("CONFIG").arg("GET").arg("maxmemory-policy"));
    assert_eq!(policy, "noeviction");
    redis.flushall();
    assert_eq!(redis.key_count(), 0);
}

#[test]
fn redis_restarts_empty_on_the_same_url() {
    let mut redis = Redis::start();
    let url = redis.url();
    for restart in [Redis::restart, |redis: &mut Redis| {
        redis.kill9();
        redis.start_again();
    }] {
        set(&redis, "key");
        restart(&mut redis);
        assert_eq!(redis.url(), url);
        assert_eq!(redis.key_count(), 0);
    }
}

#[test]
fn redis_can_demand_a_password() {
    let redis = Redis::with_password("open-sesame");
    assert_eq!(redis.key_count(), 0);
    let stranger = redis::Client::open(format!("redis://127.0.0.1:{}/", redis.port())).unwrap();
    let answer = redis::cmd("DBSIZE").query::<u64>(&mut stranger.get_connection().unwrap());
    assert!(answer.unwrap_err().to_string().contains("NOAUTH"));
}

#[test]
fn a_paused_redis_keeps_silent_until_it_is_resumed() {
    let mut redis = Redis::start();
    let mut client = redis::Client::open(redis.url())
        .unwrap()
        .get_connection()
        .unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    redis.pause();
    assert!(redis::cmd("PING").query::<String>(&mut client).is_err());
    redis.resume();
    assert_eq!(redis.key_count(), 0);
}

#[test]
fn postgres_starts_with_durable_commits_and_empty_databases() {
    let postgres = Postgres::start();
    let [first, second] = [postgres.create_database(), postgres.create_database()];
    assert_ne!(first, second);
    postgres.psql(
        &first,
        "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL)",
    );
    assert_eq!(
        postgres.psql(&first, "SELECT * FROM t ORDER BY a"),
        "1|x\n2|"
    );
    assert_eq!(
        postgres.psql(
            &second,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ),
        "0"
    );
    assert_eq!(postgres.psql(&first, "SHOW synchronous_commit"), "on");
    assert_eq!(postgres.psql(&first, "SHOW fsync"), "off");
    let durable = Postgres::durable();
    assert_eq!(durable.psql(&durable.url(), "SHOW fsync"), "on");
}

#[test]
fn postgres_keeps_what_was_committed_through_restart_and_kill() {
    let mut postgres = Postgres::start();
    let url = postgres.create_database();
    postgres.psql(&url, "CREATE TABLE t (a int)");
    postgres.psql(&url, "INSERT INTO t VALUES (1)");
    postgres.restart();
    postgres.psql(&url, "INSERT INTO t VALUES (2)");
    postgres.kill9();
    assert!(!listens(postgres.port()));
    postgres.start_again();
    assert_eq!(postgres.psql(&url, "SELECT sum(a) FROM t"), "3");
}

#[test]
fn a_paused_postgres_answers_after_it_is_resumed() {
    let mut postgres = Postgres::start();
    postgres.pause();
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, postgres.port())).unwrap();
    client.write_all(&SSL_REQUEST).unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut answer = [0];
    assert!(
        client.read_exact(&mut answer).is_err(),
        "a stopped server says nothing"
    );
    postgres.resume();
    client.set_read_timeout(Some(support::PATIENCE)).unwrap();
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N", "the server has no TLS, and says so now");
}

#[test]
fn the_tests_of_a_process_share_one_server() {
    let one = Postgres::shared();
    let two = Postgres::shared();
    assert!(Arc::ptr_eq(&one, &two));
    let port = one.port();
    drop((one, two));
    assert!(!listens(port), "the last user ends it");
}

#[test]
fn servers_leave_neither_processes_nor_files() {
    let (postgres, redis) = support::servers();
    let ports = [postgres.port(), redis.port()];
    let dirs = [
        postgres.directory().to_owned(),
        redis.directory().to_owned(),
    ];
    assert!(ports.into_iter().all(listens));
    drop((postgres, redis));
    assert!(!ports.into_iter().any(listens));
    assert!(!dirs.iter().any(|dir| dir.exists()));
}

#[test]
fn a_taken_port_is_left_for_another() {
    let taken = Redis::start();
    let scratch = Scratch::new("redis", None);
    let mut tries = Vec::new();
    let (port, _child) = port::start_on_free_port(|free| {
        let port = if tries.is_empty() { taken.port() } else { free };
        tries.push(port);
        support::redis::run(port, None, &scratch)
    });
    assert_eq!(tries, [taken.port(), port]);
    assert!(listens(port));
}

/// The other side of [`servers_end_with_a_killed_test_process`]: starts servers, says where, and waits to be killed.
/// Does nothing in a normal run.
#[test]
fn helper_that_is_killed() {
    if !std::env::args().any(|arg| arg == ASKED_TO_HELP) {
        return;
    }
    let (postgres, redis) = support::servers();
    println!(
        "ports {} {} dir {}",
        postgres.port(),
        redis.port(),
        postgres.directory().display()
    );
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn servers_end_with_a_killed_test_process() {
    let mut helper = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "helper_that_is_killed",
            "--nocapture",
            ASKED_TO_HELP,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(helper.stdout.take().unwrap()).lines();
    let line = lines
        .map(Result::unwrap)
        .find(|line| line.starts_with("ports "))
        .expect("the helper says where");
    let words: Vec<&str> = line.split(' ').collect();
    let watches: Vec<_> = tree::of(Pid::from_child(&helper))
        .into_iter()
        .filter_map(tree::watch)
        .collect();
    assert!(watches.len() > 3, "the helper and its servers' processes");
    helper.kill().unwrap();
    helper.wait().unwrap();
    for watch in &watches {
        assert!(
            tree::wait_gone(watch, support::PATIENCE),
            "a server outlived its test"
        );
    }
    for port in &words[1..3] {
        assert!(!listens(port.parse().unwrap()));
    }
    let left_behind = Path::new(words[4]);
    assert!(left_behind.exists(), "nobody was left to remove it");
    drop(Redis::start());
    assert!(!left_behind.exists(), "the next server sweeps it up");
}

#[test]
fn a_log_is_waited_for_and_ends_with_its_process() {
    let mut command = child::command("/bin/sh", None);
    command.args(["-c", "echo one; echo two >&2; echo three"]);
    let mut shell = child::Child::spawn("shell", command);
    let three = shell
        .log()
        .wait_for(|line| line == "three", support::PATIENCE);
    assert_eq!(three.as_deref(), Some("three"));
    assert_eq!(
        shell
            .log()
            .wait_for(|line| line == "four", support::PATIENCE),
        None,
        "no wait after the end"
    );
    assert!(shell.expect_exit().success());
    assert_eq!(shell.log().lines(Stream::Out), ["one", "three"]);
    assert_eq!(shell.log().lines(Stream::Err), ["two"]);
    assert_eq!(shell.log().position(), 3);
}
