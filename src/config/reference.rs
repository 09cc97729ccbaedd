//! The settings as documentation: `.env.example` and the table of docs/CONFIGURATION.md.

use super::registry::GROUPS;
use super::role::{Role, settings_read};
use super::setting::{Exposure, Presence, Setting, Shape};
use std::fmt::Write;

/// Roles as the documentation names them.
const ROLES: [(Role, &str); 6] = [
    (Role::Api, "api"),
    (Role::Worker, "worker"),
    (Role::Reconciler, "reconciler"),
    (Role::Channels, "channels"),
    (Role::Store, "migrate, keys, admin"),
    (Role::Dev, "dev"),
];

/// The text of `.env.example`: every setting with its meaning, unit and default.
#[must_use]
pub fn env_example() -> String {
    let mut text = String::from(
        "# Settings of tender, with their defaults. Copy to .env and uncomment what you change;\n\
         # the environment wins over .env. `tender config check` says what is wrong or missing.\n\
         # Values with spaces, `#`, `$` or quotes need 'single quotes'. An empty value counts as not set.\n\
         # Every setting marked (secret) can come from a file instead: NAME_FILE=/run/secrets/name.\n",
    );
    for group in GROUPS {
        let _ = writeln!(text, "\n# ---- {} ----", group.title);
        for setting in group.settings {
            let secret = if setting.has_file_form() {
                " (secret)"
            } else {
                ""
            };
            text.push('\n');
            for line in wrap(&format!("{}{secret}", setting.doc)) {
                let _ = writeln!(text, "# {line}");
            }
            let _ = writeln!(text, "# Value: {}. {}", shape(setting), when_unset(setting));
            let value = match setting.presence {
                Presence::Required | Presence::Optional(_) => String::new(),
                Presence::Default(value) if value.contains(' ') => format!("'{value}'"),
                Presence::Default(value) => value.to_owned(),
            };
            let _ = writeln!(text, "#{}={value}", setting.name);
        }
    }
    text
}

/// The table of settings in Markdown.
#[must_use]
pub fn settings_table() -> String {
    let mut text = String::new();
    let reads: Vec<_> = ROLES
        .iter()
        .map(|(role, name)| (settings_read(*role), *name))
        .collect();
    for group in GROUPS {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}### {}\n", group.title);
        text.push_str("| setting | value | when not set | shown | read by | meaning |\n|---|---|---|---|---|---|\n");
        for setting in group.settings {
            let readers = reads
                .iter()
                .filter(|(names, _)| names.contains(&setting.name));
            let readers: Vec<_> = readers.map(|(_, name)| *name).collect();
            let shown = match setting.exposure {
                Exposure::Public => "yes",
                Exposure::Url => "without credentials",
                Exposure::Secret => "never",
            };
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {shown} | {} | {} |",
                setting.name,
                shape(setting),
                table_default(setting),
                readers.join(", "),
                setting.doc
            );
        }
    }
    text
}

fn shape(setting: &Setting) -> String {
    match setting.shape {
        Shape::Number { unit, min, max } => format!("{min} to {max} {unit}"),
        Shape::Text(text) => text.to_owned(),
    }
}

fn when_unset(setting: &Setting) -> String {
    match setting.presence {
        Presence::Required => "Required.".to_owned(),
        Presence::Optional(otherwise) => format!("Not set: {otherwise}."),
        Presence::Default(value) => format!("Default: {value}."),
    }
}

fn table_default(setting: &Setting) -> String {
    match setting.presence {
        Presence::Required => "required".to_owned(),
        Presence::Optional(otherwise) => otherwise.to_owned(),
        Presence::Default(value) => format!("`{value}`"),
    }
}

/// Lines of at most 100 characters.
fn wrap(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < 100 => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}
