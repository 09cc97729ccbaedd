//! Every step of the service that writes or sends, and where a process is to die at it.

/// Who reaches a step in everyday work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// An api process.
    Api,
    /// A worker process.
    Worker,
    /// A reconciler process.
    Reconciler,
    /// Any of the three.
    Anyone,
    /// Nobody in everyday work: a situation is made for it.
    Directed,
}

/// Name and whereabouts of every step. A test compares it with the sources.
pub const STEPS: &[(&str, Reached)] = {
    use Reached::{Anyone, Api, Directed, Reconciler, Worker};
    &[
        ("accept.answer", Api),
        ("accept.batch", Api),
        ("accept.insert", Api),
        ("accept.ledger", Api),
        ("bump.build", Directed),
        ("bump.record", Directed),
        ("bump.send", Directed),
        ("cancel.apply", Directed),
        ("channels.change", Directed),
        ("channels.release", Directed),
        ("claim.no_channel", Directed),
        ("claim.transit", Worker),
        ("feed.forgot", Anyone),
        ("feed.mark_fresh", Anyone),
        ("feed.mark_overdue", Anyone),
        ("feed.notice", Anyone),
        ("feed.push", Anyone),
        ("feed.take_due", Anyone),
        ("keys.create", Directed),
        ("keys.insert", Directed),
        ("keys.mark", Directed),
        ("keys.revoke", Directed),
        ("memory.adopt", Directed),
        ("memory.hold", Directed),
        ("memory.move", Directed),
        ("memory.reopen", Directed),
        ("memory.set_aside", Directed),
        ("memory.stop", Directed),
        ("memory.update", Directed),
        ("memory.wait", Directed),
        ("migrate.apply", Directed),
        ("migrate.up", Directed),
        ("pair.free", Reconciler),
        ("pair.lease", Worker),
        ("pair.quarantine", Directed),
        ("pair.settle", Reconciler),
        ("progress.insert", Reconciler),
        ("progress.note", Reconciler),
        ("provision.add", Directed),
        ("provision.create", Directed),
        ("provision.insert", Directed),
        ("provision.send", Directed),
        ("queue.beat", Worker),
        ("queue.finish", Worker),
        ("queue.give_back", Directed),
        ("queue.push", Anyone),
        ("queue.remember", Anyone),
        ("queue.take", Worker),
        ("reconcile.bury", Directed),
        ("reconcile.give_up", Directed),
        ("reconcile.idle_consumed", Directed),
        ("reconcile.landed", Reconciler),
        ("reconcile.landed_one", Directed),
        ("reconcile.lapse", Directed),
        ("reconcile.late", Directed),
        ("reconcile.remembers", Reconciler),
        ("reconcile.resend", Reconciler),
        ("reconcile.send", Reconciler),
        ("reconcile.set_aside", Directed),
        ("reconcile.settle", Reconciler),
        ("reconcile.wait_fees", Directed),
        ("reconcile.write", Reconciler),
        ("record.insert", Worker),
        ("recover.apply", Directed),
        ("recover.go_on", Directed),
        ("recover.note", Directed),
        ("recover.reopen", Directed),
        ("recover.set_aside", Directed),
        ("requeue.apply", Directed),
        ("send.network", Worker),
        ("send.note", Worker),
        ("store.begin", Anyone),
        ("store.commit", Anyone),
        ("store.rollback", Directed),
        ("store.work", Anyone),
        ("submit.build", Worker),
        ("submit.claim", Worker),
        ("submit.give_back", Directed),
        ("submit.record", Worker),
        ("submit.recovered", Directed),
        ("submit.send", Worker),
        ("transition.log", Worker),
        ("transition.pairs", Worker),
        ("transition.update", Worker),
    ]
};

/// A step's two failpoints.
pub const SIDES: [&str; 2] = ["before", "after"];

/// Points that a process of that role reaches in everyday work.
pub fn everyday(role: Reached) -> Vec<String> {
    STEPS
        .iter()
        .filter(|(_, reached)| *reached == role || *reached == Reached::Anyone)
        .flat_map(|(name, _)| both(name))
        .collect()
}

/// The two points of a step.
pub fn both(name: &str) -> [String; 2] {
    SIDES.map(|side| format!("{name}.{side}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Names of the steps in the sources below a directory.
    fn called(directory: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                called(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                let calls = source.split("step!(").skip(1);
                found.extend(calls.filter_map(|call| {
                    let name = call.trim_start().strip_prefix('"')?.split_once('"')?.0;
                    Some(name.to_owned())
                }));
            }
        }
    }

    #[test]
    fn every_step_of_the_sources_is_in_the_table_and_has_a_name_of_its_own() {
        let mut found = Vec::new();
        called(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"),
            &mut found,
        );
        let distinct: BTreeSet<_> = found.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), found.len(), "a name stands twice");
        assert_eq!(
            distinct,
            STEPS.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>()
        );
        assert!(STEPS.len() >= 60, "{}", STEPS.len());
        assert!(
            STEPS.is_sorted_by_key(|(name, _)| *name),
            "sorted, so that a name is found"
        );
    }
}
