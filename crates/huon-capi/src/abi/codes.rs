//! What functions answer: numbers that never change their meaning.

use std::ffi::c_int;

/// It is done.
pub const HUON_OK: c_int = 0;

/// There is no such key, value, record, or next one: an answer, no error, and it has no message.
pub const HUON_NOT_FOUND: c_int = -1;
/// The key is there already: an answer, no error.
pub const HUON_EXISTS: c_int = -2;
/// The time is over: an answer, no error.
pub const HUON_TIMED_OUT: c_int = -3;
/// Transactions or others keep the file open; it is closed with the last of them: no error.
pub const HUON_STILL_SHARED: c_int = -4;
/// The value is not the one that was expected: an answer, no error.
pub const HUON_CONFLICT: c_int = -5;

/// A key is longer than the page size allows: see huon_info.key_bytes_max.
pub const HUON_KEY_TOO_LONG: c_int = 1;
/// A value is longer than 0x7FF00000 bytes.
pub const HUON_VALUE_TOO_LONG: c_int = 2;
/// A key has a length that the order of its table does not allow.
pub const HUON_KEY_LENGTH: c_int = 3;
/// What is appended does not come last.
pub const HUON_KEY_OUT_OF_ORDER: c_int = 4;
/// There is no such table in this snapshot.
pub const HUON_TABLE_NOT_FOUND: c_int = 5;
/// A table of that name is of another kind: a multimap or not, or of another order.
pub const HUON_TABLE_KIND: c_int = 6;
/// A table of that name exists already.
pub const HUON_TABLE_EXISTS: c_int = 7;
/// Stored bytes do not decode.
pub const HUON_DECODE: c_int = 8;
/// The environment, or the file system below it, cannot be written.
pub const HUON_READ_ONLY: c_int = 9;
/// An option or argument makes no sense; the message says which.
pub const HUON_INVALID: c_int = 10;
/// The file has reached its maximum size; the message names the readers that keep pages.
pub const HUON_MAP_FULL: c_int = 11;
/// An earlier failure left the transaction unusable: abort it.
pub const HUON_TXN_BROKEN: c_int = 12;
/// A lock was not free in time; the message names its holder.
pub const HUON_BUSY: c_int = 13;
/// The file is not one of Huon's; the message says what it is.
pub const HUON_NOT_A_DATABASE: c_int = 14;
/// The file has a newer format.
pub const HUON_VERSION_UNKNOWN: c_int = 15;
/// The file has another page size than was asked for.
pub const HUON_PAGE_SIZE: c_int = 16;
/// A flush failed: what reached the disk is unknown. Close it everywhere and open it again.
pub const HUON_POISONED: c_int = 17;
/// It was open before fork, and is the parent's: begin anew in this process.
pub const HUON_FORKED: c_int = 18;
/// The operating system returned an error: see huon_error.system.
pub const HUON_IO: c_int = 19;
/// The file is damaged: see huon_error.page.
pub const HUON_CORRUPT: c_int = 20;
/// This process has as many environments open as it can have.
pub const HUON_ENVIRONMENTS_FULL: c_int = 21;
/// There is not enough memory.
pub const HUON_OUT_OF_MEMORY: c_int = 22;
/// A value is longer than those of a multimap may be, which are as long as keys at most.
pub const HUON_SORTED_VALUE_TOO_LONG: c_int = 23;
/// All values of this multimap have one length, and this one has another.
pub const HUON_VALUE_LENGTH: c_int = 24;
/// A key has several values, and which one is meant was not said.
pub const HUON_MANY_VALUES: c_int = 25;
/// The file is longer than the address space that was reserved: open it again.
pub const HUON_MAP_TOO_SMALL: c_int = 26;
/// A writer needed the pages that a parked transaction kept: begin anew.
pub const HUON_EVICTED: c_int = 27;
/// A comparator of another name orders the table.
pub const HUON_WRONG_ORDER: c_int = 28;
/// This thread has the write transaction already and would wait for itself.
pub const HUON_THREAD_WRITES: c_int = 29;
/// A record of the main table has the name, or a table has it where a record was to be.
pub const HUON_NAME_TAKEN: c_int = 30;
/// A comparator orders the table that was not given when it was opened.
pub const HUON_ORDER_UNKNOWN: c_int = 31;
/// Keys that begin alike do not lie together in this table.
pub const HUON_PREFIX_ORDER: c_int = 32;
/// The main table holds named tables: drop those first.
pub const HUON_TABLES_INSIDE: c_int = 33;
/// A key or a value could not be encoded.
pub const HUON_ENCODE: c_int = 34;
/// Keys or values of the table are of another type.
pub const HUON_TABLE_TYPE: c_int = 35;
/// The newest commits are in the file's journal, and that is not the one that goes with it; the
/// message says which file is wanted. Or see HUON_GIVE_UP_JOURNAL.
pub const HUON_JOURNAL: c_int = 36;
/// Changes do not follow the snapshot that is there: they are of another file, or others came
/// between.
pub const HUON_DIVERGED: c_int = 37;

/// The handle was closed, or never was one of its kind.
pub const HUON_BAD_HANDLE: c_int = 101;
/// Another call uses the handle at this moment.
pub const HUON_IN_USE: c_int = 102;
/// The transaction cannot do that: it only reads, or was reset or parked.
pub const HUON_BAD_TXN: c_int = 103;
/// An argument makes no sense, or a pointer is null that must not be.
pub const HUON_BAD_ARGUMENT: c_int = 104;
/// A bug in Huon, stopped at its border.
pub const HUON_PANIC: c_int = 105;
/// A callback asked to stop.
pub const HUON_STOPPED: c_int = 106;
/// There are too many handles open.
pub const HUON_TOO_MANY: c_int = 107;

/// What a commit waits for: until no power loss can take it away (the default).
pub const HUON_DURABLE: c_int = 0;
/// For one flush; of a commit of more than a megabyte the last step is left to the next flush.
pub const HUON_NO_META_SYNC: c_int = 1;
/// For nothing: a power loss falls back to the last checkpoint, which is whole.
pub const HUON_LAZY: c_int = 2;
/// For nothing, and only huon_sync and durable commits of others flush.
pub const HUON_UNSYNCED: c_int = 3;

/// Look again at once: the callback has waited, or has ended the reader.
pub const HUON_SLOW_RETRY: c_int = 0;
/// Evict the reader if it is parked; else wait a millisecond.
pub const HUON_SLOW_EVICT: c_int = 1;
/// Let the file grow, or the change fail.
pub const HUON_SLOW_GIVE_UP: c_int = 2;
