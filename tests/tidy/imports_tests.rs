//! Planted violations of the import rules.

use super::*;

fn broken(rule: fn(&Source) -> Vec<Violation>, path: &str, text: &str) -> Vec<String> {
    rule(&Source::new(path, text))
        .into_iter()
        .map(|violation| violation.what)
        .collect()
}

#[test]
fn catches_an_import_against_the_direction() {
    for (path, text) in [
        ("src/domain/key.rs", "use crate::ledger::Row;"),
        ("src/ledger/mod.rs", "use crate::queue::Job;"),
        ("src/ledger/rows.rs", "use super::super::queue::Job;"),
        (
            "src/ledger/rows.rs",
            "mod tests { use super::super::super::queue::Job; }",
        ),
        ("src/ledger/rows.rs", "use crate::{domain::Key, queue};"),
        ("src/queue/mod.rs", "fn f() { crate::stellar::send() }"),
        (
            "src/queue/mod.rs",
            "fn f() { log!(\"{}\", crate::stellar::send()) }",
        ),
        (
            "src/stellar/rpc.rs",
            "#[derive(crate::ledger::Row)] struct A;",
        ),
        ("src/stellar/rpc.rs", "type A = Vec<crate::ledger::Row>;"),
        ("src/flow/accept.rs", "use crate::http::Problem;"),
        ("src/flow/accept.rs", "use crate::app::App;"),
        ("src/http/auth.rs", "use crate::role::api;"),
        ("src/config/mod.rs", "use crate::stellar;"),
    ] {
        assert_eq!(broken(directions, path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn lets_the_direction_pass() {
    for (path, text) in [
        ("src/main.rs", "use tender::{cli, role};"),
        (
            "src/lib.rs",
            "pub mod domain; pub use crate::ledger::Ledger;",
        ),
        (
            "src/role/worker.rs",
            "use crate::{app::App, flow::submit, queue};",
        ),
        (
            "src/http/submissions.rs",
            "use super::problem::Problem; use crate::flow::accept;",
        ),
        (
            "src/flow/accept.rs",
            "use crate::{domain::Key, ledger::Ledger};",
        ),
        (
            "src/ledger/rows.rs",
            "use super::Ledger; use self::inner::A; mod tests { use super::super::Ledger; }",
        ),
        (
            "src/ledger/rows.rs",
            "fn f(queue: &str) { let ledger = queue; x::stellar::y(); }",
        ),
        ("tests/worker.rs", "use tender::{ledger, queue};"),
    ] {
        assert_eq!(broken(directions, path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn catches_a_module_without_a_line_in_the_table() {
    let found = broken(directions, "src/utils.rs", "");
    assert_eq!(
        found,
        ["module `utils` has no line in the table of directions"]
    );
}

#[test]
fn catches_a_crate_named_away_from_its_owner() {
    for (path, text) in [
        ("src/flow/accept.rs", "use sea_orm::DbErr;"),
        (
            "src/flow/accept.rs",
            "#[derive(sea_orm::DeriveEntityModel)] struct A;",
        ),
        ("src/http/ready.rs", "fn f() { ::redis::Client::open(x); }"),
        (
            "src/queue/push.rs",
            "fn f() -> Result<(), sea_orm::DbErr> {}",
        ),
        ("src/ledger/mod.rs", "use redis as r;"),
        ("src/domain/memo.rs", "use stellar_xdr::curr::Memo;"),
        ("src/app.rs", "use jsonrpsee::http_client::HttpClient;"),
        ("src/main.rs", "fn main() { poem::Server::new(x); }"),
        ("src/flow/submit.rs", "use apalis::prelude::*;"),
        ("src/http/mod.rs", "use tender_devnet::Network;"),
        ("src/lib.rs", "pub use soroban_client;"),
    ] {
        let found = broken(owned_crates, path, text);
        assert_eq!(found.len(), 1, "{path}: {text}");
        assert!(found[0].starts_with("only ["), "{found:?}");
    }
}

#[test]
fn lets_an_owner_name_its_crate() {
    for (path, text) in [
        (
            "src/ledger/rows.rs",
            "use sea_orm::{DbErr, entity::prelude::*};",
        ),
        ("src/ledger/mod.rs", "use migration::Migrator;"),
        (
            "src/queue/mod.rs",
            "use apalis_core::backend::Backend; use redis::Script;",
        ),
        ("src/http/mod.rs", "use poem_openapi::OpenApiService;"),
        ("src/role/dev.rs", "use tender_devnet::Network;"),
        (
            "src/flow/feed.rs",
            "fn f(redis: u8) { let a = redis; crate::queue::redis::push(a); }",
        ),
        (
            "src/config/registry.rs",
            "use super::{fees, redis}; static A: &[G] = &[redis::GROUP];",
        ),
        ("migration/src/lib.rs", "use sea_orm_migration::sea_orm;"),
        ("tests/queue.rs", "use redis::Client;"),
    ] {
        assert_eq!(broken(owned_crates, path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn catches_the_environment_read_away_from_config() {
    for text in [
        "fn f() { std::env::var(\"A\"); }",
        "use std::{env, fs};",
        "use std::env;",
        "use std::env::args;",
    ] {
        assert_eq!(
            broken(environment, "src/role/dev.rs", text).len(),
            1,
            "{text}"
        );
        assert_eq!(
            broken(environment, "src/config/mod.rs", text),
            [""; 0],
            "{text}"
        );
    }
    assert_eq!(
        broken(
            environment,
            "src/cli.rs",
            "const V: &str = env!(\"CARGO_PKG_VERSION\");"
        ),
        [""; 0]
    );
}
