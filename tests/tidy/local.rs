//! Names that a file gives to modules of ours, and which are then no crates: `mod redis;`, `use super::redis;`.

use std::collections::HashSet;

use syn::{
    ItemMod, ItemUse, UseTree,
    visit::{self, Visit},
};

use crate::source::Source;

/// Every such name of the file.
pub fn names(source: &Source) -> HashSet<String> {
    let mut names = Names(HashSet::new());
    if let Some(file) = source.syntax() {
        names.visit_file(file);
    }
    names.0
}

struct Names(HashSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.0.insert(item.ident.to_string());
        visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if let UseTree::Path(path) = &item.tree
            && (path.ident == "crate" || path.ident == "super" || path.ident == "self")
        {
            self.leaves(&path.tree);
        }
    }
}

impl Names {
    fn leaves(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.leaves(&path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.leaves(item)),
            UseTree::Name(name) => {
                self.0.insert(name.ident.to_string());
            }
            UseTree::Rename(rename) => {
                self.0.insert(rename.rename.to_string());
            }
            UseTree::Glob(_) => {}
        }
    }
}

#[test]
fn modules_and_imports_of_ours_are_local() {
    let text =
        "mod redis; use super::{poem as p, a::{sqlx}}; use apalis::prelude; use crate::migration;";
    let names = names(&Source::new("src/config/mod.rs", text));
    for name in ["redis", "p", "sqlx", "migration"] {
        assert!(names.contains(name), "{name}");
    }
    for name in ["poem", "apalis", "prelude", "super"] {
        assert!(!names.contains(name), "{name}");
    }
}
