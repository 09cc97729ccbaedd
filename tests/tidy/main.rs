//! The house rules, enforced: what may name what, how long things are, and what must not be in the repository.
//!
//! Each rule is a pure function from a [`Source`] to the [`Violation`]s in it. Each has a test of its own that
//! plants a violation and sees it caught; the last tests run every rule over the repository.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod code;
mod documents;
mod domain;
mod imports;
mod length;
mod local;
mod sends;
mod source;
mod text;

use std::fmt::Write;

use source::{Source, Violation};

/// A rule's name, and what it finds in a file.
type Rule = (&'static str, fn(&Source) -> Vec<Violation>);

/// Every rule, in the order in which a reader meets them.
const RULES: &[Rule] = &[
    ("import directions", imports::directions),
    ("owned crates", imports::owned_crates),
    ("environment", imports::environment),
    ("who sends", sends::only_the_submit_path),
    ("pure domain", domain::pure),
    ("no wildcard arm", domain::no_wildcard_arm),
    ("function length", length::functions),
    ("file length", length::file),
    ("ignored tests", code::no_ignored_test),
    ("sleeping tests", code::no_sleep_in_tests),
    ("machine paths", text::no_machine_path),
    ("conflict markers", text::no_conflict_marker),
    ("notes to self", text::no_note_to_self),
    ("secret seeds", text::no_secret_seed),
];

#[test]
fn the_repository_keeps_every_rule() {
    let sources = source::repository();
    assert!(
        sources.len() > 10,
        "the walk found only {} files",
        sources.len()
    );
    let mut report = String::new();
    for (rule, check) in RULES {
        for source in &sources {
            for violation in check(source) {
                writeln!(report, "{}: {rule}: {violation}", source.path)
                    .expect("a string takes text");
            }
        }
    }
    assert!(report.is_empty(), "house rules broken:\n{report}");
}

#[test]
fn every_rust_file_can_be_read() {
    let unread: Vec<_> = source::repository()
        .into_iter()
        .filter(|source| {
            source.is_rust() && (source.tokens().is_none() || source.syntax().is_none())
        })
        .map(|source| source.path)
        .collect();
    assert!(
        unread.is_empty(),
        "the rules see nothing in files that do not parse: {unread:?}"
    );
}
