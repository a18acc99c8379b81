//! The house rules that rustfmt and clippy do not know; CONTRIBUTING.md says why each is there.
//!
//! 1. A Rust file has at most 600 lines, a function outside tests at most 70, a line 100 columns.
//! 2. Text is ASCII and nothing is left to be done later.
//! 3. The engine never unwraps outside tests.
//! 4. `unsafe` has its rooms.
//! 5. Relative links in Markdown lead somewhere.
//! 6. Which system it is built for the engine asks in its seam only. What a system has of its own,
//!    the engine calls in its lowest layer only.

use std::path::Path;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::source::Source;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;

/// Where `unsafe` may stand: the engine's lowest layer, calls into C to compare with it, tests that
/// need `fork` and the like, and LMDB's opening in an example.
const UNSAFE_ROOMS: [&str; 26] = [
    "bindings/node/src/raw.rs",
    "bindings/python/src/view.rs",
    "crates/huon/src/os/",
    "crates/huon/src/lock/loom_models.rs",
    "crates/huon-bench/src/calls/library.rs",
    "crates/huon-bench/src/engine/bdb.rs",
    "crates/huon-bench/src/engine/leveldb.rs",
    "crates/huon-bench/src/engine/lmdb.rs",
    "crates/huon-bench/src/engine/mdbx.rs",
    "crates/huon-bench/src/engine/rocksdb.rs",
    "crates/huon-bench/src/engine/sqlite.rs",
    "crates/huon-bench/src/engine/system.rs",
    "crates/huon-c/src/pointers.rs",
    "crates/huon-c/tests/",
    "crates/huon-capi/src/abi/",
    "crates/huon-capi/src/bytes.rs",
    "crates/huon-capi/tests/",
    "crates/huon-lmdb/src/abi/",
    "crates/huon-lmdb/tests/",
    "crates/huon-mdbx/src/abi/",
    "crates/huon-mdbx/tests/",
    "crates/huon-testkit/src/c_calls/library.rs",
    "crates/huon/tests/",
    "crates/huon-testkit/tests/",
    "examples/src/bin/from_lmdb.rs",
    "examples/tests/programs.rs",
];

/// The engine, and its layer that calls the system.
const ENGINE: &str = "crates/huon/src/";
const SYSTEM_LAYER: &str = "crates/huon/src/os/";

/// Where the engine may ask which system it is built for (the seam), and by which names.
const SEAM: &str = "crates/huon/src/os/sys/";
const SYSTEM_NAMES: [&str; 7] = [
    "target_os",
    "target_family",
    "target_vendor",
    "target_env",
    "target_pointer_width",
    "unix",
    "windows",
];

/// What programs write has lines as they make them.
const GENERATED: [&str; 8] = [
    "Cargo.lock",
    "go.sum",
    "package-lock.json",
    ".svg",
    "docs/proof.json",
    "docs/planted.json",
    "conformance/cases.json",
    "conformance/exchange.json",
];

/// Words for work put off; spelled in two parts, so that they do not find themselves.
const LATER: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!("),
    concat!("unimpl", "emented!("),
];

/// Everything against the rules, as `path:line: what`.
pub(crate) fn check(root: &Path, files: &[Source]) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for file in files {
        let mut complain = |line: usize, what: &str| {
            complaints.push(format!("{}:{line}: {what}", file.path));
        };
        lines(file, &mut complain);
        if file.code.is_some() {
            functions(file, &mut complain);
            tokens(file, &mut complain);
        }
        if file.path.ends_with(".md") {
            links(root, file, &mut complain);
        }
    }
    Ok(complaints)
}

fn lines(file: &Source, complain: &mut impl FnMut(usize, &str)) {
    let is_generated = GENERATED.iter().any(|end| file.path.ends_with(end));
    if is_generated || file.path == "LICENSE" {
        return;
    }
    let lines_count = file.text.lines().count();
    if file.path.ends_with(".rs") && lines_count > FILE_LINES_MAX {
        complain(FILE_LINES_MAX, &format!("{lines_count} lines; split the file"));
    }
    for (i, line) in file.text.lines().enumerate() {
        // Addresses, pictures and the rows of Markdown tables cannot be broken.
        let in_markdown = line.contains('|') || line.starts_with("![");
        let unbreakable = line.contains("://") || file.path.ends_with(".md") && in_markdown;
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX && !unbreakable {
            complain(i + 1, &format!("{columns} columns"));
        }
        if !line.is_ascii() && !has_texts(&file.path) {
            complain(i + 1, "not ASCII");
        }
        if let Some(word) = LATER.iter().find(|word| has_word(line, word)) {
            complain(i + 1, &format!("`{word}`: do it, or open an issue"));
        }
    }
}

