//! Documents name tests: those must exist.

use std::collections::HashSet;

use crate::source::{self, Source};

/// The document whose table names tests.
const INCIDENTS: &str = "docs/INCIDENTS.md";

/// Names in backticks that look like those of tests.
fn named(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|name| {
            name.contains('_')
                && name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
        })
        .collect()
}

fn functions(sources: &[Source]) -> HashSet<&str> {
    let rust = sources.iter().filter(|source| source.is_rust());
    rust.flat_map(|source| source.text.split("fn ").skip(1))
        .filter_map(|after| after.split(['(', '<']).next())
        .collect()
}

#[test]
fn names_of_tests_are_told_from_other_words() {
    let text = "| `two_win` | `TRY_AGAIN_LATER`, `seqNum`, `a_b2` |";
    assert_eq!(named(text), ["two_win", "a_b2"]);
}

#[test]
fn every_test_that_an_incident_names_exists() {
    let sources = source::repository();
    let incidents = sources
        .iter()
        .find(|source| source.path == INCIDENTS)
        .expect("the document");
    let functions = functions(&sources);
    let names = named(&incidents.text);
    assert!(names.len() > 40, "the table names its tests");
    let missing: Vec<_> = names
        .into_iter()
        .filter(|name| !functions.contains(name))
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}
