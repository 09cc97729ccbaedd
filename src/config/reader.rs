//! Reads settings one by one, collecting every fault and what is to be shown of each value.

use super::fault::{Fault, Faults};
use super::registry;
use super::setting::{Presence, Setting, Shape};
use super::show;
use secrecy::SecretString;
use std::time::Duration;

/// Longest value of a setting, in bytes: a thousand listed secret keys fit.
const MAX_VALUE: usize = 64 * 1024;

/// A setting and its effective value as it may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Name of the setting.
    pub setting: &'static str,
    /// The value, hidden or shortened where it may be secret; none where nothing is set.
    pub value: Option<String>,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Where an effective value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was set, in the environment or in `.env`.
    Set,
    /// It stands in a file that `NAME_FILE` names.
    File,
    /// Its default.
    Default,
}

/// Looks a variable up by name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;
/// Reads the file a `NAME_FILE` variable names, or says what is wrong with it without repeating its name or content.
pub type OpenFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reads settings from a lookup. Its methods give `None` for what is not set or faulty; only a value read without any fault is handed out.
pub struct Reader<'a> {
    lookup: Lookup<'a>,
    open: OpenFile<'a>,
    faults: Vec<Fault>,
    effective: Vec<Effective>,
    read: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lookup: Lookup<'a>, open: OpenFile<'a>) -> Self {
        Self {
            lookup,
            open,
            faults: Vec::new(),
            effective: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Records that something is wrong with a setting; the same fault of two roles counts once.
    pub(super) fn fault(&mut self, setting: &Setting, problem: impl Into<String>) {
        self.push_fault(Fault::new(setting.name, problem));
    }

    pub(super) fn push_fault(&mut self, fault: Fault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// Names of the settings that were read so far.
    pub(super) fn names_read(&self) -> Vec<&'static str> {
        self.read.clone()
    }

    /// Whether the setting is set, in either form.
    pub(super) fn is_set(&self, setting: &Setting) -> bool {
        let set = |name: &str| (self.lookup)(name).is_some_and(|v| !v.trim().is_empty());
        set(setting.name) || (setting.has_file_form() && set(&file_form(setting)))
    }

    /// The value of a setting, or its default. A required one that is missing is a fault.
    pub(super) fn text(&mut self, setting: &'static Setting) -> Option<String> {
        debug_assert!(registry::find(setting.name).is_some(), "{}", setting.name);
        self.read.push(setting.name);
        let set = match self.set_value(setting) {
            Ok(set) => set,
            Err(fault) => {
                self.push_fault(fault);
                return None;
            }
        };
        let (value, origin) = match (set, setting.presence) {
            (Some((value, origin)), _) => (Some(value), origin),
            (None, Presence::Default(value)) => (Some(value.to_owned()), Origin::Default),
            (None, Presence::Optional(_)) => (None, Origin::Default),
            (None, Presence::Required) => {
                self.fault(setting, "is required and not set");
                (None, Origin::Default)
            }
        };
        self.record(setting, value.as_deref(), origin);
        value
    }

    fn set_value(&self, setting: &Setting) -> Result<Option<(String, Origin)>, Fault> {
        let direct = non_empty((self.lookup)(setting.name));
        let file_name = file_form(setting);
        let by_file = setting.has_file_form();
        let file = non_empty((self.lookup)(&file_name)).filter(|_| by_file);
        let (value, origin) = match (direct, file) {
            (Some(_), Some(_)) => {
                let problem = format!("contradicts {file_name}: set one of them");
                return Err(Fault::new(setting.name, problem));
            }
            (Some(value), None) => (value, Origin::Set),
            (None, Some(path)) => {
                let content = (self.open)(&path).map_err(|p| Fault::new(&file_name, p))?;
                let value = non_empty(Some(content));
                let empty = || Fault::new(&file_name, "the file is empty");
                (value.ok_or_else(empty)?, Origin::File)
            }
            (None, None) => return Ok(None),
        };
        if value.len() > MAX_VALUE {
            let problem = format!("is longer than {MAX_VALUE} bytes");
            return Err(Fault::new(setting.name, problem));
        }
        Ok(Some((value, origin)))
    }

    fn record(&mut self, setting: &'static Setting, value: Option<&str>, origin: Origin) {
        if !self.effective.iter().any(|e| e.setting == setting.name) {
            self.effective.push(Effective {
                setting: setting.name,
                value: value.map(|v| show::value(setting, v)),
                origin,
            });
        }
    }

    /// The value of a setting that must not be shown.
    pub(super) fn secret(&mut self, setting: &'static Setting) -> Option<SecretString> {
        self.text(setting).map(SecretString::from)
    }

    /// A whole number within the range the setting states.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, setting: &'static Setting) -> Option<T> {
        let text = self.text(setting)?;
        let Shape::Number { unit, min, max } = setting.shape else {
            debug_assert!(false, "{} is no number", setting.name);
            return None;
        };
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|_| digits);
        let in_range = number.filter(|n| (min..=max).contains(n));
        let value = in_range.and_then(|n| T::try_from(n).ok());
        if value.is_none() {
            let shown = show::public(&text);
            let problem =
                format!("must be a whole number of {unit} from {min} to {max}, not `{shown}`");
            self.fault(setting, problem);
        }
        value
    }

    /// A time in milliseconds within the range the setting states.
    pub(super) fn millis(&mut self, setting: &'static Setting) -> Option<Duration> {
        self.number(setting).map(Duration::from_millis)
    }

    /// The value that was built, if nothing at all was wrong, and what is to be shown of it.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<(T, Vec<Effective>), Faults> {
        match value {
            Some(value) if self.faults.is_empty() => Ok((value, self.effective)),
            Some(_) | None => {
                debug_assert!(
                    !self.faults.is_empty(),
                    "a value is missing without a fault"
                );
                Err(Faults(self.faults))
            }
        }
    }
}

/// Name of the variable that names a file with the setting's value.
pub(super) fn file_form(setting: &Setting) -> String {
    format!("{}_FILE", setting.name)
}

/// A variable that is empty counts as not set: compose files pass empty ones on.
fn non_empty(value: Option<String>) -> Option<String> {
    let value = value?;
    let trimmed = value.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