/// Whether a file may have letters of all alphabets: tests of bindings, since in their languages
/// keys and values are texts.
fn has_texts(path: &str) -> bool {
    path.strip_prefix("bindings/").is_some_and(|path| path.contains("test"))
}

/// True if `line` has `word` and no letter or digit beside it.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let after = line[at + word.len()..].chars().next();
        let call = word.ends_with('(');
        !part(line[..at].chars().next_back()) && (call || !part(after))
    })
}

fn functions(file: &Source, complain: &mut impl FnMut(usize, &str)) {
    struct Functions(Vec<(String, Span, Span)>);
    impl<'a> Visit<'a> for Functions {
        fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
            self.0.push((f.sig.ident.to_string(), f.sig.span(), f.block.span()));
            syn::visit::visit_item_fn(self, f);
        }
        fn visit_impl_item_fn(&mut self, f: &'a syn::ImplItemFn) {
            self.0.push((f.sig.ident.to_string(), f.sig.span(), f.block.span()));
            syn::visit::visit_impl_item_fn(self, f);
        }
        fn visit_trait_item_fn(&mut self, f: &'a syn::TraitItemFn) {
            if let Some(block) = &f.default {
                self.0.push((f.sig.ident.to_string(), f.sig.span(), block.span()));
            }
            syn::visit::visit_trait_item_fn(self, f);
        }
    }
    let (Some(code), false) = (&file.code, file.is_test()) else { return };
    let mut functions = Functions(Vec::new());
    functions.visit_file(code);
    for (name, head, body) in functions.0 {
        let (first, last) = (head.start().line, body.end().line);
        let lines_count = last + 1 - first;
        if lines_count > FUNCTION_LINES_MAX {
            complain(first, &format!("`{name}` has {lines_count} lines; it should fit a screen"));
        }
    }
}

fn tokens(file: &Source, complain: &mut impl FnMut(usize, &str)) {
    let safe = !UNSAFE_ROOMS.iter().any(|room| file.path.starts_with(room));
    if safe {
        // Tests too: what they need lives in the rooms.
        let whole: TokenStream = file.text.parse().unwrap_or_default();
        each(whole, &mut |trees| {
            if matches!(&trees[0], TokenTree::Ident(word) if word == "unsafe") {
                complain(trees[0].span().start().line, "`unsafe` outside its rooms");
            }
        });
    }
    if file.path.starts_with(ENGINE) && !file.path.starts_with(SEAM) {
        // Tests too, so that they run everywhere.
        each(file.text.parse().unwrap_or_default(), &mut |trees| {
            for name in system_names(trees) {
                complain(
                    name.span().start().line,
                    &format!("`{name}` is asked for outside of os/sys"),
                );
            }
        });
    }
    if file.path.starts_with(ENGINE) && !file.path.starts_with(SYSTEM_LAYER) {
        each(file.text.parse().unwrap_or_default(), &mut |trees| {
            if let Some((word, path)) = system_path(trees) {
                complain(
                    word.span().start().line,
                    &format!("`{path}` outside of os: name there what it does"),
                );
            }
        });
    }
    if file.path.starts_with(ENGINE) {
        each(file.tokens(), &mut |trees| {
            if let [TokenTree::Punct(dot), TokenTree::Ident(name), TokenTree::Group(args), ..] =
                trees
                && dot.as_char() == '.'
                && name == "unwrap"
                && args.stream().is_empty()
            {
                complain(name.span().start().line, "`unwrap()` in the engine");
            }
        });
    }
}

