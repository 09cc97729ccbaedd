//! `.env.example`, docs/CONFIGURATION.md and the code say the same.

use super::program::{run, valid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tender::config::{Presence, Role, Source, check, env_example, registry, settings_table};

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn the_env_example_is_what_the_code_says() {
    assert!(
        file(".env.example") == env_example(),
        "write it anew: cargo run -- config reference > .env.example"
    );
}

#[test]
fn the_documentation_is_what_the_code_says() {
    assert!(
        file("docs/CONFIGURATION.md").ends_with(&settings_table()),
        "replace the tables by the output of: cargo run -- config reference --format markdown"
    );
}

#[test]
fn the_program_prints_both() {
    let outcome = run(&["config", "reference"], &BTreeMap::new());
    assert_eq!(outcome.stdout, env_example());
    let outcome = run(
        &["config", "reference", "--format", "markdown"],
        &BTreeMap::new(),
    );
    assert_eq!(outcome.stdout, settings_table());
}

#[test]
fn every_registered_setting_is_read() {
    let effective = check(&Source::from_pairs(valid()), Role::All).unwrap();
    let read: BTreeSet<_> = effective.iter().map(|e| e.setting).collect();
    let known: BTreeSet<_> = registry::all().map(|s| s.name).collect();
    assert_eq!(read, known);
    assert_eq!(
        registry::all().count(),
        known.len(),
        "a name is registered twice"
    );
}

#[test]
fn every_default_is_a_value_that_is_accepted() {
    let mut config = valid();
    for setting in registry::all() {
        if let Presence::Default(value) = setting.presence {
            config.insert(setting.name.to_owned(), value.to_owned());
        }
    }
    check(&Source::from_pairs(config), Role::All).unwrap();
}

#[test]
fn the_env_example_parses_when_its_defaults_are_switched_on() {
    let directory = tempfile::TempDir::new().unwrap();
    let settings = env_example().lines().fold(String::new(), |text, line| {
        match line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        {
            Some(setting) => text + setting + "\n",
            None => text + line + "\n",
        }
    });
    fs::write(directory.path().join(".env"), settings).unwrap();
    let outcome = super::program::run_in(directory.path(), &["config", "check"], &valid());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}
