//! Every setting there is, in the order of the documentation.

use super::setting::Setting;
use super::{database, fees, http, log, probe, queue, redis, relay, rpc, signers, submit};

/// Settings of one concern.
#[derive(Debug)]
pub struct Group {
    /// Its heading.
    pub title: &'static str,
    /// Its settings.
    pub settings: &'static [&'static Setting],
}

/// Every setting, by concern.
pub static GROUPS: &[Group] = &[
    database::GROUP,
    redis::GROUP,
    rpc::GROUP,
    signers::GROUP,
    submit::GROUP,
    fees::GROUP,
    queue::GROUP,
    relay::GROUP,
    http::GROUP,
    probe::GROUP,
    log::GROUP,
];

/// Every setting.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings).copied()
}

/// The setting of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.name == name)
}
