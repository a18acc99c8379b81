//! A compacting copy: each table built anew, bottom-up and packed, in an environment of its own.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::CopyOptions;
use crate::env::Env;
use crate::error::Result;
use crate::ops::bitmap::Bitmap;
use crate::ops::pinned;
use crate::ops::progress::Meter;
use crate::ops::tables::{self, each_record, each_value};
use crate::page::{Meta, OrderKind, PayloadKind, Tree};
use crate::store::source::OnPage;
use crate::store::verified::Verified;
use crate::table::codec::Bytes;
use crate::table::def::{RawTable, TableDef};
use crate::tree::build::Builder;
use crate::tree::edit::TreeMut;
use crate::tree::read;
use crate::tree::values::KeyValues;
use crate::txn::Release;
use crate::txn::catalog;
use crate::txn::meaning::{Lengths, MultiSpec, TableSpec, TypeNames, value_order};
use crate::txn::names::TableNo;
use crate::txn::order::Order;
use crate::txn::write::{How, WriteTxn};

/// Memory that the build buffers, in bytes.
const SPILL_BYTES: usize = 64 << 20;

/// Builds a compact copy at `path`; returns the id of the snapshot that was copied, and the bytes
/// that count as done then. Progress counts them as one of so many `passes` over all the work.
pub(super) fn build(
    env: &Env,
    path: &Path,
    options: &mut CopyOptions<'_>,
    passes: u64,
) -> Result<(u64, u64)> {
    let (_pin, meta) = pinned::pin_of(env, options.snapshot)?;
    let store = &env.core()?.store;
    let source = Verified { store, used: meta.used };
    let named = tables::named(&source, &meta.main)?;
    let total = super::live_bytes(env, &meta)?;
    let copy = target(&meta, store.storage.file_bytes()?, path, options)?;
    let mut meter = options.progress.meter(total * passes);
    let mut visited = tables::no_pages(&source)?;
    let mut txn = copy.write()?;
    txn.take_notes(&meta);
    // First, while it is empty: then it can be built like the others.
    let main = txn.create_table(&TableDef::<Bytes, Bytes>::main())?;
    fill(&mut txn, main, (&source, &meta.main), &mut visited, &mut meter)?;
    for (name, tree) in &named {
        let order = build_order(tree.order);
        let many = tree.many.map(|many| MultiSpec {
            order: build_order(many.order),
            lengths: if many.equal { Lengths::Equal(tree.fixed_bytes) } else { Lengths::Any },
        });
        let wanted =
            TableSpec { name, order: &order, many: many.as_ref(), types: &TypeNames::BYTES };
        if tree.labels != 0 {
            let labels = catalog::labels(&source, &meta.main, name)?;
            txn.make_table(name, wanted.empty(), labels)?;
        }
        let number = txn.create_spec(&wanted)?;
        let from = (&source, tree);
        match many {
            None => {
                let table = RawTable::of(txn.core.names.handle(number));
                fill(&mut txn, table, from, &mut visited, &mut meter)?;
            }
            Some(_) => fill_many(&mut txn, number, from, &mut visited, &mut meter)?,
        }
        txn.edit(number, How::Unordered, |copied| {
            copied.tree.sequence = tree.sequence;
            Ok(())
        })?;
    }
    txn.commit()?;
    copy.sync()?;
    cut(&copy)?;
    meter.now.done_bytes = total;
    meter.tell()?;
    Ok((meta.txnid.0, total))
}

/// The copy ends where its data ends, and not a growth step later: no other client has it open.
fn cut(copy: &Env) -> Result<()> {
    let core = copy.core()?;
    core.take_writer(Duration::ZERO)?;
    let _role = Release(&core.store.writer);
    let (_, meta) = core.newest_sealed()?;
    core.store.shrink(meta.used.max(meta.geometry.min_pages), 1)
}

/// An empty environment with the geometry of the old one.
fn target(meta: &Meta, file_bytes: u64, path: &Path, options: &CopyOptions<'_>) -> Result<Env> {
    let bytes = |pages: u32| u64::from(pages) * u64::from(meta.page_bytes);
    let geometry = &meta.geometry;
    // The file itself is that long, unless it is made to mislead.
    let min_bytes = bytes(geometry.min_pages).min(file_bytes);
    Env::options()
        .page_bytes(meta.page_bytes as usize)
        .min_bytes(min_bytes)
        .max_bytes(bytes(geometry.max_pages))
        .grow_bytes(bytes(geometry.grow))
        .shrink_bytes(bytes(geometry.shrink))
        .write_buffer_bytes(SPILL_BYTES)
        .mode(options.mode_bits())
        .exclusive(true)
        .open(path)
}

fn fill(
    txn: &mut WriteTxn,
    table: RawTable,
    from: (&Verified<'_>, &Tree),
    visited: &mut Bitmap,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let (source, tree) = from;
    table.bulk_load(txn, |append| {
        each_record(source, tree, visited, &mut |cell, _| {
            // The main table's records of named tables are made by creating those.
            let Some(value) = read::value(source, &cell)? else { return Ok(()) };
            append(cell.key, value)?;
            meter.now.records += 1;
            meter.advance((cell.key.len() + value.len()) as u64)
        })
    })
}

/// The same for a multimap: values in cells are copied as they are, trees of values are built anew.
fn fill_many(
    txn: &mut WriteTxn,
    number: TableNo,
    from: (&Verified<'_>, &Tree),
    visited: &mut Bitmap,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let (source, tree) = from;
    let info = txn.info(number)?.clone();
    txn.edit(number, How::AllOrNothing, |copied| {
        let TreeMut { pages, tree: record, order, .. } = copied;
        let mut builder = Builder::new(**record, *order);
        let value_order = value_order(tree, Some(&info))?;
        each_record(source, tree, visited, &mut |cell, visited| {
            let held = KeyValues::of(tree, &cell).on(tree.root)?;
            let count = held.count();
            if cell.kind != PayloadKind::DuplicateTree {
                meter.now.records += count;
                builder.push_values(pages, cell.key, cell.kind, cell.payload, count)?;
                return meter.advance((cell.key.len() + cell.payload.len()) as u64);
            }
            let mut values = Builder::new(tree.of_values(), value_order);
            each_value(source, tree, &cell, visited, &mut |value| {
                values.push(pages, value, &[])?;
                meter.advance(value.len() as u64)
            })?;
            let values = Tree { changed: pages.txnid(), ..values.finish(pages)? };
            // As many as were found, whatever the record says.
            meter.now.records += values.entries;
            builder.count_values(&values);
            builder.push_values(pages, cell.key, cell.kind, &values.encode(), values.entries)
        })?;
        **record = builder.finish(pages)?;
        Ok(())
    })
}

/// The order to build a table with. A caller's function is not needed: the records come in its
/// order already, so that each is above the one before.
fn build_order(kind: OrderKind) -> Order {
    match kind {
        OrderKind::Bytes => Order::Bytes,
        OrderKind::Reversed => Order::Reversed,
        OrderKind::Native4 => Order::NativeU32,
        OrderKind::Native8 => Order::NativeU64,
        OrderKind::Custom => Order::unnamed(Arc::new(|_, _| Ordering::Greater)),
    }
}