/// The names of systems in the condition that begins here: `cfg(..)`, `cfg!(..)`, `cfg_attr(..)`.
fn system_names(trees: &[TokenTree]) -> Vec<Ident> {
    let condition = match trees {
        [TokenTree::Ident(word), TokenTree::Group(group), ..]
            if word == "cfg" || word == "cfg_attr" =>
        {
            group
        }
        [TokenTree::Ident(word), TokenTree::Punct(mark), TokenTree::Group(group), ..]
            if word == "cfg" && mark.as_char() == '!' =>
        {
            group
        }
        _ => return Vec::new(),
    };
    let mut names = Vec::new();
    each(condition.stream(), &mut |inner| {
        if let TokenTree::Ident(name) = &inner[0]
            && SYSTEM_NAMES.iter().any(|system| name == system)
        {
            names.push(name.clone());
        }
    });
    names
}

/// The path into what a system has of its own that begins here: `libc`, `std::os`, and
/// `std::{os::..}`.
fn system_path(trees: &[TokenTree]) -> Option<(&Ident, &'static str)> {
    match trees {
        [TokenTree::Ident(word), ..] if word == "libc" => Some((word, "libc")),
        [TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Punct(mark), next, ..]
            if word == "std" && mark.as_char() == ':' =>
        {
            let is_os = |tree: &TokenTree| matches!(tree, TokenTree::Ident(name) if name == "os");
            let leads_there = match next {
                TokenTree::Group(group) => group.stream().into_iter().any(|tree| is_os(&tree)),
                tree => is_os(tree),
            };
            leads_there.then_some((word, "std::os"))
        }
        _ => None,
    }
}

/// Calls `look` with what begins at each token, group by group.
fn each(tokens: TokenStream, look: &mut impl FnMut(&[TokenTree])) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, tree) in trees.iter().enumerate() {
        look(&trees[i..]);
        if let TokenTree::Group(group) = tree {
            each(group.stream(), look);
        }
    }
}

fn links(root: &Path, file: &Source, complain: &mut impl FnMut(usize, &str)) {
    let dir = root.join(&file.path).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut fenced = false;
    for (i, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in targets(line) {
            let path = target.split('#').next().unwrap_or_default();
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !outside && !path.is_empty() && !dir.join(path).exists() {
                complain(i + 1, &format!("link to `{target}` leads nowhere"));
            }
        }
    }
}

