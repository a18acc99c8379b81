//! The three tables of the demo, and what belongs to which total.
//!
//! 1. Every entry of the tree counts once in each directory above it, up to the tree's root, and a
//!    regular file once in its extension. The writer and the recomputing process share this rule
//!    and nothing else: one applies differences, the other adds up from nothing.
//! 2. A total that no entry counts in has no record.

use std::path::Path;

use huon::{Bytes, Codec, Error, Scratch, TableDef};

/// Path to its metadata.
pub(super) const ENTRIES: TableDef<Bytes, Entry> = TableDef::new("entries");
/// Extension with its dot (empty: none) to totals of the regular files that have it.
pub(super) const EXTENSIONS: TableDef<Bytes, Totals> = TableDef::new("extensions");
/// Directory to totals of everything below it.
pub(super) const DIRECTORIES: TableDef<Bytes, Totals> = TableDef::new("directories");

/// The bits of a mode that tell the type, and the type of a regular file.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// One file, directory or other thing in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) mtime: i64,
}

impl Entry {
    fn is_regular(&self) -> bool {
        self.mode & TYPE_BITS == REGULAR
    }

    /// Bytes that it adds to totals.
    pub(super) fn bytes(&self) -> u64 {
        if self.is_regular() { self.size } else { 0 }
    }
}

/// How many entries, and how many bytes their contents have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

/// The little-endian integers of a record, one after another.
fn fields<const N: usize>(bytes: &[u8]) -> huon::Result<[u64; N]> {
    let (parts, rest) = bytes.as_chunks::<8>();
    match <[[u8; 8]; N]>::try_from(parts) {
        Ok(parts) if rest.is_empty() => Ok(parts.map(u64::from_le_bytes)),
        _ => Err(Error::Decode(format!("{} bytes, expected {}", bytes.len(), N * 8).into())),
    }
}

fn put_fields<'e>(fields: &[u64], scratch: &'e mut Scratch) -> huon::Result<&'e [u8]> {
    let buffer = scratch.buffer();
    fields.iter().for_each(|field| buffer.extend_from_slice(&field.to_le_bytes()));
    Ok(buffer)
}

impl Codec for Entry {
    type In<'a> = &'a Entry;
    type Out<'t> = Entry;
    const NAME: &'static str = "entry";

    fn encode<'e>(item: &'e &Entry, scratch: &'e mut Scratch) -> huon::Result<&'e [u8]> {
        put_fields(&[item.size, u64::from(item.mode), item.mtime.cast_unsigned()], scratch)
    }

    fn decode(bytes: &[u8]) -> huon::Result<Entry> {
        let [size, mode, mtime] = fields(bytes)?;
        Ok(Entry { size, mode: mode as u32, mtime: mtime.cast_signed() })
    }
}

impl Codec for Totals {
    type In<'a> = &'a Totals;
    type Out<'t> = Totals;
    const NAME: &'static str = "totals";

    fn encode<'e>(item: &'e &Totals, scratch: &'e mut Scratch) -> huon::Result<&'e [u8]> {
        put_fields(&[item.entries, item.bytes], scratch)
    }

    fn decode(bytes: &[u8]) -> huon::Result<Totals> {
        let [entries, bytes] = fields(bytes)?;
        Ok(Totals { entries, bytes })
    }
}

/// The directories above `path`, nearest first, up to the tree's root.
pub(super) fn directories<'p>(root: &[u8], path: &'p [u8]) -> impl Iterator<Item = &'p [u8]> {
    let root_bytes = root.len();
    let up = move |path: &&'p [u8]| {
        let slash = path.iter().rposition(|&byte| byte == b'/')?;
        (slash >= root_bytes).then(|| &path[..slash])
    };
    std::iter::successors(up(&path), up)
}

/// The extension that a regular file counts in; empty if it has none.
pub(super) fn extension<'p>(path: &'p [u8], entry: &Entry) -> Option<&'p [u8]> {
    if !entry.is_regular() {
        return None;
    }
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    match name.iter().rposition(|&byte| byte == b'.') {
        None | Some(0) => Some(&[]),
        Some(dot) => Some(&name[dot..]),
    }
}

/// The key of the tree's root: no slash at its end, so nothing for `/`.
pub(super) fn root_key(dir: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    let key = dir.as_os_str().as_bytes();
    key.strip_suffix(b"/").unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_up_to_the_root() {
        let above = |root, path| directories(root, path).collect::<Vec<&[u8]>>();
        assert_eq!(above(b"/usr", b"/usr/lib/a/b"), [&b"/usr/lib/a"[..], b"/usr/lib", b"/usr"]);
        assert_eq!(above(b"/usr", b"/usr/lib"), [b"/usr"]);
        assert_eq!(above(b"", b"/usr/lib"), [&b"/usr"[..], b""]);
    }

    #[test]
    fn extensions_of_files_only() {
        let mut entry = Entry { size: 1, mode: 0o100_644, mtime: -5 };
        assert_eq!(extension(b"/a.d/b.tar.gz", &entry), Some(&b".gz"[..]));
        assert_eq!(extension(b"/a.d/b", &entry), Some(&b""[..]));
        assert_eq!(extension(b"/a/.profile", &entry), Some(&b""[..]));
        entry.mode = 0o040_755;
        assert_eq!(extension(b"/a.d", &entry), None);
        let mut scratch = Scratch::default();
        assert_eq!(Entry::decode(Entry::encode(&&entry, &mut scratch).unwrap()).ok(), Some(entry));
    }
}
