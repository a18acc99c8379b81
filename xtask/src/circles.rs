//! Circles of files within a layer of the engine: there are none, so that a layer can be read from
//! its lowest file up. (Strongly connected components: Tarjan, 1972.)
//!
//! A file uses another one if a path in it leads there, through what modules export from their
//! children. That a module exports from its children is no use of them, a child may use the modules
//! that it lies in (it adds to their types), and tests may use anything.

use std::collections::{BTreeSet, HashMap};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree, Visibility};

use crate::source::Source;

const ENGINE: &str = "crates/huon/src/";

/// Circles that are known: the names of their files, in the order of the alphabet. There are none,
/// and this list only shrinks.
const KNOWN: [&[&str]; 0] = [];

/// Every circle that is not known, and every known one that is none any more.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    judge(&circles(files), &KNOWN)
}

fn judge(found: &[Vec<String>], known: &[&[&str]]) -> Vec<String> {
    let mut complaints = Vec::new();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let is_known = |circle: &[String], known: &[&str]| {
        let mut names: Vec<String> = circle.iter().map(|path| name(path)).collect();
        names.sort();
        names == known
    };
    for circle in found {
        if !known.iter().any(|known| is_known(circle, known)) {
            let files = circle.join(", ");
            complaints.push(format!("{ENGINE}{}:1: a circle of files: {files}", circle[0]));
        }
    }
    for known in known {
        if !found.iter().any(|circle| is_known(circle, known)) {
            let files = known.join(", ");
            complaints.push(format!("xtask/src/circles.rs:1: no circle any more: {files}"));
        }
    }
    complaints
}

/// A path from the crate's root: `tree`, `path`, `Path`.
type Names = Vec<String>;

/// The files of the engine that are not tests, by their module's path.
struct Modules<'f> {
    files: Vec<(Names, &'f Source)>,
    at: HashMap<Names, usize>,
    /// What modules export from elsewhere.
    exports: HashMap<Names, Names>,
}

fn circles(files: &[Source]) -> Vec<Vec<String>> {
    let modules = Modules::of(files);
    let uses: Vec<BTreeSet<usize>> = (0..modules.files.len()).map(|i| modules.uses(i)).collect();
    let mut circles: Vec<Vec<String>> = Components::of(&uses)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|component| {
            let name = |i: usize| modules.files[i].1.path[ENGINE.len()..].to_string();
            let mut circle: Vec<String> = component.into_iter().map(name).collect();
            circle.sort();
            circle
        })
        .collect();
    circles.sort();
    circles
}

impl<'f> Modules<'f> {
    fn of(sources: &'f [Source]) -> Modules<'f> {
        let mut modules =
            Modules { files: Vec::new(), at: HashMap::new(), exports: HashMap::new() };
        for source in sources {
            let inner = source.path.strip_prefix(ENGINE).and_then(|p| p.strip_suffix(".rs"));
            let Some(inner) = inner.filter(|_| !source.is_test()) else { continue };
            let names: Names =
                inner.split('/').filter(|part| *part != "mod").map(str::to_string).collect();
            if names != ["lib"] {
                modules.at.insert(names.clone(), modules.files.len());
                modules.files.push((names, source));
            }
        }
        for i in 0..modules.files.len() {
            let (names, source) = modules.files[i].clone();
            for item in source.code.iter().flat_map(|code| &code.items) {
                let Item::Use(item) = item else { continue };
                if !matches!(item.vis, Visibility::Inherited) {
                    modules.export(&names, &item.tree, Vec::new());
                }
            }
        }
        modules
    }

    fn export(&mut self, own: &Names, tree: &UseTree, mut path: Vec<String>) {
        let (name, shown) = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.export(own, &inner.tree, path);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.export(own, tree, path.clone()));
            }
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
            UseTree::Glob(_) => return,
        };
        path.push(name);
        if let Some(target) = self.absolute(own, &path) {
            let mut export = own.clone();
            export.push(shown);
            self.exports.insert(export, target);
        }
    }

    /// A path as it is written in module `own`, from the root; `None` for another crate's.
    fn absolute(&self, own: &Names, path: &[String]) -> Option<Names> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&own[..0], &path[1..]),
            "self" => (&own[..], &path[1..]),
            "super" => (&own[..own.len().checked_sub(ups)?], &path[ups..]),
            child => {
                let mut below = own.clone();
                below.push(child.to_string());
                self.at.get(&below)?;
                (&own[..], path)
            }
        };
        Some(base.iter().chain(rest).cloned().collect())
    }

    /// The file that a path from the root leads to.
    fn file(&self, path: &[String]) -> Option<usize> {
        let mut path = path.to_vec();
        // An export may lead to another one, but not for ever.
        for _ in 0..8 {
            let known = |n: &usize| self.exports.contains_key(&path[..*n]);
            let Some(n) = (1..=path.len()).rev().find(known) else { break };
            path = self.exports[&path[..n]].iter().chain(&path[n..]).cloned().collect();
        }
        (1..=path.len()).rev().find_map(|n| self.at.get(&path[..n]).copied())
    }

    /// The files of the same layer that file `i` uses.
    fn uses(&self, i: usize) -> BTreeSet<usize> {
        let (own, source) = &self.files[i];
        let mut paths = Vec::new();
        for item in source.code.iter().flat_map(|code| &code.items) {
            let exports =
                matches!(item, Item::Use(item) if !matches!(item.vis, Visibility::Inherited));
            if !exports {
                collect(item.to_token_stream(), own, &mut paths);
            }
        }
        let counts = |other: &usize| {
            let other = &self.files[*other].0;
            other[0] == own[0] && !own.starts_with(other)
        };
        let targets = paths.iter().filter_map(|(module, path)| self.absolute(module, path));
        targets.filter_map(|path| self.file(&path)).filter(counts).collect()
    }
}

