//! What reaches the network is recorded before: only the submit path may send.

use crate::code::{flatten, spells};
use crate::source::{Source, Violation};

/// Names by which a transaction is sent.
const SENDS: &[&str] = &["send_transaction", "SendTransaction"];

/// Where they may stand: the client that makes the call; the sender, which sends what is recorded; the provisioner, whose
/// account creations no key asked for; and the submitter, for the planted bug that sends first.
const MAY_SEND: &[&str] = &[
    "src/stellar/rpc/",
    "src/flow/send.rs",
    "src/flow/provision.rs",
];

/// In this file under this switch, which no release turns on.
const PLANTED: (&str, &str) = ("src/flow/submit.rs", "\"planted-bugs\"");

/// Nothing else in `src` names the call.
pub fn only_the_submit_path(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with("src/") || MAY_SEND.iter().any(|it| source.path.starts_with(it)) {
        return Vec::new();
    }
    let tokens = flatten(source.tokens().unwrap_or_default());
    let switch = [
        "#", "[", "cfg", "(", "feature", "=", PLANTED.1, ")", "]", "if",
    ];
    let planted = |at: usize| {
        source.path == PLANTED.0
            && (0..at)
                .rev()
                .take_while(|&before| tokens[before].text != "}")
                .any(|before| spells(&tokens, before, &switch))
    };
    (0..tokens.len())
        .filter(|&at| SENDS.contains(&tokens[at].text.as_str()) && !planted(at))
        .map(|at| Violation::new(tokens[at].line, "sends, and is not the submit path"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = only_the_submit_path(&Source::new(path, text));
        found.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn whoever_else_sends_is_caught() {
        let text = "async fn f(rpc: &Rpc) {\n rpc.send_transaction(hash, xdr).await;\n}";
        for path in [
            "src/flow/requeue.rs",
            "src/flow/submit.rs",
            "src/http/a.rs",
            "src/role/worker.rs",
        ] {
            assert_eq!(lines(path, text), [2], "{path}");
        }
        let named = "fn f() {\n call(Method::SendTransaction);\n}";
        assert_eq!(lines("src/flow/chain.rs", named), [2]);
        for path in [
            "src/flow/send.rs",
            "src/flow/provision.rs",
            "src/stellar/rpc/send.rs",
            "tests/a.rs",
        ] {
            assert_eq!(lines(path, text), [0_usize; 0], "{path}");
        }
    }

    #[test]
    fn the_planted_bug_may_and_nothing_beside_it() {
        let text = "fn f() {\n #[cfg(feature = \"planted-bugs\")]\n if bug() { rpc.send_transaction(); }\n \
                    rpc.send_transaction();\n}";
        assert_eq!(lines("src/flow/submit.rs", text), [4]);
        assert_eq!(lines("src/flow/accept.rs", text), [3, 4]);
    }
}
