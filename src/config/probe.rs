//! Where a worker or a reconciler answers probes. The api answers them where it serves everything else.

use super::http::address;
use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use std::net::SocketAddr;

static BIND: Setting = Setting::text(
    "PROBE_BIND",
    Presence::Optional("workers and reconcilers serve none"),
    "address:port",
    "Where a worker or a reconciler serves /livez, /readyz and /metrics, and nothing else. Port 0 takes any free one.",
);

static SETTINGS: &[&Setting] = &[&BIND];
pub(super) const GROUP: Group = Group {
    title: "Probes",
    settings: SETTINGS,
};

/// Where probes are answered, if anywhere.
pub(super) fn bind(r: &mut Reader) -> Option<SocketAddr> {
    let text = r.text(&BIND)?;
    address(r, &BIND, &text)
}
