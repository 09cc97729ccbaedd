//! Where settings come from: the process environment first, then a `.env` file. The environment itself is never changed.

use super::fault::Fault;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Largest `.env` file and largest file of a secret, in bytes.
const MAX_FILE: u64 = 256 * 1024;

/// Variables as they were found, with what was wrong in finding them. It holds secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub struct Source {
    variables: BTreeMap<String, String>,
    faults: Vec<Fault>,
}

impl Source {
    /// The environment of this process over the `.env` file of the working directory, or over `env_file`, which must then exist.
    #[must_use]
    pub fn from_process(env_file: Option<&Path>) -> Self {
        let mut source = Self::default();
        source.add_env_file(env_file);
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the environment"
        )]
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str() else {
                continue;
            };
            match value.to_str() {
                Some(value) => {
                    source.variables.insert(name.to_owned(), value.to_owned());
                }
                None if super::unknown::concerns_us(name) => {
                    source.faults.push(Fault::new(name, "is not UTF-8"));
                }
                None => {}
            }
        }
        source
    }

    /// The variables given, and nothing else.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let pairs = pairs.into_iter().map(|(n, v)| (n.into(), v.into()));
        Self {
            variables: pairs.collect(),
            faults: Vec::new(),
        }
    }

    /// The value of a variable.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    /// Names of all variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// What was wrong in finding the variables.
    pub(super) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    fn add_env_file(&mut self, path: Option<&Path>) {
        let chosen = path.unwrap_or(Path::new(".env"));
        let label = path.map_or(".env", |_| "--env-file");
        match read_text(chosen) {
            Ok(text) => self.add_env_text(label, &text),
            Err(ReadFault::Missing) if path.is_none() => {}
            Err(fault) => self.faults.push(Fault::new(label, fault.problem())),
        }
    }

    /// Takes the variables of a `.env` text; its parser's own errors repeat the line, which may hold a secret.
    fn add_env_text(&mut self, label: &str, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for item in dotenvy::from_read_iter(text.as_bytes()) {
            match item {
                Ok((name, value)) => {
                    if self.variables.insert(name.clone(), value).is_some() {
                        let problem = format!("is set twice in {label}");
                        self.faults.push(Fault::new(&name, problem));
                    }
                }
                Err(dotenvy::Error::LineParse(line, _)) => {
                    let number = line_number(text, &line);
                    let problem = format!(
                        "line {number} is not NAME=value (a value with spaces, `#`, `$` or quotes needs 'single quotes')"
                    );
                    self.faults.push(Fault::new(label, problem));
                }
                Err(_) => {
                    self.faults
                        .push(Fault::new(label, "cannot be read to its end"));
                    return;
                }
            }
        }
    }
}

/// Reads the file of a secret. The name is not repeated on failure: it may be the secret itself, put into the wrong variable.
pub(super) fn open_secret(path: &str) -> Result<String, String> {
    read_text(Path::new(path)).map_err(ReadFault::problem)
}

enum ReadFault {
    Missing,
    Denied,
    NotText,
    TooLarge,
    Other(ErrorKind),
}

impl ReadFault {
    fn problem(self) -> String {
        match self {
            Self::Missing => "the file does not exist".to_owned(),
            Self::Denied => "this user may not read the file".to_owned(),
            Self::NotText => "the file is not UTF-8 text".to_owned(),
            Self::TooLarge => format!("the file is larger than {MAX_FILE} bytes"),
            Self::Other(kind) => format!("the file cannot be read ({kind})"),
        }
    }
}

fn read_text(path: &Path) -> Result<String, ReadFault> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes));
    match read.map_err(|e| e.kind()) {
        Ok(n) if n as u64 > MAX_FILE => Err(ReadFault::TooLarge),
        Ok(_) => String::from_utf8(bytes).map_err(|_| ReadFault::NotText),
        Err(ErrorKind::NotFound) => Err(ReadFault::Missing),
        Err(ErrorKind::PermissionDenied) => Err(ReadFault::Denied),
        Err(kind) => Err(ReadFault::Other(kind)),
    }
}

/// The line on which the parser stumbled, from 1.
fn line_number(text: &str, line: &str) -> usize {
    let before = text.find(line.trim()).map_or("", |at| &text[..at]);
    before.matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn from_text(text: &str) -> Source {
        let mut source = Source::default();
        source.add_env_text(".env", text);
        source
    }

    #[test]
    fn comments_quotes_and_exports_are_understood() {
        let source = from_text(
            "\u{feff}# don't stop here\nexport A=1\n  # 'nor here\nB='two $words'\nC=\"3\" # three\nD=\n",
        );
        let values: Vec<_> = source.variables.values().map(String::as_str).collect();
        assert_eq!(values, ["1", "two $words", "3", ""]);
        assert!(source.faults.is_empty());
    }

    #[test]
    fn a_broken_line_is_named_by_number_and_not_repeated() {
        let source = from_text("A=1\nSTELLAR_TREASURY_SECRET=hunter2 hunter3\nB=2\n");
        assert_eq!(source.lookup("B").unwrap(), "2");
        let fault = source.faults.first().unwrap();
        assert!(fault.problem.starts_with("line 2 is not"), "{fault}");
        assert!(!fault.to_string().contains("hunter"));
    }

    #[test]
    fn a_variable_set_twice_is_a_fault() {
        let source = from_text("A=1\nA=2\n");
        assert_eq!(
            source.faults.first().unwrap().to_string(),
            "A: is set twice in .env"
        );
    }
}
