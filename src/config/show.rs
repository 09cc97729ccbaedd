//! How values are shown in faults and in the list of effective settings.

use super::setting::{Exposure, Setting};
use url::Url;

/// What stands in place of a value that is not shown.
pub(super) const HIDDEN: &str = "***";

/// Longest part of a value that is repeated, in characters.
const MAX_SHOWN: usize = 120;

/// The value of `setting` as it may be shown.
pub(super) fn value(setting: &Setting, value: &str) -> String {
    match setting.exposure {
        Exposure::Public => public(value),
        Exposure::Url => value.split(',').map(url).collect::<Vec<_>>().join(","),
        Exposure::Secret => HIDDEN.to_owned(),
    }
}

/// A value of a setting that is no secret; still hidden where someone pasted a signing key into it.
pub(super) fn public(value: &str) -> String {
    if holds_signing_key(value) {
        return HIDDEN.to_owned();
    }
    let cleaned = value
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut shown: String = cleaned.clone().take(MAX_SHOWN).collect();
    if cleaned.count() > MAX_SHOWN {
        shown.push_str("...");
    }
    shown
}

/// Scheme, host and port of a URL; user, password and query are hidden, and so is a path that may be a provider's key.
pub(super) fn url(value: &str) -> String {
    let Ok(url) = Url::parse(value.trim()) else {
        return HIDDEN.to_owned();
    };
    let scheme = url.scheme();
    if scheme == "sqlite" {
        return public(value.split('?').next().unwrap_or_default());
    }
    let Some(host) = url.host_str() else {
        return format!("{scheme}:{HIDDEN}");
    };
    let user = if url.username().is_empty() && url.password().is_none() {
        String::new()
    } else {
        format!("{HIDDEN}@")
    };
    let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
    let path = match url.path() {
        "" | "/" => String::new(),
        path if !scheme.starts_with("http") => path.to_owned(),
        _ => format!("/{HIDDEN}"),
    };
    let query = url.query().map(|_| format!("?{HIDDEN}"));
    public(&format!(
        "{scheme}://{user}{host}{port}{path}{}",
        query.unwrap_or_default()
    ))
}

/// Whether a text contains what looks like the secret key of an account: `S` and 55 characters of base 32.
pub(super) fn holds_signing_key(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| {
            let key = word.len() == 56 && word.starts_with(['S', 's']);
            key && word
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || (b'2'..=b'7').contains(&b))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_credentials() {
        let rows = [
            (
                "postgres://u:p@db:5433/pay?sslmode=require",
                "postgres://***@db:5433/pay?***",
            ),
            ("postgres://db/pay", "postgres://db/pay"),
            ("https://rpc.example/v1/KEY", "https://rpc.example/***"),
            ("https://rpc.example/", "https://rpc.example"),
            (
                "http://key@127.0.0.1:8000?apikey=1",
                "http://***@127.0.0.1:8000?***",
            ),
            ("sqlite://pay.sqlite?mode=rwc", "sqlite://pay.sqlite"),
            ("hunter2", "***"),
            ("mailto:hunter2", "mailto:***"),
        ];
        for (value, shown) in rows {
            assert_eq!(url(value), shown);
        }
    }

    #[test]
    fn a_signing_key_is_hidden_wherever_it_is_pasted() {
        let key = format!("S{}", "A".repeat(55));
        assert_eq!(public(&format!("x {key}")), HIDDEN);
        assert_eq!(public("Standalone Network"), "Standalone Network");
    }

    #[test]
    fn long_values_are_cut_and_control_characters_replaced() {
        assert_eq!(public("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
        assert_eq!(public(&"é".repeat(200)).chars().count(), 123);
    }
}
