//! What is logged, and how.

use super::reader::Reader;
use super::registry::Group;
use super::setting::{Presence, Setting};
use super::show;
use super::source::{self, Source};
use tracing_subscriber::EnvFilter;

/// Longest filter, in bytes.
const MAX_FILTER: usize = 1_024;
/// What is logged unless something else is asked for.
const DEFAULT_FILTER: &str = "info,sqlx=warn,sea_orm_migration=warn";

static FORMAT: Setting = Setting::text(
    "LOG_FORMAT",
    Presence::Default("auto"),
    "auto, pretty or json",
    "Form of the log on standard error. `auto` is pretty on a terminal and JSON elsewhere.",
);
static FILTER: Setting = Setting::text(
    "LOG_FILTER",
    Presence::Default(DEFAULT_FILTER),
    "levels by module, such as info,tender=debug",
    "What is logged. Levels are error, warn, info, debug and trace.",
);

static SETTINGS: &[&Setting] = &[&FORMAT, &FILTER];
pub(super) const GROUP: Group = Group {
    title: "Log",
    settings: SETTINGS,
};

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Form of a line.
    pub format: LogFormat,
    /// Filter directives that were checked.
    pub filter: String,
}

/// Form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Pretty on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Pretty,
    /// For machines, one object a line.
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Auto,
            filter: DEFAULT_FILTER.to_owned(),
        }
    }
}

impl Log {
    /// How to log while the configuration as a whole has not been judged yet; defaults where it is faulty, which the command then reports.
    #[must_use]
    pub fn early(source: &Source) -> Self {
        let lookup = |name: &str| source.lookup(name);
        let mut reader = Reader::new(&lookup, &source::open_secret);
        Self::parse(&mut reader).unwrap_or_default()
    }

    pub(super) fn parse(r: &mut Reader) -> Option<Self> {
        let format = r.text(&FORMAT).and_then(|text| match text.as_str() {
            "auto" => Some(LogFormat::Auto),
            "pretty" => Some(LogFormat::Pretty),
            "json" => Some(LogFormat::Json),
            other => {
                let shown = show::public(other);
                r.fault(
                    &FORMAT,
                    format!("must be auto, pretty or json, not `{shown}`"),
                );
                None
            }
        });
        let filter = r.text(&FILTER).filter(|text| {
            let valid = text.len() <= MAX_FILTER && EnvFilter::try_new(text).is_ok();
            if !valid {
                let shown = show::public(text);
                r.fault(
                    &FILTER,
                    format!("must be levels by module, such as info,tender=debug, not `{shown}`"),
                );
            }
            valid
        });
        Some(Self {
            format: format?,
            filter: filter?,
        })
    }
}