/// Collects all paths of the tokens, each with the module that it stands in.
fn collect(tokens: TokenStream, own: &Names, paths: &mut Vec<(Names, Vec<String>)>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while i < trees.len() {
        match &trees[i] {
            TokenTree::Group(group) => {
                let module = i.checked_sub(2).and_then(|before| match &trees[before..i] {
                    [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "mod" => Some(name),
                    _ => None,
                });
                let inner: Names =
                    own.iter().cloned().chain(module.map(ToString::to_string)).collect();
                collect(group.stream(), &inner, paths);
                i += 1;
            }
            TokenTree::Ident(_) => i = path(&trees, i, own, &mut Vec::new(), paths),
            _ => i += 1,
        }
    }
}

/// Collects the path that begins at token `i`, and its branches; where it ends.
fn path(
    trees: &[TokenTree],
    mut i: usize,
    own: &Names,
    names: &mut Vec<String>,
    paths: &mut Vec<(Names, Vec<String>)>,
) -> usize {
    loop {
        match trees.get(i) {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|tree| is_colon_or(tree, ',')) {
                    path(part, 0, own, &mut names.clone(), paths);
                }
                return i + 1;
            }
            _ => break,
        }
        let goes_on = matches!(trees.get(i + 1..i + 3), Some([a, b])
            if is_colon_or(a, ':') && is_colon_or(b, ':'));
        if !goes_on {
            i += 1;
            break;
        }
        i += 3;
    }
    if names.last().is_some_and(|name| name == "self") {
        names.pop();
    }
    if names.len() > 1 {
        paths.push((own.clone(), names.clone()));
    }
    i.max(1)
}

fn is_colon_or(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// Tarjan's search for components.
struct Components<'u> {
    uses: &'u [BTreeSet<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Components<'_> {
    fn of(uses: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
        let n = uses.len();
        let mut search = Components {
            uses,
            index: vec![None; n],
            low: vec![0; n],
            stack: Vec::new(),
            next: 0,
            found: Vec::new(),
        };
        for i in 0..n {
            if search.index[i].is_none() {
                search.visit(i);
            }
        }
        search.found
    }

    fn visit(&mut self, i: usize) {
        self.index[i] = Some(self.next);
        self.low[i] = self.next;
        self.next += 1;
        self.stack.push(i);
        for &other in &self.uses[i] {
            match self.index[other] {
                None => {
                    self.visit(other);
                    self.low[i] = self.low[i].min(self.low[other]);
                }
                Some(index) if self.stack.contains(&other) => {
                    self.low[i] = self.low[i].min(index);
                }
                Some(_) => {}
            }
        }
        if self.index[i] == Some(self.low[i]) {
            let at = self.stack.iter().rposition(|&other| other == i).expect("it is on the stack");
            self.found.push(self.stack.split_off(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let paths: Vec<String> = files.iter().map(|(path, _)| format!("{ENGINE}{path}")).collect();
        let texts: Vec<(&str, &str)> =
            paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
        circles(&sources(&texts))
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let files = [
            ("tree/mod.rs", "mod a; mod b; pub(crate) use a::A;"),
            ("tree/a.rs", "use super::b::B;"),
            ("tree/b.rs", "fn f() { crate::tree::A::new() }"),
        ];
        assert_eq!(found(&files), [["tree/a.rs", "tree/b.rs"]]);
    }

    #[test]
    fn so_are_longer_ways() {
        let files = [
            ("tree/mod.rs", "mod a; use a::A; pub(crate) struct T;"),
            ("tree/a.rs", "use crate::{error::E, tree::{b::{self, B}}};"),
            ("tree/b.rs", "use super::{T, c};"),
            ("tree/c.rs", "fn f() -> super::a::A {}"),
        ];
        assert_eq!(found(&files), [["tree/a.rs", "tree/b.rs", "tree/c.rs"]]);
    }

    #[test]
    fn exports_children_tests_and_other_layers_are_none() {
        let files = [
            ("tree/mod.rs", "mod a; pub(crate) use a::A; pub(crate) struct T;"),
            ("tree/a.rs", "use super::T; use crate::page::P; mod inner { use super::x; }"),
            ("page/mod.rs", "#[cfg(test)] mod tests { use crate::tree::a::A; }"),
            ("page/p.rs", "use super::*;"),
        ];
        assert_eq!(found(&files), [[""; 0]; 0]);
    }

    #[test]
    fn the_list_of_known_circles_only_shrinks() {
        let found = [vec!["os/a.rs".to_string(), "os/b.rs".to_string()]];
        assert_eq!(judge(&found, &[&["a.rs", "b.rs"]]), [""; 0]);
        assert_eq!(judge(&found, &[]).len(), 1);
        assert_eq!(judge(&[], &[&["a.rs", "b.rs"]]).len(), 1);
    }
}
