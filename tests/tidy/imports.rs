//! Who may name whom: `main -> role | http -> flow -> ledger | queue | stellar -> domain`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{
    local,
    source::{Source, Violation},
};

/// Every module at the top of `src/`, and the modules it may name besides itself. A new module gets its line here.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("failpoint", &[]),
    ("config", &["domain"]),
    ("ledger", &["config", "domain"]),
    ("queue", &["config", "domain"]),
    ("stellar", &["config", "domain"]),
    ("telemetry", &["config", "domain"]),
    ("metrics", &["config", "domain"]),
    (
        "flow",
        &["config", "domain", "ledger", "metrics", "queue", "stellar"],
    ),
    ("outbox", &["config", "domain", "flow", "ledger"]),
    (
        "app",
        &[
            "config",
            "domain",
            "flow",
            "ledger",
            "metrics",
            "queue",
            "stellar",
            "telemetry",
        ],
    ),
    (
        "http",
        &[
            "app", "config", "domain", "flow", "ledger", "metrics", "queue", "stellar",
        ],
    ),
    (
        "role",
        &[
            "app",
            "config",
            "domain",
            "flow",
            "http",
            "ledger",
            "metrics",
            "queue",
            "stellar",
            "telemetry",
        ],
    ),
    (
        "cli",
        &[
            "app",
            "config",
            "domain",
            "flow",
            "http",
            "ledger",
            "metrics",
            "queue",
            "role",
            "stellar",
            "telemetry",
        ],
    ),
];

/// Crates that one module owns: everybody else goes through it.
const OWNED: &[(&str, &[&str])] = &[
    ("sea_orm", &["ledger"]),
    ("sqlx", &["ledger"]),
    ("migration", &["ledger"]),
    ("apalis", &["queue"]),
    ("apalis_core", &["queue"]),
    ("redis", &["queue"]),
    ("soroban_client", &["stellar"]),
    ("stellar_xdr", &["stellar"]),
    ("jsonrpsee", &["stellar"]),
    ("poem", &["http"]),
    ("poem_openapi", &["http"]),
    ("tender_devnet", &["cli", "role", "stellar"]),
];

/// The composition points, which may name every module of ours (and no owned crate).
const ROOTS: &[&str] = &["", "main"];

/// A name at the head of a path, resolved to the crate it starts from.
#[derive(Debug, PartialEq, Eq)]
enum Head {
    /// `crate::name`, also when written with `super`.
    Ours(String),
    /// `name::...` from the extern prelude, or a local name that looks like it.
    Extern(String),
    /// `std::name`.
    Std(String),
}

/// A module names only the layers below it; adapters never name each other.
pub fn directions(source: &Source) -> Vec<Violation> {
    let Some(module) = source.module() else {
        return Vec::new();
    };
    let top = module.first().map_or("", String::as_str);
    if ROOTS.contains(&top) {
        return Vec::new();
    }
    let Some((_, allowed)) = DIRECTIONS.iter().find(|(name, _)| *name == top) else {
        return vec![Violation::new(
            0,
            format!("module `{top}` has no line in the table of directions"),
        )];
    };
    heads(source, &module)
        .into_iter()
        .filter_map(|(line, head)| match head {
            Head::Ours(name)
                if name != top && is_module(&name) && !allowed.contains(&name.as_str()) =>
            {
                Some(Violation::new(
                    line,
                    format!("`{top}` must not name `{name}`"),
                ))
            }
            Head::Ours(_) | Head::Extern(_) | Head::Std(_) => None,
        })
        .collect()
}

/// SQL, the queue, the chain and HTTP each have one module that speaks their language.
pub fn owned_crates(source: &Source) -> Vec<Violation> {
    let Some(module) = source.module() else {
        return Vec::new();
    };
    let top = module.first().map_or("", String::as_str);
    let local = local::names(source);
    heads(source, &module)
        .into_iter()
        .filter_map(|(line, head)| {
            let Head::Extern(name) = head else {
                return None;
            };
            if local.contains(&name) {
                return None;
            }
            let (_, owners) = OWNED.iter().find(|(owned, _)| *owned == name)?;
            let what = format!("only {owners:?} may name the crate `{name}`");
            (!owners.contains(&top)).then(|| Violation::new(line, what))
        })
        .collect()
}

