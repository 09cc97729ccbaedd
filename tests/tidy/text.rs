//! What must not be in any text file of the repository.

use crate::source::{Source, Violation};

/// Roots of directories that exist on one machine only. Spelt without slashes, so that this file passes.
const MACHINE_ROOTS: &[&str] = &["work", "root", "home", "Users"];

/// Words that mark unfinished work. Spelt in two halves, so that this file passes.
const NOTES: &[(&str, &str)] = &[("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("HA", "CK")];

/// An absolute path into one machine's directories tells a reader nothing and breaks elsewhere.
pub fn no_machine_path(source: &Source) -> Vec<Violation> {
    if source.is_recorded() {
        return Vec::new();
    }
    let roots: Vec<String> = MACHINE_ROOTS
        .iter()
        .map(|root| format!("/{root}/"))
        .collect();
    let mut found = Vec::new();
    for (number, line) in numbered(source) {
        for root in &roots {
            let absolute = line.match_indices(root.as_str()).any(|(at, _)| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.}>".contains(c))
            });
            if absolute {
                found.push(Violation::new(
                    number,
                    format!("names a path of one machine, {root}"),
                ));
            }
        }
    }
    found
}

/// Unfinished work belongs in an issue, where somebody will see it.
pub fn no_note_to_self(source: &Source) -> Vec<Violation> {
    if source.is_recorded() {
        return Vec::new();
    }
    let notes: Vec<String> = NOTES.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let mut found = Vec::new();
    for (number, line) in numbered(source) {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| notes.iter().any(|note| note == word)) {
            found.push(Violation::new(number, format!("leaves a {word}")));
        }
    }
    found
}

/// What a merge leaves where somebody has to decide.
pub fn no_conflict_marker(source: &Source) -> Vec<Violation> {
    let markers = ["<", "=", ">"].map(|sign| sign.repeat(7));
    numbered(source)
        .filter(|(_, line)| {
            let mark = line.split(' ').next().unwrap_or_default();
            markers.iter().any(|marker| marker == mark)
        })
        .map(|(number, _)| Violation::new(number, "holds a conflict marker"))
        .collect()
}

/// A Stellar secret seed in a file is a leaked key, even when it is "only for tests": make one at run time.
pub fn no_secret_seed(source: &Source) -> Vec<Violation> {
    if source.is_recorded() {
        return Vec::new();
    }
    numbered(source)
        .filter(|(_, line)| base32_runs(line).any(is_seed))
        .map(|(number, _)| Violation::new(number, "holds a Stellar secret seed"))
        .collect()
}

fn numbered(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

fn base32_runs(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_uppercase() || ('2'..='7').contains(&c)))
}

/// Checksum and all: a made-up string of the same shape is no seed.
fn is_seed(run: &str) -> bool {
    run.len() == 56
        && run.starts_with('S')
        && stellar_strkey::ed25519::PrivateKey::from_string(run).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(violations: &[Violation]) -> Vec<usize> {
        violations.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn catches_a_machine_path() {
        for root in MACHINE_ROOTS {
            for text in [
                format!("fine\nsee /{root}/someone/x"),
                format!("a\ninclude_str!(\"/{root}/x\")"),
            ] {
                let found = no_machine_path(&Source::new("README.md", &text));
                assert_eq!(lines(&found), [2], "{text}");
            }
        }
    }

    #[test]
    fn lets_relative_paths_and_urls_pass() {
        let text = "src/work/x.rs, ./root/x, https://example.com/home/x, $HOME/x, /homework";
        assert_eq!(no_machine_path(&Source::new("README.md", text)), []);
    }

    #[test]
    fn catches_a_note_to_self() {
        for (a, b) in NOTES {
            let text = format!("ok\n// {a}{b}: later\n");
            assert_eq!(
                lines(&no_note_to_self(&Source::new("src/lib.rs", &text))),
                [2],
                "{text}"
            );
        }
        let longer = format!("{}{}S_LIST is another word", NOTES[0].0, NOTES[0].1);
        assert_eq!(no_note_to_self(&Source::new("src/lib.rs", &longer)), []);
    }

    #[test]
    fn catches_a_conflict_marker() {
        let [ours, middle, theirs] = ["<", "=", ">"].map(|sign| sign.repeat(7));
        let text = format!("a\n{ours} HEAD\nb\n{middle}\nc\n{theirs} topic\n==== Heading\n");
        let found = no_conflict_marker(&Source::new("README.md", &text));
        assert_eq!(lines(&found), [2, 4, 6]);
    }

    #[test]
    fn catches_a_secret_seed_but_no_address_and_no_lookalike() {
        let seed = stellar_strkey::ed25519::PrivateKey([7; 32]).to_string();
        let planted = format!("[a]\nkey = \"{seed}\"");
        assert_eq!(
            lines(&no_secret_seed(&Source::new(".env.example", &planted))),
            [2]
        );

        let traces = Source::new("devnet/tests/traces/pay.json", &planted);
        assert_eq!(
            no_secret_seed(&traces),
            [],
            "recorded traces carry the keys of a network that is gone"
        );

        let address = stellar_strkey::ed25519::PublicKey([7; 32]).to_string();
        let lookalike = format!("S{}", "A".repeat(55));
        let innocent = format!("{address} {lookalike}");
        assert_eq!(no_secret_seed(&Source::new("README.md", &innocent)), []);
    }
}
