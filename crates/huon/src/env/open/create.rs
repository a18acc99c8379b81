//! How a new data file is made.

use std::path::{Path, PathBuf};

use crate::env::options::{Options, PAGE_BYTES_DEFAULT};
use crate::error::{Error, Result};
use crate::lock::Place;
use crate::os::{self, Create, FileOptions, RealFile, Storage};
use crate::page::{CommitKind, Meta, OrderKind, Sweep, Tree, Txnid, first_data_page};
use crate::txn::Core;
use crate::txn::recovery;

/// Makes a new file beside its final name, flushes it, and gives it the name: it exists whole or
/// not at all.
pub(super) fn create_file(path: &Path, options: &Options) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-new-{}-{}", std::process::id(), os::unique_number()));
    let draft = PathBuf::from(name);
    let made = make_draft(&draft, options).and_then(|()| {
        match std::fs::hard_link(&draft, path) {
            // Another process was faster: its file is used.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked.map_err(|e| Error::io("create", path.display().to_string(), e)),
        }
    });
    // The draft's own name is needed no more, whatever became of it.
    let _ = std::fs::remove_file(&draft);
    made?;
    os::sync_directory(path)
}

fn make_draft(draft: &Path, options: &Options) -> Result<()> {
    let file = FileOptions {
        read_only: false,
        create: Create::Fresh,
        mode: options.mode,
        reserve_bytes: 1 << 20,
        inherited: None,
    };
    format_file(&RealFile::open(draft, &file)?, options)
}

/// Writes the first meta of an empty environment.
pub(super) fn format_file(storage: &dyn Storage, options: &Options) -> Result<()> {
    let page_bytes = options.page_bytes.unwrap_or(PAGE_BYTES_DEFAULT);
    let twin = options.twin_of.as_ref().map(|image| &image.meta);
    let geometry = twin.map_or_else(|| options.geometry(page_bytes), |meta| meta.geometry);
    let meta = Meta {
        uuid: twin.map_or_else(os::random_bytes, |meta| Ok(meta.uuid))?,
        page_bytes: page_bytes as u32,
        commit: CommitKind::TwoFlush,
        txnid: recovery::FIRST_ID,
        before: Txnid(0),
        ceiling: Core::ceiling_after(1),
        geometry,
        used: first_data_page(page_bytes),
        main: Tree::new(OrderKind::Bytes),
        markers: [0; 3],
        markers_txnid: 0,
        app_flags: 0,
        sweep: Sweep::default(),
        place: Place::default(),
        names: false,
        items: Vec::new(),
    };
    storage.grow(u64::from(geometry.min_pages) * page_bytes as u64)?;
    storage.write_at(&[&meta.encode()], 0)?;
    storage.sync()
}
