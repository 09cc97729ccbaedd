//! Free loopback ports for servers.

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
};

use super::child::Child;

/// Below the range from which the kernel gives ports to clients, so that no client takes a server's port while
/// the server restarts.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Ports tried before giving up.
const TRIES: u16 = 50;

/// A port that nobody listens on now. Another process may take it before its user does: see [`start_on_free_port`].
pub fn free() -> u16 {
    let random =
        u16::try_from(RandomState::new().hash_one(std::process::id()) % u64::from(COUNT)).unwrap();
    (0..TRIES)
        .map(|step| FIRST + (random + step * 37) % COUNT)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("a free loopback port")
}

/// Starts a server on a free port, and again on another one when somebody was quicker.
///
/// `start` answers with the server's log when it ended before it was ready.
pub fn start_on_free_port(mut start: impl FnMut(u16) -> Result<Child, String>) -> (u16, Child) {
    for _ in 0..TRIES {
        let port = free();
        match start(port) {
            Ok(child) => return (port, child),
            Err(log) if log.contains("in use") => {}
            Err(log) => panic!("a server did not start: {log}"),
        }
    }
    panic!("no free port in {TRIES} tries");
}
