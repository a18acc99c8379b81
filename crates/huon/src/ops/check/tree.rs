//! The trees of a snapshot: the main table, and the tables whose records it holds.

use super::{Check, TableReport};
use crate::alloc::{TryGrow, copied};
use crate::error::{Error, Result};
use crate::ops::tables::NamedTable;
use crate::page::{
    AnyLeaf, AnyOrder, Branch, Cell, CustomOrder, FixedLeaf, HEADER_BYTES, KeyOrder, LeafItems,
    OrderKind, PayloadKind, Ptr, Reason, RunRef, SlottedLeaf, Tree, Txnid, header,
};
use crate::store::source::{PageSource, damaged};
use crate::store::verified::Verified;
use crate::tree::values::{KeyValues, Orders};
use crate::tree::view::TreeView;
use crate::tree::walk::{Spot, Visit, Visitor};
use crate::txn::order::built_in;
use std::cmp::Ordering;

/// Stands in for a comparator that is not known: the page is audited in all but its order.
const UNKNOWN: AnyOrder<'static> = AnyOrder::Custom(CustomOrder(&rising));

fn rising(_: &[u8], _: &[u8]) -> Ordering {
    Ordering::Less
}

impl Check<'_, '_> {
    /// The main table, then every named one.
    pub(super) fn tables(&mut self, main: &Tree) -> Result<()> {
        let mut records = Vec::new();
        if main.order != OrderKind::Bytes {
            self.report.add(None, Some(b""), || "its keys must be byte strings".to_string());
        }
        self.table(b"", main, self.snapshot, Some(&mut records))?;
        for (name, tree, above) in records {
            self.table(&name, &tree, above, None)?;
        }
        Ok(())
    }

    fn table(
        &mut self,
        name: &[u8],
        tree: &Tree,
        above: Txnid,
        records: Option<&mut Vec<NamedTable>>,
    ) -> Result<()> {
        let core = self.core;
        // Functions with which the table is open here.
        let own = core.names.known_order(name, |info| Some(&info.order));
        let own_values = core.names.known_order(name, |info| Some(&info.many.as_ref()?.order));
        let known = built_in(tree.order).or_else(|| own.as_ref()?.resolve(tree.order));
        let values = tree
            .many
            .map(|many| built_in(many.order).or_else(|| own_values.as_ref()?.resolve(many.order)));
        let order = known.unwrap_or(UNKNOWN);
        let report = TableReport {
            name: copied(name)?,
            order: order_name(tree.order),
            values: tree.many.map(|many| order_name(many.order)),
            ordered: known.is_some() && values.is_none_or(|values| values.is_some()),
            depth: tree.depth,
            ..TableReport::default()
        };
        let store = self.source.store;
        let source = Verified { store, used: self.source.used };
        let value_order = values.flatten().unwrap_or(UNKNOWN);
        let orders = Orders { keys: order, values: value_order };
        let mut visit = TableCheck {
            check: self,
            name,
            tree,
            orders,
            report,
            records,
            within: None,
            complete: true,
        };
        TreeView::new(&source, tree, order).walk(above, &mut visit)?;
        visit.compare_with_record();
        let report = visit.report;
        let pages = [report.branch_pages, report.leaf_pages, report.overflow_pages];
        self.report.reachable_pages += pages.map(u64::from).iter().sum::<u64>();
        if !report.ordered {
            self.report.tables_unordered.try_push(copied(name)?)?;
        }
        Ok(self.report.tables.try_push(report)?)
    }

    /// Notes damage; other errors end the check.
    pub(super) fn trouble(&mut self, pgno: u32, table: Option<&[u8]>, error: Error) -> Result<()> {
        let Error::Corrupt(corruption) = error else { return Err(error) };
        let by = self.used_again(pgno);
        self.report.reused_pages += u64::from(by.is_some());
        self.report.add(Some(pgno), table, || match by {
            Some(by) => format!("it was used again by transaction {}", by.0),
            None => corruption.reason.to_string(),
        });
        Ok(())
    }
}

