//! The deployment files: what they promise, and that they agree with each other and with the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is how a test speaks"
)]

mod alerts;
mod compose;
mod dockerfile;
mod secrets;
#[path = "../support/mod.rs"]
mod support;

use std::{fs, path::Path};

/// A file of the repository, by its path from the root.
fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}
