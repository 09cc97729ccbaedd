//! A process and everything that it started. PostgreSQL's children leave its process group, so a group is not enough.

use std::{
    fs,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

/// `root` first, then its children, grandchildren and so on, as they are now.
pub fn of(root: Pid) -> Vec<Pid> {
    let parents = parents();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(&parent) = tree.get(next) {
        tree.extend(
            parents
                .iter()
                .filter(|(_, its_parent)| *its_parent == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    tree
}

/// Every process of the machine with its parent.
fn parents() -> Vec<(Pid, Pid)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux has /proc").flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        // A process may end between the listing and the reading.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The second field is the command's name in parentheses, and may hold anything, parentheses too.
        let parent = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1));
        if let Some(parent) = parent
            .and_then(|parent| parent.parse().ok())
            .and_then(Pid::from_raw)
        {
            found.push((pid, parent));
        }
    }
    found
}

/// Sends a signal to every process of the tree; those that are gone already do not matter.
pub fn signal(root: Pid, signal: Signal) {
    for pid in of(root) {
        send(pid, signal);
    }
}

/// Sends a signal to one process.
pub fn send(pid: Pid, signal: Signal) {
    match kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(e) => panic!("{signal:?} to {}: {e}", pid.as_raw_nonzero()),
    }
}

/// Kills the whole tree at once, as a power cut would, and waits until all of it is gone.
pub fn kill(root: Pid, patience: Duration) {
    // Stopped first, so that no parent starts another child between the listing and the kill.
    send(root, Signal::STOP);
    let tree = of(root);
    let watches: Vec<OwnedFd> = tree.iter().filter_map(|pid| watch(*pid)).collect();
    for pid in tree {
        send(pid, Signal::KILL);
    }
    for watch in &watches {
        assert!(
            wait_gone(watch, patience),
            "a process survived SIGKILL for {patience:?}"
        );
    }
}

/// A handle that becomes readable when the process has ended. `None` if it has already.
pub fn watch(pid: Pid) -> Option<OwnedFd> {
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Whether the watched process ends within `patience`.
pub fn wait_gone(watch: &OwnedFd, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("a patience of seconds");
        match poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(e) => panic!("waiting for a process: {e}"),
        }
    }
}
