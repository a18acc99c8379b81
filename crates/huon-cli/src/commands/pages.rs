//! All pages of a file: `pages`.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;

use huon::{Env, PageInfo, PageKind};
use serde_json::{Value, json};

use crate::args::Pages;
use crate::fail::{Code, Failure, Outcome};
use crate::open;
use crate::out::Out;
use crate::progress::{self, Bar};
use crate::text::{Form, json_name, many, number, share, size};

/// `huon pages`.
pub(crate) fn pages(args: &Pages) -> Outcome {
    let env = open::look(&args.names.look.file)?;
    let form = Form::hex(args.names.hex);
    let mut out = Out::new();
    if args.each {
        print_each(&env, &mut out, args.names.look.json, form)?;
    } else {
        let sums = Sums::of(&env)?;
        if args.names.look.json { out.json(&sums.json(form))? } else { sums.print(&mut out, form)? }
    }
    out.finish()?;
    Ok(Code::Fine)
}

/// Shows every page to `each`, with progress, until that fails.
fn walk(
    env: &Env,
    mut each: impl FnMut(&PageInfo<'_>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let info = env.info()?;
    let bar = Bar::bytes("walking");
    let (mut done, mut failed) = (0, Ok(()));
    let snapshot = env.visit_pages(&mut |page| {
        done += page.used_bytes + page.unused_bytes;
        bar.at(done, info.used_bytes);
        failed = each(page);
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed.map(|()| snapshot)
}

fn print_each(env: &Env, out: &mut Out, is_json: bool, form: Form) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        // The lines themselves show how it goes on.
        progress::be_quiet();
    }
    if !is_json {
        out.line(format_args!(
            "{:>8} {:>6} {:<12} {:>5} {:>13} {:>6} {:>10} {:>4}  table",
            "page", "pages", "kind", "level", "birth", "holds", "in use", "full"
        ))?;
    }
    walk(env, |page| {
        if is_json { out.json(&page_json(page, form)) } else { out.line(page_row(page, form)) }
    })
    .map(drop)
}

fn page_json(page: &PageInfo<'_>, form: Form) -> Value {
    let no_table = || ("table".into(), Value::Null);
    let (field, table) = page.table.map_or_else(no_table, |name| json_name("table", name, form));
    json!({
        "page": page.pgno,
        "total_pages": page.page_count,
        "kind": kind_name(page.kind),
        "of_values": page.of_values,
        (field): table,
        "level": page.level,
        "birth": page.birth,
        "count": page.count,
        "used_bytes": page.used_bytes,
        "unused_bytes": page.unused_bytes,
    })
}

fn page_row(page: &PageInfo<'_>, form: Form) -> String {
    let kind = match (page.kind, page.of_values) {
        (PageKind::Branch, true) => "value branch",
        (PageKind::Leaf, true) => "value leaf",
        (PageKind::FixedLeaf, _) => "packed leaf",
        (PageKind::LargeValue, _) => "large value",
        (PageKind::FreeList, _) => "free list",
        (kind, _) => kind_name(kind),
    };
    let PageInfo { pgno, page_count, level, birth, count, used_bytes, unused_bytes, .. } = *page;
    let (used, full) = (size(used_bytes), share(used_bytes, used_bytes + unused_bytes));
    let table = page.table.map_or(String::new(), |name| shown(name, form));
    let row = format!(
        "{pgno:>8} {page_count:>6} {kind:<12} {level:>5} {birth:>13} {count:>6} {used:>10} \
         {full:>4}  {table}"
    );
    row.trim_end().to_owned()
}

fn shown(name: &[u8], form: Form) -> String {
    if name.is_empty() { "(main)".into() } else { form.show(name) }
}

fn kind_name(kind: PageKind) -> &'static str {
    match kind {
        PageKind::Meta => "meta",
        PageKind::Branch => "branch",
        PageKind::Leaf => "leaf",
        PageKind::FixedLeaf => "fixed_leaf",
        PageKind::LargeValue => "large_value",
        PageKind::FreeList => "free-list",
        PageKind::Free => "free",
        PageKind::Retained => "retained",
        _ => "other",
    }
}

/// The pages of one kind, together.
struct Sum {
    kind: PageKind,
    of_values: bool,
    /// How often one was shown: large values and free runs have several pages.
    runs: u64,
    pages: u64,
    count: u64,
    used_bytes: u64,
    unused_bytes: u64,
}

/// The pages of a table, or those of none.
#[derive(Default)]
struct Part {
    /// Of a table, its name.
    table: Option<Vec<u8>>,
    /// Levels of its tree; those of the values of a key do not count.
    levels: u8,
    sums: Vec<Sum>,
}

/// All pages of a snapshot.
struct Sums {
    snapshot: u64,
    page_bytes: u32,
    /// The first are the pages of no table.
    parts: Vec<Part>,
}