/// The targets of the links in a line of Markdown, `[..](target)` and `[..]: target`.
fn targets(line: &str) -> Vec<&str> {
    // Every second part between backticks is code, where nothing is a link.
    let prose = line.split('`').step_by(2);
    let mut targets: Vec<&str> = prose
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter_map(|inner| inner.split_whitespace().next())
        .collect();
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        targets.extend(target.split_whitespace().next());
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("HERE.md"), "").unwrap();
        check(dir.path(), &sources(&[(path, text)])).unwrap()
    }

    #[test]
    fn sizes() {
        let function = |lines: usize| format!("/// doc\nfn f() {{\n{}}}\n", "a();\n".repeat(lines));
        assert_eq!(complaints("a.rs", &function(68)), [""; 0]);
        assert_eq!(
            complaints("a.rs", &function(69)),
            ["a.rs:2: `f` has 71 lines; it should fit a screen"]
        );
        assert_eq!(complaints("tests/a.rs", &function(90)), [""; 0]);
        assert_eq!(complaints("a.rs", &format!("#[test] {}", function(90))).len(), 0);
        assert_eq!(
            complaints("a.rs", &"const A: u8 = 1;\n".repeat(601)),
            ["a.rs:600: 601 lines; split the file"]
        );
        assert_eq!(
            complaints("a.toml", &format!("# {}", "a".repeat(99))),
            ["a.toml:1: 101 columns"]
        );
        assert_eq!(complaints("a.md", &format!("| {} |", "a".repeat(99))), [""; 0]);
        assert_eq!(complaints("a.md", &format!("![{}](HERE.md)", "a".repeat(99))), [""; 0]);
        assert_eq!(complaints("a.md", &"a".repeat(101)), ["a.md:1: 101 columns"]);
    }

    #[test]
    fn words() {
        assert_eq!(complaints("a.md", "caf\u{e9}"), ["a.md:1: not ASCII"]);
        assert_eq!(complaints("bindings/go/a.go", "// \u{e4}"), ["bindings/go/a.go:1: not ASCII"]);
        assert_eq!(complaints("bindings/go/a_test.go", "// \u{e4}"), [""; 0]);
        let later = format!("// {}: more", LATER[0]);
        assert_eq!(complaints("a.rs", &later).len(), 1);
        assert_eq!(complaints("a.rs", &later.replace(':', "S")), [""; 0]);
        assert_eq!(complaints("a.rs", &format!("fn f() {{ {}) }}", LATER[3])).len(), 1);
    }

    #[test]
    fn unwrap_and_unsafe() {
        let unwrap = "fn f() { x()\n.unwrap(); } // .unwrap()";
        assert_eq!(
            complaints("crates/huon/src/tree.rs", unwrap),
            ["crates/huon/src/tree.rs:2: `unwrap()` in the engine"]
        );
        let in_test =
            format!("#[cfg(test)] mod tests {{ {} }}", unwrap.replace("// .unwrap()", ""));
        assert_eq!(complaints("crates/huon/src/tree.rs", &in_test), [""; 0]);
        assert_eq!(complaints("xtask/src/x.rs", unwrap), [""; 0]);
        let text = "// unsafe\nfn f() { unsafe { g(\"unsafe\") } }";
        assert_eq!(complaints("crates/huon/src/os/map.rs", text), [""; 0]);
        assert_eq!(
            complaints("crates/huon/src/tree.rs", text),
            ["crates/huon/src/tree.rs:2: `unsafe` outside its rooms"]
        );
    }

    #[test]
    fn systems() {
        let found = |text: &str| complaints("crates/huon/src/os/map.rs", text);
        assert_eq!(
            found("fn f() {}\n#[cfg(any(test, target_os = \"linux\"))] fn g() {}"),
            ["crates/huon/src/os/map.rs:2: `target_os` is asked for outside of os/sys"]
        );
        assert_eq!(found("#[cfg(test)] mod tests { #[cfg(unix)] fn g() {} }").len(), 1);
        assert_eq!(found("fn f() -> bool { cfg!(windows) }").len(), 1);
        assert_eq!(found("#[cfg_attr(target_env = \"gnu\", inline)] fn f() {}").len(), 1);
        let fine =
            "// cfg(unix)\n#[cfg(all(test, loom))] fn f() -> bool { cfg!(target_arch = \"arm\") }";
        assert_eq!(found(fine), [""; 0]);
        let text = "#[cfg(unix)] fn f() {}";
        assert_eq!(complaints("crates/huon/src/os/sys/mod.rs", text), [""; 0]);
        assert_eq!(complaints("crates/huon/tests/x.rs", text), [""; 0]);
    }

    #[test]
    fn calls_of_the_system() {
        let found = |text: &str| complaints("crates/huon/src/env/open.rs", text);
        assert_eq!(
            found("fn f() {}\nuse std::os::fd::AsRawFd;"),
            ["crates/huon/src/env/open.rs:2: `std::os` outside of os: name there what it does"]
        );
        assert_eq!(found("use std::{io, os::unix::fs::MetadataExt};").len(), 1);
        assert_eq!(found("fn f() -> i32 { g(libc::EIO) }").len(), 1);
        assert_eq!(found("#[cfg(test)] mod tests { use libc::EIO; }").len(), 1);
        let fine =
            "/// libc::fork, `std::os`\nuse crate::os::{self, Map}; use std::{io, path::Path};";
        assert_eq!(found(fine), [""; 0]);
        let text = "use std::os::fd::AsRawFd; fn f() -> i32 { libc::EIO }";
        assert_eq!(complaints("crates/huon/src/os/map.rs", text), [""; 0]);
        assert_eq!(complaints("crates/huon/tests/x.rs", text), [""; 0]);
    }

    #[test]
    fn links() {
        let good = "[a](HERE.md#x) [b](https://x.org/y) [c](#part) `[d](gone.md)`\n[e]: HERE.md";
        assert_eq!(complaints("a.md", good), [""; 0]);
        assert_eq!(
            complaints("a.md", "see [a](gone.md), [b](HERE.md)\n\n[c]: nowhere.md").len(),
            2
        );
        assert_eq!(complaints("a.md", "```\n[a](gone.md)\n```"), [""; 0]);
    }
}
