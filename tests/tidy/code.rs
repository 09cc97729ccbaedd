//! What tests must not do, and the flat view of tokens that the other rules share.

use proc_macro2::{TokenStream, TokenTree};

use crate::source::{Source, Violation};

/// Names that stop a test for a fixed time: waiting for a signal is faster and does not flake.
const SLEEPS: &[&str] = &["sleep", "sleep_until", "sleep_ms", "park_timeout"];

/// Test files that may sleep. Empty, and meant to stay so.
const MAY_SLEEP: &[&str] = &[];

/// A token with the line it stands on; groups are flattened to their delimiters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

/// All tokens in order. Comments are gone, strings are one token each, doc comments are strings.
pub fn flatten(tokens: TokenStream) -> Vec<Token> {
    let mut flat = Vec::new();
    flatten_into(tokens, &mut flat);
    flat
}

fn flatten_into(tokens: TokenStream, flat: &mut Vec<Token>) {
    for tree in tokens {
        let line = tree.span().start().line;
        let TokenTree::Group(group) = tree else {
            flat.push(Token {
                line,
                text: tree.to_string(),
            });
            continue;
        };
        let (open, close) = match group.delimiter() {
            proc_macro2::Delimiter::Parenthesis => ("(", ")"),
            proc_macro2::Delimiter::Brace => ("{", "}"),
            proc_macro2::Delimiter::Bracket => ("[", "]"),
            proc_macro2::Delimiter::None => ("", ""),
        };
        flat.push(Token {
            line,
            text: open.to_owned(),
        });
        flatten_into(group.stream(), flat);
        let line = group.span_close().start().line;
        flat.push(Token {
            line,
            text: close.to_owned(),
        });
    }
}

/// Whether the tokens from `at` on spell `pattern`.
pub fn spells(tokens: &[Token], at: usize, pattern: &[&str]) -> bool {
    tokens.len() >= at + pattern.len()
        && pattern
            .iter()
            .zip(&tokens[at..])
            .all(|(wanted, token)| token.text == *wanted)
}

/// A test that does not run is a promise that nobody keeps.
pub fn no_ignored_test(source: &Source) -> Vec<Violation> {
    let tokens = flatten(source.tokens().unwrap_or_default());
    (0..tokens.len())
        .filter(|&at| spells(&tokens, at, &["#", "[", "ignore"]))
        .map(|at| Violation::new(tokens[at].line, "ignores a test"))
        .collect()
}

/// Tests wait on signals: a log line, an open port, a row, a channel.
pub fn no_sleep_in_tests(source: &Source) -> Vec<Violation> {
    if MAY_SLEEP.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let tokens = flatten(source.tokens().unwrap_or_default());
    let first_test = if source.is_test() {
        Some(0)
    } else {
        first_test_module(&tokens)
    };
    let Some(first_test) = first_test else {
        return Vec::new();
    };
    (first_test..tokens.len())
        .filter(|&at| SLEEPS.contains(&tokens[at].text.as_str()) && spells(&tokens, at + 1, &["("]))
        .map(|at| Violation::new(tokens[at].line, format!("a test calls {}", tokens[at].text)))
        .collect()
}

/// Where `#[cfg(test)]` first stands: by habit the tests of a file are its last item.
fn first_test_module(tokens: &[Token]) -> Option<usize> {
    (0..tokens.len()).find(|&at| spells(tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(violations: &[Violation]) -> Vec<usize> {
        violations.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn catches_an_ignored_test() {
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]"] {
            let text = format!("#[test]\n{attribute}\nfn t() {{}}");
            assert_eq!(
                lines(&no_ignored_test(&Source::new("tests/a.rs", &text))),
                [2]
            );
        }
        let spoken = "// an #[ignore] in prose\nfn t() { let _ = \"#[ignore]\"; }";
        assert_eq!(no_ignored_test(&Source::new("tests/a.rs", spoken)), []);
    }

    #[test]
    fn catches_a_sleep_in_a_test_file() {
        let call = format!("std::thread::{}(d)", SLEEPS[0]);
        let text = format!("fn t() {{\n    {call};\n    assert!(matches!({call}, ()));\n}}");
        for path in ["tests/a.rs", "devnet/tests/a.rs", "tests/support/mod.rs"] {
            assert_eq!(
                lines(&no_sleep_in_tests(&Source::new(path, &text))),
                [2, 3],
                "{path}"
            );
        }
    }

    #[test]
    fn catches_a_sleep_in_a_unit_test_only() {
        let call = format!("tokio::time::{}(d).await", SLEEPS[0]);
        let text = format!(
            "async fn wait() {{ {call} }}\n#[cfg(test)]\nmod tests {{\nasync fn t() {{ {call} }}\n}}"
        );
        assert_eq!(
            lines(&no_sleep_in_tests(&Source::new("src/role/dev.rs", &text))),
            [4]
        );
    }
}
