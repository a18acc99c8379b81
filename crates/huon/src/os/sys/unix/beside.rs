//! Files that the engine makes beside a data file: its lock file, and those of clients (P6).
//!
//! 1. A new file has the owner, group, permissions and access list of the data file, as far as the
//!    kernel lets this process set them: whichever process comes first, every user with access to
//!    the one has access to the other. A process that only reads makes no file that it cannot give
//!    to the owner.
//! 2. A file gets its name when it has all that, and blocks under all its bytes: a process that
//!    cannot make it whole, or is killed before it is, leaves nothing behind. (File systems without
//!    nameless files keep a draft of a killed process under a name of its own, and those without
//!    links have the file made in its place.)
//! 3. No link is followed, and what has the name already is left as it is.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::descriptor::open_kept;
use super::files::{fill, flush, forget_cache, write_zeros};
use super::system::{access_list, nameless};
use crate::os::unique_number;

/// What a new file takes from the file that it lies beside.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    mode: u32,
    owner: u32,
    group: u32,
    access_list: Option<Vec<u8>>,
    bytes: u64,
    /// Its blocks are written, and not only allocated.
    written: bool,
    for_owner_only: bool,
}

impl Beside {
    /// A lock file of so many `bytes` beside the data file `data`. `looks`: for a process that only
    /// looks (1).
    pub(crate) fn lock_file(data: &File, bytes: u64, looks: bool) -> io::Result<Beside> {
        Ok(Beside { bytes, for_owner_only: looks, ..Beside::empty(data)? })
    }

    /// A journal of so many `bytes`, all written and flushed.
    pub(crate) fn journal(self, bytes: u64) -> Beside {
        Beside { bytes, written: true, ..self }
    }

    /// A file without contents beside `file`.
    pub(crate) fn empty(file: &File) -> io::Result<Beside> {
        let stat = file.metadata()?;
        Ok(Beside {
            mode: stat.mode() & 0o777,
            owner: stat.uid(),
            group: stat.gid(),
            access_list: access_list::of(file),
            bytes: 0,
            written: false,
            for_owner_only: false,
        })
    }

    /// Makes the file; `false`: it is not to be made (1). No error if it is there by then.
    pub(crate) fn make(&self, path: &Path) -> io::Result<bool> {
        let draft = UnnamedFile::beside(path)?;
        if !self.give(&draft.file)? {
            return Ok(false);
        }
        fill(&draft.file, 0, self.bytes)?;
        if self.written {
            write_zeros(&draft.file, 0, self.bytes)?;
            flush(&draft.file)?;
            forget_cache(&draft.file);
        }
        match draft.give_name(path) {
            Err(e) if is_without_links(&e) => self.make_in_place(path),
            named => named.map(|()| true),
        }
    }

    fn make_in_place(&self, path: &Path) -> io::Result<bool> {
        match create(path) {
            // It stays if it gets no blocks: others may have it open.
            Ok(file) => self.give(&file),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Gives the file what it is to have; `false` if it cannot be the owner's, and should.
    fn give(&self, file: &File) -> io::Result<bool> {
        let is_owners = |file: &File| file.metadata().map(|stat| stat.uid() == self.owner);
        let stat = file.metadata()?;
        if (stat.uid(), stat.gid()) != (self.owner, self.group) {
            // Where both cannot be given, either is better than none.
            let _ = fchown(file, Some(self.owner), Some(self.group))
                .or_else(|_| fchown(file, Some(self.owner), None))
                .or_else(|_| fchown(file, None, Some(self.group)));
        }
        if self.for_owner_only && !is_owners(file)? {
            return Ok(false);
        }
        // The umask may have taken bits away that the data file has. Before the access list, whose
        // mask these bits are.
        file.set_permissions(Permissions::from_mode(self.mode))?;
        if let Some(list) = &self.access_list {
            access_list::set(file, list)?;
        }
        Ok(true)
    }
}

/// For this user alone, until its permissions are set.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_kept(options.read(true).write(true).create_new(true).mode(0o600), path)
}

/// A file that does not have its name yet.
struct UnnamedFile {
    file: File,
    /// A name of its own, where the file system has no files without one.
    name: Option<PathBuf>,
}

impl UnnamedFile {
    /// A new one, in the directory of `path`.
    fn beside(path: &Path) -> io::Result<UnnamedFile> {
        if let Some(file) = nameless::create(path) {
            return Ok(UnnamedFile { file, name: None });
        }
        // Short, and unlike the name: that may have no room for more.
        let name = format!(".huon-{}-{}", std::process::id(), unique_number());
        let name = path.with_file_name(name);
        Ok(UnnamedFile { file: create(&name)?, name: Some(name) })
    }

    /// No error if `path` is there by then. Unlike a rename, a link never replaces what appeared
    /// there meanwhile.
    fn give_name(&self, path: &Path) -> io::Result<()> {
        let linked = match &self.name {
            Some(name) => std::fs::hard_link(name, path),
            None => nameless::link(&self.file, path),
        };
        match linked {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    }
}

impl Drop for UnnamedFile {
    /// Whatever became of it, a name of its own is of no use any more.
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = std::fs::remove_file(name);
        }
    }
}

fn is_without_links(error: &io::Error) -> bool {
    let codes = [libc::EPERM, libc::EOPNOTSUPP, libc::ENOSYS, libc::EMLINK];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Whether the lock file cannot be used or made for a reason that leaves the data readable: a
/// permission, a medium that is full or not to be written, a limit of this user's.
pub(crate) fn is_unavailable(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, PermissionDenied, QuotaExceeded};
    use io::ErrorKind::{InvalidFilename, ReadOnlyFilesystem, StorageFull};
    let permission = matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem);
    permission
        || matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | InvalidFilename)
}

