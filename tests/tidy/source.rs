//! A file of the repository as the rules see it, and the walk that finds them all.

use std::{cell::OnceCell, fmt, fs, path::Path};

use proc_macro2::TokenStream;

/// A file: its path from the repository's root with `/` between parts, and its text, parsed at most once.
pub struct Source {
    pub path: String,
    pub text: String,
    tokens: OnceCell<Option<TokenStream>>,
    syntax: OnceCell<Option<syn::File>>,
}

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// Counted from 1; 0 when the whole file is meant.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl Violation {
    pub fn new(line: usize, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
        }
    }
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tokens: OnceCell::new(),
            syntax: OnceCell::new(),
        }
    }

    pub fn is_rust(&self) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|ext| ext == "rs")
    }

    /// The file's tokens, comments dropped; macro bodies and attributes included. `None` for anything but Rust.
    pub fn tokens(&self) -> Option<TokenStream> {
        let parse = || self.is_rust().then(|| self.text.parse().ok()).flatten();
        self.tokens.get_or_init(parse).clone()
    }

    /// The file's syntax tree. `None` for anything but Rust.
    pub fn syntax(&self) -> Option<&syn::File> {
        let parse = || self.is_rust().then(|| syn::parse_file(&self.text).ok());
        self.syntax.get_or_init(|| parse().flatten()).as_ref()
    }

    /// Module path inside the service's crate: `src/http/auth.rs` is `["http", "auth"]`. `None` outside `src/`.
    pub fn module(&self) -> Option<Vec<String>> {
        let inner = self.path.strip_prefix("src/")?.strip_suffix(".rs")?;
        let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
        if parts
            .last()
            .is_some_and(|last| matches!(last.as_str(), "mod" | "lib"))
        {
            parts.pop();
        }
        Some(parts)
    }

    /// Whether this is a file of tests: `tests/` of any crate of the workspace.
    pub fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.contains("/tests/")
    }

    /// Whether the file is recorded data, of which nothing but its bytes can be asked.
    pub fn is_recorded(&self) -> bool {
        self.path.starts_with("devnet/tests/traces/") || self.path == "Cargo.lock"
    }
}

/// Every text file of the repository that is not built, downloaded or private.
pub fn repository() -> Vec<Source> {
    let mut found = Vec::new();
    walk(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(dir: &Path, prefix: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let entry = entry.expect("a directory that can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if is_private(&path, &name) {
            continue;
        }
        let kind = entry.file_type().expect("a file has a type");
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            found.push(Source::new(&path, &text));
        }
    }
}

/// What `.gitignore` names, and Git's own files.
fn is_private(path: &str, name: &str) -> bool {
    matches!(name, ".git" | "target" | "node_modules" | ".env")
        || name.contains(".sqlite")
        || path == "deploy/secrets"
}

#[test]
fn a_file_knows_its_module() {
    let module = |path| Source::new(path, "").module().map(|parts| parts.join("::"));
    assert_eq!(module("src/http/auth.rs").as_deref(), Some("http::auth"));
    assert_eq!(module("src/http/mod.rs").as_deref(), Some("http"));
    assert_eq!(module("src/lib.rs").as_deref(), Some(""));
    assert_eq!(module("src/main.rs").as_deref(), Some("main"));
    assert_eq!(module("tests/tidy/main.rs"), None);
}

#[test]
fn the_walk_sees_hidden_configuration_but_not_git() {
    let paths: Vec<String> = repository().into_iter().map(|source| source.path).collect();
    assert!(
        paths.contains(&".config/nextest.toml".to_owned()),
        "{paths:?}"
    );
    assert!(
        !paths
            .iter()
            .any(|path| path.starts_with(".git/") || path.starts_with("target/"))
    );
}