/// What reports call an order.
pub(crate) fn order_name(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Bytes => "bytes",
        OrderKind::Reversed => "reversed",
        OrderKind::Native4 => "native-u32",
        OrderKind::Native8 => "native-u64",
        OrderKind::Custom => "custom",
    }
}

/// What is counted of a tree of values, to be compared with its record.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Within {
    entries: u64,
    branch_pages: u32,
    leaf_pages: u32,
}

/// One table under way.
struct TableCheck<'c, 's, 'a, 't> {
    check: &'c mut Check<'s, 'a>,
    name: &'t [u8],
    tree: &'t Tree,
    orders: Orders<'t>,
    report: TableReport,
    /// The main table: where the records of named ones go.
    records: Option<&'t mut Vec<NamedTable>>,
    /// The tree of values that is walked.
    within: Option<Within>,
    /// Every page was read, so that the counts can be compared.
    complete: bool,
}

impl<'p> Visitor<'p> for TableCheck<'_, '_, '_, '_> {
    fn enter(&mut self, spot: &Spot<'_>) -> Result<bool> {
        let enters = self.check.enter(spot.ptr, spot.above, Some(self.name));
        self.complete &= enters;
        Ok(enters)
    }

    fn visit(&mut self, spot: &Spot<'_>, bytes: &'p [u8], page: Visit<'p>) -> Result<()> {
        let is_branch = matches!(page, Visit::Branch(_));
        if header::is_edited(bytes) || is_branch && header::flags(bytes) != 0 {
            self.add(spot.ptr, "it was written without being packed");
        }
        self.report.used_bytes += HEADER_BYTES as u64;
        match page {
            Visit::Branch(branch) => self.branch(spot, branch)?,
            Visit::Leaf(leaf) => self.leaf(spot, leaf)?,
            Visit::Fixed(leaf) => self.fixed(spot, bytes, leaf)?,
        }
        self.check.meter.advance(self.check.page_bytes())
    }

    fn trouble(&mut self, spot: &Spot<'_>, error: Error) -> Result<()> {
        self.complete = false;
        self.check.incomplete = true;
        self.check.trouble(spot.ptr.pgno.0, Some(self.name), error)?;
        self.check.meter.advance(self.check.page_bytes())
    }
}