impl Sums {
    fn of(env: &Env) -> Result<Sums, Failure> {
        let page_bytes = env.info()?.page_bytes;
        let mut parts = vec![Part::default()];
        let snapshot = walk(env, |page| {
            // One table comes after the other.
            if parts.last().is_some_and(|part| part.table.as_deref() != page.table) {
                parts.push(Part { table: page.table.map(<[u8]>::to_vec), ..Part::default() });
            }
            parts.last_mut().into_iter().for_each(|part| part.add(page));
            Ok(())
        })?;
        for part in &mut parts {
            part.sums.sort_by_key(|sum| (sum.of_values, sum.kind as u8));
        }
        Ok(Sums { snapshot, page_bytes, parts })
    }

    fn pages(&self) -> u64 {
        self.parts.iter().flat_map(|part| &part.sums).map(|sum| sum.pages).sum()
    }

    fn json(&self, form: Form) -> Value {
        let sums = |part: &Part| part.sums.iter().map(Sum::json).collect::<Vec<_>>();
        let table = |part: &Part| {
            let name = part.table.as_deref().unwrap_or_default();
            let (field, name) = json_name("name", name, form);
            json!({ (field): name, "levels": part.levels, "kinds": sums(part) })
        };
        json!({
            "snapshot": self.snapshot,
            "page_bytes": self.page_bytes,
            "total_pages": self.pages(),
            "space": sums(&self.parts[0]),
            "tables": self.parts[1..].iter().map(table).collect::<Vec<_>>(),
        })
    }

    fn print(&self, out: &mut Out, form: Form) -> Result<(), Failure> {
        let Sums { snapshot, page_bytes, .. } = self;
        out.line(format_args!("snapshot {snapshot}, pages of {page_bytes} bytes\n"))?;
        out.line(row("", "pages", "size", "full", "what they hold"))?;
        for part in &self.parts {
            if let Some(name) = &part.table {
                let levels = many(part.levels.into(), "level");
                out.line(format_args!("{}: {levels}", shown(name, form)))?;
            }
            for sum in &part.sums {
                out.line(sum.row(part.table.as_deref() == Some(b"")))?;
            }
        }
        let pages = self.pages();
        out.line(row("all", &number(pages), &size(pages * u64::from(*page_bytes)), "", ""))
    }
}

impl Part {
    fn add(&mut self, page: &PageInfo<'_>) {
        if self.table.is_some() && !page.of_values {
            self.levels = self.levels.max(page.level + 1);
        }
        let (kind, of_values) = (page.kind, page.of_values);
        let same = |sum: &Sum| (sum.kind, sum.of_values) == (kind, of_values);
        let at = self.sums.iter().position(same).unwrap_or_else(|| {
            self.sums.push(Sum::new(kind, of_values));
            self.sums.len() - 1
        });
        let sum = &mut self.sums[at];
        sum.runs += 1;
        sum.pages += u64::from(page.page_count);
        sum.count += u64::from(page.count);
        sum.used_bytes += page.used_bytes;
        sum.unused_bytes += page.unused_bytes;
    }
}

impl Sum {
    fn new(kind: PageKind, of_values: bool) -> Sum {
        Sum { kind, of_values, runs: 0, pages: 0, count: 0, used_bytes: 0, unused_bytes: 0 }
    }

    fn json(&self) -> Value {
        json!({
            "kind": kind_name(self.kind),
            "of_values": self.of_values,
            "runs": self.runs,
            "total_pages": self.pages,
            "count": self.count,
            "used_bytes": self.used_bytes,
            "unused_bytes": self.unused_bytes,
        })
    }

    fn row(&self, is_main: bool) -> String {
        let (count, runs) = (self.count, many(self.runs, "run"));
        let (name, holds) = match (self.kind, self.of_values) {
            (PageKind::Meta, _) => ("metas", String::new()),
            (PageKind::FreeList, _) if count == 1 => ("free list", "1 entry".to_owned()),
            (PageKind::FreeList, _) => ("free list", format!("{} entries", number(count))),
            (PageKind::Free, _) => ("free", format!("in {runs}")),
            (PageKind::Retained, _) => ("retained", format!("in {runs}, for older snapshots")),
            (PageKind::Branch, false) => ("  branches", format!("to {}", many(count, "page"))),
            (PageKind::Branch, true) => {
                ("  branches of values", format!("to {}", many(count, "page")))
            }
            (PageKind::Leaf, false) if is_main => {
                ("  leaves", format!("{} records and tables", number(count)))
            }
            (PageKind::Leaf, false) => ("  leaves", many(count, "record")),
            (PageKind::Leaf, true) => ("  leaves of values", many(count, "value")),
            (PageKind::FixedLeaf, _) => ("  packed leaves", many(count, "value")),
            (PageKind::LargeValue, _) => ("  large values", many(self.runs, "value")),
            _ => ("  others", String::new()),
        };
        let bytes = self.used_bytes + self.unused_bytes;
        let full = match self.kind {
            PageKind::Free | PageKind::Retained => String::new(),
            _ => share(self.used_bytes, bytes),
        };
        row(name, &number(self.pages), &size(bytes), &full, &holds)
    }
}

fn row(name: &str, pages: &str, bytes: &str, full: &str, holds: &str) -> String {
    let row = format!("{name:<20} {pages:>11} {bytes:>11} {full:>5}  {holds}");
    row.trim_end().to_owned()
}
