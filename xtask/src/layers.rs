//! The layers of the engine: a module uses lower ones only. Tests may use anything.

use std::collections::HashMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Item, UseTree};

use crate::source::Source;

/// Lowest first. A new top-level module of the engine needs its place here.
const LAYERS: [&str; 17] = [
    "error",
    "alloc",
    "planted",
    "failpoint",
    "serial",
    "tell",
    "os",
    "lock",
    "page",
    "journal",
    "sim",
    "store",
    "tree",
    "txn",
    "table",
    "env",
    "ops",
];

const ENGINE: &str = "crates/huon/src/";

/// Every use of a higher layer, as `path:line: what`.
pub(crate) fn check(files: &[Source]) -> Result<Vec<String>, String> {
    let root = files.iter().find(|f| f.path == format!("{ENGINE}lib.rs"));
    let root = root.and_then(|f| f.code.as_ref()).ok_or("crates/huon/src/lib.rs is missing")?;
    let exported = exports(root);
    let mut complaints = Vec::new();
    for file in files {
        let Some(inner) = file.path.strip_prefix(ENGINE).and_then(|p| p.strip_suffix(".rs")) else {
            continue;
        };
        let module: Vec<&str> = inner.split('/').filter(|part| *part != "mod").collect();
        if module == ["lib"] || file.is_test() {
            continue;
        }
        let Some(own) = rank(module[0]) else {
            complaints.push(format!("{}:1: module `{}` has no layer", file.path, module[0]));
            continue;
        };
        let mut uses = Vec::new();
        collect(file.tokens(), module.len(), &mut uses);
        for (line, name) in uses {
            let layer = exported.get(&name).unwrap_or(&name);
            let what = match rank(layer) {
                Some(other) if other > own => format!("`{}` uses `{layer}` above it", LAYERS[own]),
                Some(_) => continue,
                None => format!("`crate::{name}` is neither a layer nor exported from one"),
            };
            complaints.push(format!("{}:{line}: {what}", file.path));
        }
    }
    Ok(complaints)
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|name| *name == layer)
}

/// What the crate's root takes from its modules: name to layer.
fn exports(root: &syn::File) -> HashMap<String, String> {
    fn leaves(tree: &UseTree, layer: Option<&str>, into: &mut HashMap<String, String>) {
        let mut leaf = |name: String| {
            into.insert(name.clone(), layer.unwrap_or(&name).to_string());
        };
        match tree {
            UseTree::Path(path) => {
                let name = path.ident.to_string();
                let passed = (name != "crate" && name != "self").then_some(name.as_str());
                leaves(&path.tree, layer.or(passed), into);
            }
            UseTree::Group(group) => group.items.iter().for_each(|t| leaves(t, layer, into)),
            UseTree::Name(name) => leaf(name.ident.to_string()),
            UseTree::Rename(rename) => leaf(rename.rename.to_string()),
            UseTree::Glob(_) => {}
        }
    }
    let mut exported = HashMap::new();
    for item in &root.items {
        if let Item::Use(item) = item {
            leaves(&item.tree, None, &mut exported);
        }
    }
    exported
}

/// Collects the names that follow the crate's root in paths: `crate::x`, `crate::{x, y}`, and as
/// many `super` as lead to the root from a module `depth` below it.
fn collect(tokens: TokenStream, depth: usize, uses: &mut Vec<(usize, String)>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for i in 0..trees.len() {
        if let TokenTree::Group(group) = &trees[i] {
            let module = i >= 2 && is_ident(&trees[i - 2], "mod");
            collect(group.stream(), depth + usize::from(module), uses);
        }
        let starts = i == 0 || !is_punct(&trees[i - 1], ':');
        if starts && let Some(after) = root_path(&trees[i..], depth) {
            names(&trees[i + after..], uses);
        }
    }
}

/// The number of tokens that spell the crate's root and the `::` after it, if `trees` begin so.
fn root_path(trees: &[TokenTree], depth: usize) -> Option<usize> {
    let word = match trees.first()? {
        first if is_ident(first, "crate") => "crate",
        first if is_ident(first, "super") => "super",
        _ => return None,
    };
    let wanted = if word == "crate" { 1 } else { depth };
    let step = |at: usize| {
        let [name, a, b] = trees.get(at..at + 3)? else { return None };
        (is_ident(name, word) && is_punct(a, ':') && is_punct(b, ':')).then_some(())
    };
    (0..wanted).try_for_each(|n| step(3 * n)).map(|()| 3 * wanted)
}

/// The name at the start of `trees`, or each first name of a group there. Macros have no layer.
fn names(trees: &[TokenTree], uses: &mut Vec<(usize, String)>) {
    match trees.first() {
        Some(TokenTree::Ident(name)) if !trees.get(1).is_some_and(|t| is_punct(t, '!')) => {
            uses.push((name.span().start().line, name.to_string()));
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            for part in inner.split(|tree| is_punct(tree, ',')) {
                names(part, uses);
            }
        }
        _ => {}
    }
}

fn is_ident(tree: &TokenTree, name: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == name)
}

fn is_punct(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    const ROOT: &str = "pub use crate::error::{Error, Result}; pub use tree::Tree as Wood;";

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let path = format!("{ENGINE}{path}");
        let root = format!("{ENGINE}lib.rs");
        check(&sources(&[(&root, ROOT), (&path, text)])).unwrap()
    }

    #[test]
    fn lower_and_own_layers_are_fine() {
        let text = "use crate::{Error, os::map::{Map, x}, page};
                    use super::page as sibling; pub(crate) fn f() -> crate::Result<()> { todo() }";
        assert_eq!(complaints("store/mod.rs", text), [""; 0]);
    }

    #[test]
    fn higher_layers_are_not() {
        let found =
            complaints("page/leaf.rs", "use crate::error::Error;\nuse crate::{os, txn::T};");
        assert_eq!(found, ["crates/huon/src/page/leaf.rs:2: `page` uses `txn` above it"]);
        assert_eq!(complaints("page/leaf.rs", "fn f() { vec![crate::env::x()]; }").len(), 1);
        assert_eq!(complaints("store/leaf.rs", "fn f(x: &crate::Wood) {}").len(), 1);
        assert_eq!(complaints("os/map.rs", "use super::super::page;").len(), 1);
        assert_eq!(complaints("os/mod.rs", "mod a { use super::super::{page, error}; }").len(), 1);
    }

    #[test]
    fn relative_paths_below_the_root_are_fine() {
        assert_eq!(complaints("os/map.rs", "use super::page; use self::tree;"), [""; 0]);
        assert_eq!(complaints("os/mod.rs", "mod a { use super::tree; }"), [""; 0]);
    }

    #[test]
    fn tests_may_use_anything() {
        let text = "#[cfg(test)] mod tests { use crate::env::Env; }";
        assert_eq!(complaints("page/leaf.rs", text), [""; 0]);
    }

    #[test]
    fn strangers_are_named() {
        assert_eq!(
            complaints("misc.rs", ""),
            ["crates/huon/src/misc.rs:1: module `misc` has no layer"]
        );
        assert_eq!(complaints("env.rs", "use crate::nowhere::x; crate::assert_rule!();").len(), 1);
    }
}