impl<'t> TableCheck<'_, '_, '_, 't> {
    fn add(&mut self, ptr: Ptr, text: &str) {
        self.check.report.add(Some(ptr.pgno.0), Some(self.name), || text.to_string());
    }

    /// Notes what is wrong with a page.
    fn flaw(&mut self, ptr: Ptr, reason: Reason) -> Result<()> {
        self.check.trouble(ptr.pgno.0, Some(self.name), damaged(ptr, reason))
    }

    fn branch(&mut self, spot: &Spot<'_>, branch: Branch<'_>) -> Result<()> {
        self.report.branch_pages += 1;
        if let Some(within) = &mut self.within {
            within.branch_pages += 1;
        }
        let order = self.order();
        self.report.used_bytes += branch.live_bytes() as u64;
        if let Err(reason) = branch.audit(order) {
            return self.flaw(spot.ptr, reason);
        }
        let separator = |i: usize| -> Result<Option<Vec<u8>>> {
            let separator = branch.separator(i).ok();
            Ok(separator.map(|separator| separator.whole(order)).transpose()?)
        };
        let count = branch.count();
        if count > 1 {
            let (low, high) = (separator(1)?, separator(count - 1)?);
            if !self.within(spot, low.as_deref(), high.as_deref()) {
                self.add(spot.ptr, "its separators are not between those above it");
            }
        }
        Ok(())
    }

    /// The order of the tree that is walked.
    fn order(&self) -> AnyOrder<'t> {
        if self.within.is_some() { self.orders.values } else { self.orders.keys }
    }

    /// Whether the lowest and the highest of some keys lie where the pages above say. A separator
    /// is never the same as the one that its page begins with.
    fn within(&self, spot: &Spot<'_>, low: Option<&[u8]>, high: Option<&[u8]>) -> bool {
        let order = self.order();
        let below = |a: Option<&[u8]>, b: Option<&[u8]>, equal: bool| match (a, b) {
            (Some(a), Some(b)) => match order.compare(a, b) {
                Ordering::Less => true,
                Ordering::Equal => equal,
                Ordering::Greater => false,
            },
            _ => true,
        };
        !self.report.ordered
            || (below(spot.lower, low, spot.level == 0) && below(high, spot.upper, false))
    }

    fn leaf(&mut self, spot: &Spot<'_>, leaf: SlottedLeaf<'_>) -> Result<()> {
        self.report.used_bytes += leaf.live_bytes() as u64;
        let audited = leaf.audit(self.order());
        self.keys(spot, AnyLeaf::Slotted(leaf), audited)?;
        for cell in leaf.cells() {
            // A cell that cannot be read was seen by the audit.
            if let Ok(cell) = cell {
                self.cell(spot, &cell)?;
            } else {
                self.complete = false;
                self.check.incomplete = true;
            }
        }
        Ok(())
    }

    fn fixed(&mut self, spot: &Spot<'_>, bytes: &[u8], leaf: FixedLeaf<'_>) -> Result<()> {
        self.report.used_bytes += leaf.bytes().len() as u64;
        let audited = leaf.audit(bytes, self.order());
        self.keys(spot, AnyLeaf::Fixed(leaf), audited)
    }

    /// What holds of a leaf of either kind.
    fn keys(
        &mut self,
        spot: &Spot<'_>,
        leaf: AnyLeaf<'_>,
        audited: std::result::Result<(), Reason>,
    ) -> Result<()> {
        let count = leaf.count();
        self.report.leaf_pages += 1;
        match &mut self.within {
            Some(within) => {
                within.leaf_pages += 1;
                within.entries += count as u64;
            }
            // A multimap's are counted by what its cells hold.
            None if self.tree.many.is_some() => {}
            None => self.report.entries += count as u64,
        }
        match audited {
            Err(reason) => self.flaw(spot.ptr, reason)?,
            Ok(()) if count == 0 => self.add(spot.ptr, "it is a leaf without records"),
            Ok(()) => {
                let (low, high) = (leaf.key(0).ok(), leaf.key(count - 1).ok());
                if !self.within(spot, low, high) {
                    self.add(spot.ptr, "its keys are not between the separators above it");
                }
            }
        }
        Ok(())
    }

    fn cell(&mut self, spot: &Spot<'_>, cell: &Cell<'_>) -> Result<()> {
        if self.within.is_some() {
            if cell.kind != PayloadKind::Inline || !cell.payload.is_empty() {
                self.add(spot.ptr, "a value of a multimap has a value of its own");
            }
            return self.value_length(spot, cell.key);
        }
        if self.tree.order.key_bytes().is_some_and(|bytes| bytes != cell.key.len()) {
            self.add(spot.ptr, "a key has not the length of the table's integers");
        }
        if self.tree.many.is_some() {
            return self.held(spot, cell);
        }
        match (cell.kind, &mut self.records) {
            (PayloadKind::Inline, _) => {}
            (PayloadKind::Run, _) => match RunRef::decode(cell.payload) {
                Ok(run) => self.run(spot, &run)?,
                Err(reason) => {
                    (self.complete, self.check.incomplete) = (false, true);
                    self.add(spot.ptr, reason.text());
                }
            },
            (PayloadKind::Table, Some(records)) => match Tree::decode(cell.payload) {
                Ok(tree) if tree.changed <= spot.ptr.birth && !cell.key.is_empty() => {
                    records.try_push((copied(cell.key)?, tree, spot.ptr.birth))?;
                }
                _ => {
                    self.check.incomplete = true;
                    let name = cell.key[..cell.key.len().min(64)].escape_ascii();
                    let text = format!("the record of table \"{name}\" makes no sense");
                    self.add(spot.ptr, &text);
                }
            },
            (PayloadKind::Table, None) => {
                self.add(spot.ptr, "a named table holds the record of a table");
            }
            (PayloadKind::DuplicateSet | PayloadKind::DuplicateTree, _) => {
                self.add(spot.ptr, "a plain table holds duplicate values");
            }
        }
        Ok(())
    }

    /// What the cell of a multimap's key holds.
    fn held(&mut self, spot: &Spot<'_>, cell: &Cell<'_>) -> Result<()> {
        let held = match KeyValues::of(self.tree, cell) {
            Ok(held) => held,
            Err(reason) => {
                (self.complete, self.check.incomplete) = (false, true);
                return self.flaw(spot.ptr, reason);
            }
        };
        self.report.entries = self.report.entries.saturating_add(held.count());
        match held {
            KeyValues::Few(set) => {
                if let Err(reason) = set.audit(self.orders.values) {
                    self.flaw(spot.ptr, reason)?;
                }
                let mut items = set.items();
                while let Some(value) = items.next() {
                    self.value_length(spot, value)?;
                }
                Ok(())
            }
            KeyValues::Tree(values) => self.values(spot, &values),
        }
    }

    /// A tree of values, whose pages are the table's.
    fn values(&mut self, spot: &Spot<'_>, tree: &Tree) -> Result<()> {
        if tree.changed > spot.ptr.birth {
            self.add(spot.ptr, "a tree of values is younger than its record");
        }
        let whole = std::mem::replace(&mut self.complete, true);
        self.within = Some(Within::default());
        let Verified { store, used } = self.check.source;
        let source = Verified { store, used };
        TreeView::new(&source, tree, self.orders.values).walk(spot.ptr.birth, self)?;
        let found = self.within.take();
        let record = Within {
            entries: tree.entries,
            branch_pages: tree.branch_pages,
            leaf_pages: tree.leaf_pages,
        };
        if self.complete && found != Some(record) {
            self.add(spot.ptr, "the record of a tree of values counts it wrongly");
        }
        self.complete &= whole;
        Ok(())
    }

    fn value_length(&mut self, spot: &Spot<'_>, value: &[u8]) -> Result<()> {
        let order = self.tree.many.map(|many| many.order).unwrap_or_default();
        if order.key_bytes().is_some_and(|bytes| bytes != value.len()) {
            self.add(spot.ptr, "a value has not the length of the table's integers");
        }
        Ok(())
    }

    /// A large value: no page of it is visited twice, so no byte is verified twice.
    fn run(&mut self, spot: &Spot<'_>, run: &RunRef) -> Result<()> {
        let page_bytes = self.check.page_bytes();
        let pages = run.pages(page_bytes as usize);
        let above = spot.ptr.birth;
        let mut fresh = true;
        for step in 0..pages {
            let Some(pgno) = run.pgno.0.checked_add(step) else { break };
            let ptr = Ptr { pgno: crate::page::Pgno(pgno), birth: run.birth };
            fresh = self.check.enter(ptr, above, Some(self.name));
            if !fresh {
                break;
            }
        }
        if !fresh {
            self.complete = false;
            return Ok(());
        }
        self.report.overflow_pages += pages;
        self.report.used_bytes += u64::from(run.bytes);
        if let Err(error) = self.check.source.run(run) {
            self.check.trouble(run.pgno.0, Some(self.name), error)?;
        }
        self.check.meter.advance(u64::from(pages) * page_bytes)
    }

    /// What the record of the table says of its size.
    fn compare_with_record(&mut self) {
        if !self.complete {
            return;
        }
        let (tree, found) = (self.tree, &self.report);
        let mut wrong = Vec::new();
        let mut compare = |what: &str, says: u64, is: u64| {
            if says != is {
                wrong.push(format!("its record says {says} {what}, and there are {is}"));
            }
        };
        compare("entries", tree.entries, found.entries);
        compare("branch pages", tree.branch_pages.into(), found.branch_pages.into());
        compare("leaf pages", tree.leaf_pages.into(), found.leaf_pages.into());
        compare("pages of large values", tree.overflow_pages.into(), found.overflow_pages.into());
        for text in wrong {
            self.check.report.add(None, Some(self.name), || text);
        }
    }
}
