//! The files of the repository, and Rust sources without their tests.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::VisitMut;
use syn::{Attribute, ImplItem, Item, Meta};

/// Directories that cargo and the tools of other languages make.
const MADE: [&str; 5] = ["target", "node_modules", ".venv", "__pycache__", ".hypothesis"];

/// One text file.
pub(crate) struct Source {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
    /// What is left of a Rust file when its tests are taken out; `None` for other files.
    pub(crate) code: Option<syn::File>,
}

impl Source {
    /// The tokens that are not tests, if this is Rust. Comments are gone, documentation is a
    /// literal.
    pub(crate) fn tokens(&self) -> TokenStream {
        self.code.as_ref().map(ToTokens::to_token_stream).unwrap_or_default()
    }

    /// True if the whole file belongs to tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "benches")
            || self.code.as_ref().is_some_and(|code| is_test(&code.attrs))
    }
}

/// Reads every text file below `root` but what git or cargo made.
pub(crate) fn files(root: &Path) -> Result<Vec<Source>, String> {
    let mut paths = Vec::new();
    walk(root, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        // What is not text (a golden file, a picture) has no style.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let path = path.strip_prefix(root).map_err(|e| e.to_string())?;
        files.push(parse(path.to_string_lossy().replace('\\', "/"), text)?);
    }
    mark_test_modules(&mut files);
    for file in &mut files {
        if let Some(code) = &mut file.code {
            WithoutTests.visit_file_mut(code);
        }
    }
    Ok(files)
}

/// One file, its tests still in it.
fn parse(path: String, text: String) -> Result<Source, String> {
    let code = if path.ends_with(".rs") {
        Some(syn::parse_file(&text).map_err(|e| {
            let at = e.span().start();
            format!("{path}:{}:{}: {e}", at.line, at.column + 1)
        })?)
    } else {
        None
    };
    Ok(Source { path, text, code })
}

fn walk(dir: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", dir.display()))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(|e| e.to_string())?);
        let made = entry.file_name() == ".git" || path.join("CACHEDIR.TAG").exists();
        if kind.is_dir() && !made && !MADE.iter().any(|name| entry.file_name() == *name) {
            walk(&path, into)?;
        } else if kind.is_file() {
            into.push(path);
        }
    }
    Ok(())
}

/// Empties files that a parent declares as `#[cfg(test)] mod name;`, leaving the attribute as mark.
fn mark_test_modules(files: &mut [Source]) {
    let mut stems = HashSet::new();
    for file in files.iter() {
        let Some(code) = &file.code else { continue };
        let dir = module_dir(&file.path);
        for item in &code.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && is_test(&module.attrs)
            {
                stems.insert(format!("{dir}{}", module.ident));
            }
        }
    }
    for file in files {
        let belongs = |stem: &String| {
            file.path.strip_prefix(stem.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        };
        if let Some(code) = &mut file.code
            && stems.iter().any(belongs)
        {
            code.attrs.push(syn::parse_quote!(#![cfg(test)]));
        }
    }
}

/// The directory of a file's child modules, with `/` at the end.
fn module_dir(path: &str) -> String {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{dir}/"),
        _ => format!("{dir}/{}/", name.trim_end_matches(".rs")),
    }
}

/// True for `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, ..))]`.
fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => needs_test(list.tokens.clone()),
        _ => false,
    })
}

/// True if a `cfg` condition can hold in tests only: `test`, or `all(..)` with such a condition.
fn needs_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    trees.iter().enumerate().any(|(i, tree)| match tree {
        TokenTree::Ident(ident) => ident == "test",
        TokenTree::Group(group) => {
            let all = i > 0 && matches!(&trees[i - 1], TokenTree::Ident(name) if name == "all");
            all && needs_test(group.stream())
        }
        _ => false,
    })
}

/// Takes tests out of a file.
struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        if is_test(&file.attrs) {
            file.items.clear();
        }
        file.items.retain(|item| !is_test(item_attrs(item)));
        syn::visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_test(item_attrs(item)));
        }
        syn::visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| match item {
            ImplItem::Fn(function) => !is_test(&function.attrs),
            ImplItem::Const(constant) => !is_test(&constant.attrs),
            _ => true,
        });
        syn::visit_mut::visit_item_impl_mut(self, block);
    }
}

/// The attributes of the items that tests are made of.
fn item_attrs(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// A source for the tests of the checks.
#[cfg(test)]
pub(crate) fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let mut files: Vec<Source> = files
        .iter()
        .map(|(path, text)| parse(path.to_string(), text.to_string()).unwrap())
        .collect();
    mark_test_modules(&mut files);
    for file in &mut files {
        if let Some(code) = &mut file.code {
            WithoutTests.visit_file_mut(code);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_taken_out() {
        let files = sources(&[
            (
                "src/a.rs",
                "fn keep() {} #[test] fn gone() {}
                 #[cfg(test)] mod tests { fn gone() {} }
                 #[cfg(all(test, not(loom)))] use gone::gone;
                 #[cfg(any(test, feature = \"x\"))] fn keep2() {}
                 #[cfg(not(test))] fn keep3() {}
                 impl A { #[cfg(test)] fn gone() {} fn keep4() {} }
                 #[cfg(test)] mod helper;",
            ),
            ("src/a/helper.rs", "fn gone() {}"),
            ("src/a/helper2.rs", "fn keep5() {}"),
        ]);
        let left: String = files.iter().map(|f| f.tokens().to_string()).collect();
        assert!(!left.contains("gone"), "{left}");
        for name in ["keep ", "keep2", "keep3", "keep4", "keep5"] {
            assert!(left.contains(name), "{name}: {left}");
        }
        assert!(files[1].is_test() && !files[0].is_test() && !files[2].is_test());
    }

    #[test]
    fn walk_skips_what_cargo_made() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("out/x")).unwrap();
        std::fs::write(dir.path().join("out/CACHEDIR.TAG"), "").unwrap();
        std::fs::write(dir.path().join("out/x/bad.rs"), "not rust").unwrap();
        std::fs::write(dir.path().join("good.rs"), "fn f() {}").unwrap();
        let files = files(dir.path()).unwrap();
        assert_eq!(files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["good.rs"]);
    }
}