/// Settings are read in one place, so that all their faults are reported at once.
pub fn environment(source: &Source) -> Vec<Violation> {
    let Some(module) = source.module() else {
        return Vec::new();
    };
    if module.first().is_some_and(|top| top == "config") {
        return Vec::new();
    }
    heads(source, &module)
        .into_iter()
        .filter(|(_, head)| *head == Head::Std("env".to_owned()))
        .map(|(line, _)| Violation::new(line, "only `config` may read the environment"))
        .collect()
}

fn is_module(name: &str) -> bool {
    DIRECTIONS.iter().any(|(module, _)| *module == name)
}

fn heads(source: &Source, module: &[String]) -> Vec<(usize, Head)> {
    let mut found = Vec::new();
    collect(source.tokens().unwrap_or_default(), module, &mut found);
    found
}

/// Walks tokens rather than the syntax tree, so that paths in macros and attributes count too.
fn collect(tokens: TokenStream, module: &[String], found: &mut Vec<(usize, Head)>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < trees.len() {
        if let TokenTree::Group(group) = &trees[at] {
            let inline = inline_module(&trees, at);
            let inner: Vec<String> = module.iter().cloned().chain(inline).collect();
            collect(group.stream(), &inner, found);
            at += 1;
        } else if let Some(path) = path_at(&trees, at) {
            at = resolve(&trees, at, path, module, found);
        } else {
            at += 1;
        }
    }
}

/// The name of the inline module whose body stands at `at`: `mod name { ... }`.
fn inline_module(trees: &[TokenTree], at: usize) -> Option<String> {
    let is_mod = at >= 2 && trees[at - 2].to_string() == "mod";
    is_mod.then(|| trees[at - 1].to_string())
}

/// The first name of a path that starts at `at`, or `None` when no path does.
fn path_at(trees: &[TokenTree], at: usize) -> Option<String> {
    let TokenTree::Ident(name) = &trees[at] else {
        return None;
    };
    let continues = follows_colons(trees, at + 1);
    let is_tail = at >= 2
        && follows_colons(trees, at - 2)
        && !matches!(
            trees.get(at.wrapping_sub(3)),
            None | Some(TokenTree::Punct(_))
        );
    let imported = at >= 1 && trees[at - 1].to_string() == "use";
    ((continues && !is_tail) || imported).then(|| name.to_string())
}

fn follows_colons(trees: &[TokenTree], at: usize) -> bool {
    let colon =
        |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(trees.get(at)) && colon(trees.get(at + 1))
}

/// Resolves a path's first names and returns where to go on.
fn resolve(
    trees: &[TokenTree],
    at: usize,
    first: String,
    module: &[String],
    found: &mut Vec<(usize, Head)>,
) -> usize {
    let line = trees[at].span().start().line;
    let (base, mut next) = match first.as_str() {
        "crate" | "tender" => (Vec::new(), at + 3),
        "self" => (module.to_vec(), at + 3),
        "super" => climb(trees, at, module),
        "std" | "core" => {
            for name in names_at(trees, at + 3) {
                found.push((line, Head::Std(name)));
            }
            return at + 3;
        }
        _ => {
            found.push((line, Head::Extern(first)));
            return at + 1;
        }
    };
    next = next.min(trees.len());
    match base.first() {
        Some(top) => found.push((line, Head::Ours(top.clone()))),
        None => found.extend(
            names_at(trees, next)
                .into_iter()
                .map(|name| (line, Head::Ours(name))),
        ),
    }
    next
}

/// Follows `super::super::` upwards; returns the module reached and where the rest of the path starts.
fn climb(trees: &[TokenTree], mut at: usize, module: &[String]) -> (Vec<String>, usize) {
    let mut base = module.to_vec();
    while trees
        .get(at)
        .is_some_and(|tree| tree.to_string() == "super")
    {
        base.pop();
        at += 3;
    }
    (base, at)
}

/// The name at `at`, or the first names of a braced list of paths.
fn names_at(trees: &[TokenTree], at: usize) -> Vec<String> {
    match trees.get(at) {
        Some(TokenTree::Ident(name)) => vec![name.to_string()],
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let mut names = Vec::new();
            let mut starts = true;
            for tree in group.stream() {
                if starts {
                    names.push(tree.to_string());
                }
                starts = matches!(&tree, TokenTree::Punct(p) if p.as_char() == ',');
            }
            names
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "imports_tests.rs"]
mod tests;
