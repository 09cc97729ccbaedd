//! What is wrong with a configuration, all of it at once.

use std::fmt;

/// Longest name of a variable that a fault repeats, in characters.
const MAX_NAME: usize = 64;

/// One thing that is wrong. It never holds the value of a setting that may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The setting, as it is called where it was set.
    pub setting: String,
    /// What is wrong with it, as the rest of a sentence that begins with its name.
    pub problem: String,
}

/// Everything that is wrong with a configuration; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl Fault {
    /// A fault of `setting`; names that are too long to be names are cut.
    pub(super) fn new(setting: &str, problem: impl Into<String>) -> Self {
        let name = setting.chars().filter(|c| !c.is_control());
        Self {
            setting: name.take(MAX_NAME).collect(),
            problem: problem.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.problem)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => write!(f, "1 fault in the configuration:")?,
            n => write!(f, "{n} faults in the configuration:")?,
        }
        for fault in &self.0 {
            write!(f, "\n  {fault}")?;
        }
        Ok(())
    }
}
