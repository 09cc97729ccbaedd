//! Documents name tests: those must exist.

use std::collections::HashSet;

use crate::source::{self, Source};

/// The documents whose tables name tests.
const TABLES: [&str; 2] = ["docs/GUARANTEES.md", "docs/INCIDENTS.md"];

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
fn every_test_that_a_table_names_exists() {
    let sources = source::repository();
    let functions = functions(&sources);
    for table in TABLES {
        let document = sources
            .iter()
            .find(|source| source.path == table)
            .expect("the document");
        let names = named(&document.text);
        assert!(names.len() > 30, "{table} names its tests");
        let missing: Vec<_> = names
            .into_iter()
            .filter(|name| !functions.contains(name))
            .collect();
        assert!(missing.is_empty(), "{table}: no such tests: {missing:?}");
    }
}
