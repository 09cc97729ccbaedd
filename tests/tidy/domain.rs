//! The rules of `src/domain`: pure functions over values, and every state spelt out.

use syn::{
    Arm, Pat,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    code::{flatten, spells},
    source::{Source, Violation},
};

/// Crates that do I/O, read a clock, draw numbers, or tie the rules to a wire format.
const IMPURE_CRATES: &[&str] = &[
    "apalis",
    "backoff",
    "futures",
    "poem",
    "poem_openapi",
    "rand",
    "redis",
    "reqwest",
    "sea_orm",
    "secrecy",
    "serde",
    "serde_json",
    "soroban_client",
    "sqlx",
    "stellar_xdr",
    "tender_devnet",
    "tokio",
    "tokio_util",
    "tracing",
];

/// Modules of `std` that reach outside the program.
const IMPURE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

/// Names that read a clock or wait, wherever they come from.
const IMPURE_NAMES: &[&str] = &[
    "Instant",
    "SystemTime",
    "now_utc",
    "now_local",
    "async",
    "await",
    "new_v4",
    "now_v7",
];

fn in_domain(source: &Source) -> bool {
    source
        .module()
        .is_some_and(|module| module.first().is_some_and(|first| first == "domain"))
}

/// No async, no I/O, no clock, no randomness, no wire format.
pub fn pure(source: &Source) -> Vec<Violation> {
    if !in_domain(source) {
        return Vec::new();
    }
    let tokens = flatten(source.tokens().unwrap_or_default());
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = token.text.as_str();
        let after_path = at >= 2 && spells(&tokens, at - 2, &[":", ":"]);
        let from_std = at >= 3 && after_path && tokens[at - 3].text == "std";
        let crate_root = !after_path && spells(&tokens, at + 1, &[":", ":"]);
        if IMPURE_NAMES.contains(&name)
            || (from_std && IMPURE_STD.contains(&name))
            || (crate_root && IMPURE_CRATES.contains(&name))
        {
            found.push(Violation::new(
                token.line,
                format!("the domain is pure, and names `{name}`"),
            ));
        }
    }
    found
}

/// `_ =>` swallows the variant that is added next year. Name each, or bind the value and refuse it.
pub fn no_wildcard_arm(source: &Source) -> Vec<Violation> {
    let mut arms = Arms(Vec::new());
    if in_domain(source)
        && let Some(file) = source.syntax()
    {
        arms.visit_file(file);
    }
    arms.0
}

struct Arms(Vec<Violation>);

impl<'ast> Visit<'ast> for Arms {
    fn visit_arm(&mut self, arm: &'ast Arm) {
        // With a guard, the other arms still have to name every variant.
        if arm.guard.is_none() && matches_anything(&arm.pat) {
            let line = arm.pat.span().start().line;
            self.0
                .push(Violation::new(line, "a wildcard arm in the domain"));
        }
        visit::visit_arm(self, arm);
    }
}

/// Whether a pattern is made of `_` and `..` alone.
fn matches_anything(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) | Pat::Rest(_) => true,
        Pat::Tuple(tuple) => tuple.elems.iter().all(matches_anything),
        Pat::Or(or) => or.cases.iter().any(matches_anything),
        Pat::Paren(inner) => matches_anything(&inner.pat),
        Pat::Reference(inner) => matches_anything(&inner.pat),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wildcards(path: &str, arms: &str) -> usize {
        no_wildcard_arm(&Source::new(
            path,
            &format!("fn f() {{ match x {{ {arms} }} }}"),
        ))
        .len()
    }

    #[test]
    fn catches_a_wildcard_arm() {
        for arms in [
            "A => 1, _ => 2",
            "(A, B) => 1, (_, _) => 2",
            "A => 1, B | _ => 2",
        ] {
            assert_eq!(wildcards("src/domain/submission.rs", arms), 1, "{arms}");
            assert_eq!(wildcards("src/domain.rs", arms), 1, "{arms}");
            assert_eq!(
                wildcards("src/flow/submit.rs", arms),
                0,
                "only the domain must name every variant"
            );
        }
        for arms in [
            "_ if x > 1 => 2, A => 3",
            "A | B => 1, C(_) => 2",
            "(A, _) => 1, (B, _) => 2",
            "1 => 1, other => refuse(other)",
            "() => 1",
        ] {
            let found = wildcards("src/domain/submission.rs", arms);
            assert_eq!(found, usize::from(arms.starts_with("()")), "{arms}");
        }
    }

    #[test]
    fn catches_impurity() {
        for text in [
            "use tokio::sync::Mutex;",
            "use serde::Serialize;",
            "#[derive(serde::Serialize)] struct A;",
            "use std::time::{Duration, Instant};",
            "fn f() { std::fs::read(p); }",
            "use std::io;",
            "async fn f() {}",
            "fn f() { let x = rand::random(); }",
            "fn f() { println!(\"{:?}\", OffsetDateTime::now_utc()); }",
            "fn f() -> Uuid { Uuid::new_v4() }",
        ] {
            assert_ne!(pure(&Source::new("src/domain/a.rs", text)), [], "{text}");
            assert_eq!(pure(&Source::new("src/flow/a.rs", text)), [], "{text}");
        }
        let innocent =
            "use std::{fmt, time::Duration}; use thiserror::Error; use super::key::Key; fn io() {}";
        assert_eq!(pure(&Source::new("src/domain/a.rs", innocent)), []);
    }
}
