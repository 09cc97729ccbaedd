//! Arguments with rules of their own.

use std::str::FromStr;

/// Longest tenant name and longest reason, in characters.
const MAX_TENANT: usize = 64;
const MAX_REASON: usize = 500;

/// Name of a tenant: 1 to 64 of `a-z`, `0-9`, `-`, `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant(String);

/// Why staff did something: 1 to 500 characters on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(String);

impl Tenant {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Reason {
    /// The text, without blanks around it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tenant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b);
        if text.is_empty() || text.len() > MAX_TENANT || !text.bytes().all(allowed) {
            return Err(format!(
                "1 to {MAX_TENANT} of a-z, 0-9, - and _ are allowed"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Reason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > MAX_REASON || text.contains(char::is_control) {
            return Err(format!(
                "1 to {MAX_REASON} characters on one line are needed"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}
