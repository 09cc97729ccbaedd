//! Functions fit a screen, files fit a sitting.

use syn::{
    Block, ImplItemFn, ItemFn, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::source::{Source, Violation};

/// Longest function in lines, from `fn` to the closing brace.
const FUNCTION_LINES: usize = 70;

/// Longest Rust file in lines, tests included.
const FILE_LINES: usize = 400;

/// A long file does more than one job: split it by topic.
pub fn file(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().count();
    if source.is_rust() && lines > FILE_LINES {
        vec![Violation::new(
            0,
            format!("{lines} lines, {FILE_LINES} at most"),
        )]
    } else {
        Vec::new()
    }
}

/// A long function hides a step that has a name.
pub fn functions(source: &Source) -> Vec<Violation> {
    let mut measure = Measure(Vec::new());
    if let Some(file) = source.syntax() {
        measure.visit_file(file);
    }
    measure.0
}

struct Measure(Vec<Violation>);

impl Measure {
    fn take(&mut self, signature: &Signature, body: &Block) {
        let start = signature.span().start().line;
        let lines = body.brace_token.span.close().end().line + 1 - start;
        if lines > FUNCTION_LINES {
            let what = format!(
                "`{}` has {lines} lines, {FUNCTION_LINES} at most",
                signature.ident
            );
            self.0.push(Violation::new(start, what));
        }
    }
}

impl<'ast> Visit<'ast> for Measure {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.take(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.take(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.take(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of exactly this many lines.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    #[test]
    fn catches_a_function_one_line_too_long() {
        let fits = function("fits", FUNCTION_LINES);
        assert_eq!(functions(&Source::new("src/a.rs", &fits)), []);

        let long = function("long", FUNCTION_LINES + 1);
        for text in [
            format!("{fits}/// Docs do not count.\n{long}"),
            format!("{fits}impl A {{\n{long}}}"),
            format!("{fits}trait A {{\n{long}}}"),
            format!("{fits}mod a {{\n{long}}}"),
        ] {
            let found = functions(&Source::new("tests/a.rs", &text));
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].line, FUNCTION_LINES + 2);
            assert_eq!(found[0].what, "`long` has 71 lines, 70 at most");
        }
    }

    #[test]
    fn catches_a_function_inside_a_function() {
        let text = format!(
            "fn outer() {{\n{}\n}}",
            function("inner", FUNCTION_LINES + 1)
        );
        let found = functions(&Source::new("src/a.rs", &text));
        assert_eq!(
            found.len(),
            2,
            "both the inner one and the one around it: {found:?}"
        );
    }

    #[test]
    fn catches_a_file_one_line_too_long() {
        let fits = "// x\n".repeat(FILE_LINES);
        assert_eq!(file(&Source::new("devnet/src/a.rs", &fits)), []);
        let found = file(&Source::new("devnet/src/a.rs", &format!("{fits}// y\n")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(file(&Source::new("notes.md", &format!("{fits}// y\n"))), []);
    }
}
