//! The configuration: what is refused, what is shown, what is documented. Runs the real program.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bad;
mod contradictions;
mod files;
mod good;
mod program;
mod reference;
mod roles;
mod strategy;
