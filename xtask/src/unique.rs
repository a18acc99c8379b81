//! One name is one thing: no two types of the engine have the same name outside tests.
//!
//! A reader who looks a name up finds one type. Types in bodies of functions count, associated ones
//! do not.

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use crate::source::Source;

const ENGINE: &str = "crates/huon/src/";

/// Names that several types may have, and why.
const SHARED: [(&str, &str); 1] =
    [("Sealed", "the idiom: beside each trait that other crates cannot implement")];

/// Complains about types of one name, and about names that need not be shared any more.
pub(crate) fn check(files: &[Source]) -> Vec<String> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(ENGINE) && !file.is_test()) {
        let mut names = Names(Vec::new());
        file.code.iter().for_each(|code| names.visit_file(code));
        for name in names.0 {
            let place = format!("{}:{}", file.path, name.span().start().line);
            types.entry(name.to_string()).or_default().push(place);
        }
    }
    let several = |name: &str| types.get(name).is_some_and(|places| places.len() > 1);
    let is_shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let unused = SHARED.iter().filter(|(name, _)| !types.is_empty() && !several(name));
    let mut complaints: Vec<String> = unused
        .map(|(name, _)| format!("xtask/src/unique.rs: `{name}` is not shared any more"))
        .collect();
    for (name, places) in &types {
        if let [first, others @ ..] = &places[..]
            && !others.is_empty()
            && !is_shared(name)
        {
            let others = others.join(", ");
            complaints.push(format!("{first}: `{name}` names another type at {others}"));
        }
    }
    complaints
}

/// The names of types that a file defines.
struct Names(Vec<Ident>);

impl<'a> Visit<'a> for Names {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.0.push(item.ident.clone());
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.0.push(item.ident.clone());
    }

    fn visit_item_union(&mut self, item: &'a syn::ItemUnion) {
        self.0.push(item.ident.clone());
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.0.push(item.ident.clone());
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.0.push(item.ident.clone());
        visit::visit_item_trait(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::sources;

    /// Two places at which the idiom is used, so that it is not the one to be told of.
    const IDIOM: (&str, &str) =
        ("crates/huon/src/s.rs", "mod a { trait Sealed {} } mod b { trait Sealed {} }");

    #[test]
    fn a_name_is_one_type() {
        let files = sources(&[
            IDIOM,
            ("crates/huon/src/a.rs", "struct Plan;\nfn f() {\n    enum Step { A }\n}"),
            ("crates/huon/src/b.rs", "type Plan = u8;\npub trait Step {}"),
        ]);
        assert_eq!(
            check(&files),
            [
                "crates/huon/src/a.rs:1: `Plan` names another type at crates/huon/src/b.rs:1",
                "crates/huon/src/a.rs:3: `Step` names another type at crates/huon/src/b.rs:2",
            ]
        );
    }

    #[test]
    fn tests_other_crates_and_associated_types_do_not_count() {
        let files = sources(&[
            IDIOM,
            ("crates/huon/src/a.rs", "struct A; impl I for A { type Item = u8; }"),
            ("crates/huon/src/b.rs", "struct B; impl I for B { type Item = u8; }"),
            ("crates/huon/src/c.rs", "#[cfg(all(test, loom))] mod models { struct A; }"),
            ("crates/huon/src/c/tests/d.rs", "struct A;"),
            ("crates/huon-c/src/e.rs", "struct A;"),
        ]);
        assert_eq!(check(&files), [""; 0]);
    }

    #[test]
    fn a_name_that_is_not_shared_any_more_is_told() {
        let files = sources(&[("crates/huon/src/a.rs", "struct A;")]);
        assert_eq!(check(&files), ["xtask/src/unique.rs: `Sealed` is not shared any more"]);
    }
}
