//! Refuses settings that nobody reads: a misspelt limit must not silently be no limit.

use super::fault::Fault;
use super::registry;

/// Beginnings of names that are ours.
const PREFIXES: [&str; 11] = [
    "DATABASE_",
    "REDIS_",
    "STELLAR_",
    "TX_",
    "RECONCILER_",
    "OUTBOX_",
    "FEE_",
    "QUEUE_",
    "HTTP_",
    "PROBE_",
    "LOG_",
];

/// Variables of others that begin like ours.
const FOREIGN: [&str; 1] = ["HTTP_PROXY"];

/// A fault if the variable looks like a setting of ours and is none.
pub(super) fn check(name: &str) -> Option<Fault> {
    if is_known(name) {
        return None;
    }
    if let Some(setting) = name.strip_suffix("_FILE").and_then(registry::find) {
        let problem = format!(
            "is unknown: only secrets are read from files, {} is not one",
            setting.name
        );
        return Some(Fault::new(name, problem));
    }
    let ours = concerns_us(name);
    // Elsewhere only a single slip is taken for a misspelling: other programs have variables too.
    let slips = if ours { 4 } else { 1 };
    match closest(name.strip_suffix("_FILE").unwrap_or(name)) {
        Some((meant, distance)) if distance <= slips => Some(Fault::new(
            name,
            format!("is unknown; did you mean {meant}?"),
        )),
        Some(_) | None => ours.then(|| Fault::new(name, "is unknown")),
    }
}

/// Whether a variable of that name would be read or refused.
pub(super) fn concerns_us(name: &str) -> bool {
    let ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    ours && !FOREIGN.contains(&name) && !is_service_link(name)
}

fn is_known(name: &str) -> bool {
    let base = name.strip_suffix("_FILE").and_then(registry::find);
    registry::find(name).is_some() || base.is_some_and(super::Setting::has_file_form)
}

/// Kubernetes and old container links put the addresses of services into the environment: `REDIS_PORT_6379_TCP_ADDR`.
fn is_service_link(name: &str) -> bool {
    let Some((service, rest)) = name.split_once("_PORT") else {
        return name.ends_with("_SERVICE_HOST");
    };
    let tail = rest.strip_prefix('_').unwrap_or_default();
    let numbered = tail.starts_with(|c: char| c.is_ascii_digit());
    rest.is_empty() || numbered || service.ends_with("_SERVICE")
}

fn closest(name: &str) -> Option<(&'static str, usize)> {
    // Edit distance is quadratic; no setting's name is longer than this.
    if name.len() > 48 {
        return None;
    }
    let distances = registry::all().map(|s| (s.name, strsim::osa_distance(name, s.name)));
    distances.min_by_key(|(_, distance)| *distance)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn variables_of_others_are_left_alone() {
        let others = [
            "PATH",
            "HTTP_PROXY",
            "REDIS_PORT",
            "REDIS_SERVICE_HOST",
            "REDIS_SERVICE_PORT_CLIENT",
            "REDIS_PORT_6379_TCP_ADDR",
            "DATABASE_PORT_5432_TCP",
            "RUST_LOG",
            "POSTGRES_PASSWORD",
            "LOGNAME",
        ];
        for name in others {
            assert_eq!(check(name), None);
        }
    }

    #[test]
    fn misspelt_settings_are_refused_with_a_suggestion() {
        let rows = [
            ("DATABASE_URI", "DATABASE_URL"),
            ("TX_MAX_TRANSIENT_RETRY", "TX_MAX_TRANSIENT_RETRIES"),
            ("STELAR_RPC_URLS", "STELLAR_RPC_URLS"),
            ("DATABASE_ULR_FILE", "DATABASE_URL"),
        ];
        for (name, meant) in rows {
            let fault = check(name).unwrap().to_string();
            assert!(fault.contains(meant), "{fault}");
        }
        assert_eq!(
            check("LOG_SHIPPING_ENDPOINT").unwrap().problem,
            "is unknown"
        );
    }
}