#[cfg(test)]
impl Beside {
    /// A file of this user's, of so many bytes.
    pub(crate) fn of_mode(mode: u32, bytes: u64) -> Beside {
        // SAFETY: these only ask.
        let (owner, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        Beside {
            mode,
            owner,
            group,
            access_list: None,
            bytes,
            written: false,
            for_owner_only: false,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::os::RealShared;
    use crate::os::testing::{ScratchDir, skip};

    const STRANGER: u32 = 65534;

    fn data_file(scratch: &ScratchDir) -> File {
        let file = create(&scratch.join("data")).expect("a file");
        file.set_permissions(Permissions::from_mode(0o640)).expect("its own mode");
        file
    }

    fn access(path: &Path) -> (u32, u32, u32) {
        let found = std::fs::metadata(path).expect("a file");
        (found.uid(), found.gid(), found.mode() & 0o7777)
    }

    #[test]
    fn a_new_file_is_whole_and_as_accessible_as_the_data_file() {
        let scratch = ScratchDir::new();
        let data = data_file(&scratch);
        let given = fchown(&data, Some(STRANGER), Some(STRANGER));
        if given.is_err() {
            return skip("os::beside::tests", "this user cannot give files away");
        }
        let path = scratch.join("lock");
        assert!(Beside::lock_file(&data, 8192, true).unwrap().make(&path).unwrap());
        assert_eq!(access(&path), (STRANGER, STRANGER, 0o640));
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!(found.len(), 8192);
        assert!(found.blocks() * 512 >= found.len());
        let names = || std::fs::read_dir(scratch.path()).unwrap().count();
        assert_eq!(names(), 2, "the draft is gone");

        // What is there stays as it is.
        std::fs::write(&path, "as it was").unwrap();
        assert!(Beside::empty(&data).unwrap().make(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"as it was");
        let link = scratch.join("link");
        std::os::unix::fs::symlink(scratch.join("nowhere"), &link).unwrap();
        assert!(Beside::empty(&data).unwrap().make(&link).unwrap());
        assert!(!scratch.join("nowhere").exists());
        assert_eq!(names(), 3);
    }

    /// A process that is killed before the file is whole leaves no name behind.
    #[test]
    fn a_draft_has_no_name() {
        let scratch = ScratchDir::new();
        let path = scratch.join("lock");
        let names = || std::fs::read_dir(scratch.path()).unwrap().count();
        let draft = UnnamedFile::beside(&path).unwrap();
        if draft.name.is_some() {
            return skip("os::beside::tests", "this file system has no nameless files");
        }
        fill(&draft.file, 0, 4096).unwrap();
        assert_eq!(names(), 0);
        draft.give_name(&path).unwrap();
        assert_eq!((names(), std::fs::metadata(&path).unwrap().len()), (1, 4096));
        // Another process was faster.
        let late = UnnamedFile::beside(&path).unwrap();
        late.give_name(&path).unwrap();
        drop((draft, late));
        assert_eq!((names(), std::fs::metadata(&path).unwrap().len()), (1, 4096));
    }

    /// Where the file system has no nameless files.
    #[test]
    fn a_draft_with_a_name_loses_it() {
        let scratch = ScratchDir::new();
        let (path, name) = (scratch.join("lock"), scratch.join(".huon-1-1"));
        let names = || std::fs::read_dir(scratch.path()).unwrap().count();
        let draft =
            |name: &Path| UnnamedFile { file: create(name).unwrap(), name: Some(name.into()) };
        drop(draft(&name));
        assert_eq!(names(), 0);
        let named = draft(&name);
        named.give_name(&path).unwrap();
        drop(named);
        assert!(path.exists() && names() == 1);
    }

    #[test]
    fn the_files_of_clients_are_the_owners_too() {
        let scratch = ScratchDir::new();
        let data = data_file(&scratch);
        let given = fchown(&data, Some(STRANGER), Some(STRANGER));
        if given.is_err() {
            return skip("os::beside::tests", "this user cannot give files away");
        }
        let beside = Beside::lock_file(&data, 8192, false).unwrap();
        let path = scratch.join("lock");
        let files = |_: &File| Ok(crate::os::locks::Way::Files);
        let shared = RealShared::open_by(&path, Some(&beside), files).unwrap().unwrap();
        assert!(crate::os::Shared::claim(&shared, 0).unwrap());
        assert_eq!(access(&scratch.join("lock-0")), (STRANGER, STRANGER, 0o640));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn access_lists_are_taken_over() {
        let scratch = ScratchDir::new();
        let data = data_file(&scratch);
        // Version 2; the owner, one user, the group, the mask, others: kind, permissions and id of
        // each.
        let mut list = 2u32.to_le_bytes().to_vec();
        for (kind, may, user) in [(1, 6, !0), (2, 6, 1234), (4, 4, !0), (16, 6, !0), (32, 0, !0)] {
            list.extend(u16::to_le_bytes(kind).iter().chain(&u16::to_le_bytes(may)));
            list.extend(u32::to_le_bytes(user));
        }
        if access_list::set(&data, &list).is_err() {
            return skip("os::beside::tests", "this file system keeps no access lists");
        }
        let path = scratch.join("lock");
        assert!(Beside::lock_file(&data, 8192, true).unwrap().make(&path).unwrap());
        assert_eq!(access_list::of(&File::open(&path).unwrap()).as_deref(), Some(&list[..]));
    }
}
