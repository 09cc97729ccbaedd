//! The command line: what help says, what is refused, what commands not built yet answer.

#![allow(clippy::unwrap_used, reason = "tests")]

use clap::{CommandFactory, Parser};
use std::process::{Command, Output};
use tender::cli::Cli;

fn tender(args: &[&str]) -> Output {
    let directory = tempfile::TempDir::new().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tender"))
        .args(args)
        .current_dir(directory.path())
        .env_clear()
        .env("DATABASE_URL", "sqlite://tender.sqlite")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Message of the error that parsing these arguments gives.
fn refused(args: &[&str]) -> String {
    let line = ["tender"].iter().chain(args);
    Cli::try_parse_from(line).unwrap_err().to_string()
}

#[test]
fn definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[cfg(feature = "devnet")]
#[test]
fn help_reads_well() {
    let output = tender(&["--help"]);
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), include_str!("snapshots/help.txt"));
}

#[test]
fn every_command_and_option_is_explained() {
    fn visit(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        assert!(command.get_about().is_some(), "{path} has no help");
        for argument in command.get_arguments() {
            let id = argument.get_id();
            assert!(argument.get_help().is_some(), "{path} {id} has no help");
        }
        for sub in command.get_subcommands() {
            visit(sub, &path);
        }
    }
    visit(&Cli::command(), "");
}

#[test]
fn no_command_is_a_usage_error() {
    let output = tender(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: tender"));
    assert_eq!(tender(&["pay"]).status.code(), Some(2));
}

#[test]
fn arguments_are_checked_before_anything_runs() {
    let id = "7a0e7b7c-58a5-4a39-9a4c-0d7a4b6d2a10";
    let long = "x".repeat(501);
    let rows: [(&[&str], &str); 11] = [
        (&["admin", "requeue", id], "--reason"),
        (
            &["admin", "cancel", "7", "--reason", "twice"],
            "invalid value '7'",
        ),
        (
            &["admin", "cancel", id, "--reason", " "],
            "1 to 500 characters",
        ),
        (
            &["admin", "cancel", id, "--reason", &long],
            "1 to 500 characters",
        ),
        (&["keys", "create", "--tenant", "shop"], "--scopes"),
        (
            &[
                "keys",
                "create",
                "--tenant",
                "my shop",
                "--scopes",
                "outbox:read",
            ],
            "visible ASCII",
        ),
        (
            &["keys", "create", "--tenant", "shop", "--scopes", "all"],
            "transactions:write",
        ),
        (&["migrate", "down"], "--yes"),
        (
            &["channels", "verify", "--release", "GABC", "--reason", "x"],
            "invalid value",
        ),
        (&["channels", "verify", "--reason", "x"], "--release"),
        (&["config", "check", "--role", "boss"], "reconciler"),
    ];
    for (args, said) in rows {
        let message = refused(args);
        assert!(message.contains(said), "{args:?}: {message}");
    }
}

#[test]
fn scopes_may_be_listed_with_commas() {
    let args = [
        "tender",
        "keys",
        "create",
        "--tenant",
        "shop",
        "--scopes",
        "transactions:read,transactions:write",
    ];
    let shown = format!("{:?}", Cli::try_parse_from(args).unwrap());
    assert!(
        shown.contains("[TransactionsRead, TransactionsWrite]"),
        "{shown}"
    );
}

#[cfg(feature = "devnet")]
mod embedded {
    use super::{Cli, Parser, refused};
    use tender::cli::{Command, DevnetCommand};

    #[test]
    fn the_demo_loses_more_than_a_fifth_of_its_answers_unless_told_otherwise() {
        let demo = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
            Command::Demo(args) => args,
            other => unreachable!("{other:?}"),
        };
        let args = demo(&["tender", "demo"]);
        assert!(args.loss >= 250 && !args.exit && !args.json);
        let args = demo(&[
            "tender",
            "demo",
            "--payments",
            "500",
            "--duplicates",
            "100",
            "--channels",
            "50",
            "--exit",
            "--json",
            "--loss",
            "0",
        ]);
        assert_eq!(
            (args.payments, args.duplicates, args.channels, args.loss),
            (500, 100, 50, 0)
        );
        assert!(args.exit && args.json);
        for bad in [
            ["--payments", "0"],
            ["--loss", "901"],
            ["--channels", "1001"],
            ["--close-ms", "99"],
        ] {
            assert!(refused(&[&["demo"], &bad[..]].concat()).contains("is not in"));
        }
    }

    #[test]
    fn the_devnet_runs_or_replays() {
        let devnet = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
            Command::Devnet(args) => args,
            other => unreachable!("{other:?}"),
        };
        let args = devnet(&[
            "tender",
            "devnet",
            "--close-ms",
            "200",
            "--bind",
            "0.0.0.0:9",
        ]);
        assert!(args.command.is_none() && args.close_ms == 200 && args.bind.port() == 9);
        let args = devnet(&["tender", "devnet", "replay", "a.json", "b.json"]);
        let Some(DevnetCommand::Replay { files }) = args.command else {
            unreachable!("a replay was asked for");
        };
        assert_eq!(files.len(), 2);
        assert!(refused(&["devnet", "replay"]).contains("FILE"));
    }
}
