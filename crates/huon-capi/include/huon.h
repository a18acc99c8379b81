/*
 * huon.h: Huon, an embedded transactional key-value store, in C.
 *
 * Handles are opaque, and looked up, never followed: one that was closed, or is of another kind, is
 * HUON_BAD_HANDLE. Each function answers with a code: HUON_OK, an answer that is no error (below 0,
 * as HUON_NOT_FOUND), or an error (above 0). Codes keep their numbers for ever. huon_last_error
 * tells more of the last error of the calling thread.
 *
 * An answer comes through a pointer, which may be NULL where the function says so. A handle or
 * table that could not be made is all zero then, and may be given back. Bytes that are shown lie
 * in the snapshot of a transaction: see huon_bytes.
 *
 * Environments, tickets, huon_lsm and its tables may be used by all threads at the same time;
 * a transaction, a cursor, options or a batch by one call at a time, of any thread. Calls that read
 * in one read transaction wait for each other; what else comes at the same time is HUON_IN_USE.
 *
 * A forked child goes on with environments and tables. Transactions, cursors and batches of its
 * parent are HUON_FORKED there, and may be closed.
 *
 * Callbacks must return: no longjmp, no exception of C++ may leave one.
 *
 * This file is made from the sources of huon-capi: HUON_WRITE=1 cargo test -p huon-capi header
 */

#ifndef HUON_H
#define HUON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * It is done.
 */
#define HUON_OK 0

/**
 * There is no such key, value, record, or next one: an answer, no error, and it has no message.
 */
#define HUON_NOT_FOUND -1

/**
 * The key is there already: an answer, no error.
 */
#define HUON_EXISTS -2

/**
 * The time is over: an answer, no error.
 */
#define HUON_TIMED_OUT -3

/**
 * Transactions or others keep the file open; it is closed with the last of them: no error.
 */
#define HUON_STILL_SHARED -4

/**
 * The value is not the one that was expected: an answer, no error.
 */
#define HUON_CONFLICT -5

/**
 * A key is longer than the page size allows: see huon_info.key_bytes_max.
 */
#define HUON_KEY_TOO_LONG 1

/**
 * A value is longer than 0x7FF00000 bytes.
 */
#define HUON_VALUE_TOO_LONG 2

/**
 * A key has a length that the order of its table does not allow.
 */
#define HUON_KEY_LENGTH 3

/**
 * What is appended does not come last.
 */
#define HUON_KEY_OUT_OF_ORDER 4

/**
 * There is no such table in this snapshot.
 */
#define HUON_TABLE_NOT_FOUND 5

/**
 * A table of that name is of another kind: a multimap or not, or of another order.
 */
#define HUON_TABLE_KIND 6

/**
 * A table of that name exists already.
 */
#define HUON_TABLE_EXISTS 7

/**
 * Stored bytes do not decode.
 */
#define HUON_DECODE 8

/**
 * The environment, or the file system below it, cannot be written.
 */
#define HUON_READ_ONLY 9

/**
 * An option or argument makes no sense; the message says which.
 */
#define HUON_INVALID 10

/**
 * The file has reached its maximum size; the message names the readers that keep pages.
 */
#define HUON_MAP_FULL 11

/**
 * An earlier failure left the transaction unusable: abort it.
 */
#define HUON_TXN_BROKEN 12

/**
 * A lock was not free in time; the message names its holder.
 */
#define HUON_BUSY 13

/**
 * The file is not one of Huon's; the message says what it is.
 */
#define HUON_NOT_A_DATABASE 14

/**
 * The file has a newer format.
 */
#define HUON_VERSION_UNKNOWN 15

/**
 * The file has another page size than was asked for.
 */
#define HUON_PAGE_SIZE 16

/**
 * A flush failed: what reached the disk is unknown. Close it everywhere and open it again.
 */
#define HUON_POISONED 17

/**
 * It was open before fork, and is the parent's: begin anew in this process.
 */
#define HUON_FORKED 18

/**
 * The operating system returned an error: see huon_error.system.
 */
#define HUON_IO 19

/**
 * The file is damaged: see huon_error.page.
 */
#define HUON_CORRUPT 20

/**
 * This process has as many environments open as it can have.
 */
#define HUON_ENVIRONMENTS_FULL 21

/**
 * There is not enough memory.
 */
#define HUON_OUT_OF_MEMORY 22

/**
 * A value is longer than those of a multimap may be, which are as long as keys at most.
 */
#define HUON_SORTED_VALUE_TOO_LONG 23

/**
 * All values of this multimap have one length, and this one has another.
 */
#define HUON_VALUE_LENGTH 24

/**
 * A key has several values, and which one is meant was not said.
 */
#define HUON_MANY_VALUES 25

/**
 * The file is longer than the address space that was reserved: open it again.
 */
#define HUON_MAP_TOO_SMALL 26

/**
 * A writer needed the pages that a parked transaction kept: begin anew.
 */
#define HUON_EVICTED 27

/**
 * A comparator of another name orders the table.
 */
#define HUON_WRONG_ORDER 28

/**
 * This thread has the write transaction already and would wait for itself.
 */
#define HUON_THREAD_WRITES 29

/**
 * A record of the main table has the name, or a table has it where a record was to be.
 */
#define HUON_NAME_TAKEN 30

/**
 * A comparator orders the table that was not given when it was opened.
 */
#define HUON_ORDER_UNKNOWN 31

/**
 * Keys that begin alike do not lie together in this table.
 */
#define HUON_PREFIX_ORDER 32

/**
 * The main table holds named tables: drop those first.
 */
#define HUON_TABLES_INSIDE 33

/**
 * A key or a value could not be encoded.
 */
#define HUON_ENCODE 34

/**
 * Keys or values of the table are of another type.
 */
#define HUON_TABLE_TYPE 35

/**
 * The newest commits are in the file's journal, and that is not the one that goes with it; the
 * message says which file is wanted. Or see HUON_GIVE_UP_JOURNAL.
 */
#define HUON_JOURNAL 36

/**
 * Changes do not follow the snapshot that is there: they are of another file, or others came
 * between.
 */
#define HUON_DIVERGED 37

/**
 * The handle was closed, or never was one of its kind.
 */
#define HUON_BAD_HANDLE 101

/**
 * Another call uses the handle at this moment.
 */
#define HUON_IN_USE 102

/**
 * The transaction cannot do that: it only reads, or was reset or parked.
 */
#define HUON_BAD_TXN 103

/**
 * An argument makes no sense, or a pointer is null that must not be.
 */
#define HUON_BAD_ARGUMENT 104

/**
 * A bug in Huon, stopped at its border.
 */
#define HUON_PANIC 105

/**
 * A callback asked to stop.
 */
#define HUON_STOPPED 106

/**
 * There are too many handles open.
 */
#define HUON_TOO_MANY 107

/**
 * What a commit waits for: until no power loss can take it away (the default).
 */
#define HUON_DURABLE 0

/**
 * For one flush; of a commit of more than a megabyte the last step is left to the next flush.
 */
#define HUON_NO_META_SYNC 1

/**
 * For nothing: a power loss falls back to the last checkpoint, which is whole.
 */
#define HUON_LAZY 2

/**
 * For nothing, and only huon_sync and durable commits of others flush.
 */
#define HUON_UNSYNCED 3

/**
 * Look again at once: the callback has waited, or has ended the reader.
 */
#define HUON_SLOW_RETRY 0

/**
 * Evict the reader if it is parked; else wait a millisecond.
 */
#define HUON_SLOW_EVICT 1

/**
 * Let the file grow, or the change fail.
 */
#define HUON_SLOW_GIVE_UP 2

/**
 * The value stays as it is.
 */
#define HUON_CHANGE_NONE 0

/**
 * The key has the value that was set.
 */
#define HUON_CHANGE_SET 1

/**
 * The key has no value any more.
 */
#define HUON_CHANGE_REMOVE 2

/**
 * Page size of a new file, in bytes: 256 to 65536, a power of two. 4096 unless said otherwise.
 */
#define HUON_PAGE_BYTES 1

/**
 * The most bytes that a new file may have; 1 TiB unless said otherwise.
 */
#define HUON_MAX_BYTES 2

/**
 * Address space to reserve, in bytes, if that is more than HUON_MAX_BYTES.
 */
#define HUON_MAP_BYTES 3

/**
 * Bytes below which a new file never shrinks.
 */
#define HUON_MIN_BYTES 4

/**
 * Bytes that a new file grows by; 0, the default, lets that follow its size.
 */
#define HUON_GROW_BYTES 5

/**
 * A free end of so many bytes is cut off a new file; 8 MiB unless said otherwise, 0: never.
 */
#define HUON_SHRINK_BYTES 6

/**
 * Bytes of changed pages that a write transaction keeps in memory; 256 MiB unless said otherwise.
 * Also while it is open.
 */
#define HUON_WRITE_BUFFER_BYTES 7

/**
 * Permission bits of files that are created; 0600 unless said otherwise.
 */
#define HUON_FILE_MODE 8

/**
 * 1, the default: a missing file is created; 0: that is an error.
 */
#define HUON_CREATE 9

/**
 * 1: only reads.
 */
#define HUON_OPEN_READ_ONLY 10

/**
 * 1: shares the file with no other opening.
 */
#define HUON_EXCLUSIVE 11

/**
 * What commits wait for: HUON_DURABLE (the default), HUON_NO_META_SYNC, HUON_LAZY or
 * HUON_UNSYNCED. Also while it is open.
 */
#define HUON_DURABILITY 12

/**
 * A lazy commit makes a checkpoint once so many bytes were written. Also while it is open.
 */
#define HUON_FLUSH_AFTER_BYTES 13

/**
 * A lazy commit makes a checkpoint once something was unflushed for so many milliseconds. Also
 * while it is open.
 */
#define HUON_FLUSH_AFTER_MS 14

/**
 * Checksums are verified: 0, the default, when a page is read first; 1: and large values each
 * time; 2: never in reading. Also while it is open.
 */
#define HUON_VERIFY 15

/**
 * The kernel reads ahead: 0, the default, while the file fits in memory; 1: always; 2: never.
 */
#define HUON_READ_AHEAD 16

/**
 * Milliseconds that huon_begin_write waits; 30000 unless said otherwise. Also while it is open.
 */
#define HUON_LOCK_TIMEOUT_MS 17

/**
 * Opens from the meta in slot 0, 1 or 2, whatever the others say: the last resort.
 */
#define HUON_META_SLOT 18

/**
 * 1: takes durability and flushes over from the processes that have the file open.
 */
#define HUON_INHERIT_DURABILITY 19

/**
 * 1: slow readers are asked about before the file grows. While it is open only.
 */
#define HUON_SLOW_READERS_BEFORE_GROWING 20

/**
 * Bytes of a journal, 65536 to 64 GiB (16 MiB is usual), by which durable commits wait for one
 * flush; 0, the default: none. The file is not whole without it until it is closed.
 */
#define HUON_JOURNAL_BYTES 32

/**
 * 1: opens a file whose journal is lost, and gives up the commits that were in it alone.
 */
#define HUON_GIVE_UP_JOURNAL 33

/**
 * Nothing was ever committed to the file.
 */
#define HUON_RECOVERY_NEW 0

/**
 * It was closed cleanly, or others have it open.
 */
#define HUON_RECOVERY_CLEAN 1

/**
 * It was not, and the newest commit is there.
 */
#define HUON_RECOVERY_NEWEST 2

/**
 * It was not; the newest flushed commit is there, and later ones may be missing.
 */
#define HUON_RECOVERY_FLUSHED 3

/**
 * The newest flushed commit is damaged, and the one before it is there.
 */
#define HUON_RECOVERY_STEPPED_BACK 4

/**
 * HUON_META_SLOT named what to start from.
 */
#define HUON_RECOVERY_BY_HAND 5

/**
 * It was not, and commits that were durable in the journal were replayed: all of them.
 */
#define HUON_RECOVERY_REPLAYED 6

/**
 * It was not, and its journal is lost: the last checkpoint is there, as HUON_GIVE_UP_JOURNAL
 * allows. Commits that were durable are missing.
 */
#define HUON_RECOVERY_JOURNAL_GIVEN_UP 7

/**
 * The file is an environment, be it a damaged one.
 */
#define HUON_KIND_ENVIRONMENT 1

/**
 * It is the lock file of one.
 */
#define HUON_KIND_LOCK_FILE 2

/**
 * It is a file of another store that is known.
 */
#define HUON_KIND_KNOWN 3

/**
 * It is the journal of one.
 */
#define HUON_KIND_JOURNAL 4

/**
 * It is something else, or nothing.
 */
#define HUON_KIND_OTHER 0

/**
 * The version of this header.
 */
#define HUON_VERSION_MAJOR 0

/**
 * The version of this header.
 */
#define HUON_VERSION_MINOR 1

/**
 * The version of this header.
 */
#define HUON_VERSION_PATCH 0

/**
 * The version of this header, as huon_version tells that of the library.
 */
#define HUON_VERSION (((HUON_VERSION_MAJOR << 16) | (HUON_VERSION_MINOR << 8)) | HUON_VERSION_PATCH)

/**
 * A transaction that reads.
 */
#define HUON_TXN_READS 0

/**
 * A transaction that writes.
 */
#define HUON_TXN_WRITES 1

/**
 * A read transaction that was reset.
 */
#define HUON_TXN_RESET 2

/**
 * A read transaction that is parked.
 */
#define HUON_TXN_PARKED 3

/**
 * Keys, or values, are in the order of bytes.
 */
#define HUON_ORDER_BYTES 0

/**
 * From the last byte to the first.
 */
#define HUON_ORDER_REVERSED 1

/**
 * They are unsigned numbers of 32 bits, little-endian.
 */
#define HUON_ORDER_U32 2

/**
 * They are unsigned numbers of 64 bits, little-endian.
 */
#define HUON_ORDER_U64 3

/**
 * As a function says: see huon_order.
 */
#define HUON_ORDER_CUSTOM 4

/**
 * As the table was created. One with a function can then only be read from end to end.
 */
#define HUON_ORDER_STORED 5

/**
 * The range begins with the key `from`.
 */
#define HUON_FROM 1

/**
 * The range begins behind the key `from`.
 */
#define HUON_AFTER 2

/**
 * The range ends with the key `to`.
 */
#define HUON_TO 4

/**
 * The range ends before the key `to`.
 */
#define HUON_BEFORE 8

/**
 * The range has the keys that begin with the bytes `from`, in a table whose order is that of
 * bytes. With one other flag it is the part of these which that flag says of `to`: so a program
 * goes on behind a key (HUON_AFTER), or before one (HUON_BEFORE).
 */
#define HUON_PREFIX 16

/**
 * There is no journal.
 */
#define HUON_JOURNAL_NONE 0

/**
 * Not yet: the next durable commit is a checkpoint, which begins it.
 */
#define HUON_JOURNAL_WAITING 1

/**
 * They do.
 */
#define HUON_JOURNAL_RUNNING 2

/**
 * A write or flush of it failed, and they go without it until the environment has been closed
 * everywhere. What was durable still is.
 */
#define HUON_JOURNAL_FAILED 3

/**
 * Builds every table of the copy anew, its pages full, without free space.
 */
#define HUON_COPY_COMPACT 1

/**
 * The file is as short as was asked for.
 */
#define HUON_COMPACTED 0

/**
 * The time is over.
 */
#define HUON_COMPACT_TIME_OVER 1

/**
 * The callback asked to stop.
 */
#define HUON_COMPACT_STOPPED 2

/**
 * Older snapshots still see pages at the end.
 */
#define HUON_COMPACT_RETAINED 3

/**
 * No free place fits the pages that are left.
 */
#define HUON_COMPACT_NO_ROOM 4

/**
 * A meta slot that was never written.
 */
#define HUON_META_UNUSED 0

/**
 * One that cannot be believed.
 */
#define HUON_META_DAMAGED 1

/**
 * One of a newer version.
 */
#define HUON_META_UNKNOWN 2

/**
 * A whole one.
 */
#define HUON_META_WHOLE 3

/**
 * The metas, at the start of the file.
 */
#define HUON_PAGE_META 0

/**
 * A branch of a tree: it leads to pages a level below.
 */
#define HUON_PAGE_BRANCH 1

/**
 * A leaf: it holds records, or values of one key of a multimap.
 */
#define HUON_PAGE_LEAF 2

/**
 * A leaf of values of one length.
 */
#define HUON_PAGE_FIXED_LEAF 3

/**
 * A large value, in consecutive pages.
 */
#define HUON_PAGE_LARGE_VALUE 4

/**
 * A page of the free list.
 */
#define HUON_PAGE_FREE_LIST 5

/**
 * Free, in consecutive pages: the next write transaction may use them.
 */
#define HUON_PAGE_FREE 6

/**
 * Free, in consecutive pages that some older snapshot still sees.
 */
#define HUON_PAGE_RETAINED 7

/**
 * Goes on; of a table: shows its records.
 */
#define HUON_VISIT 0

/**
 * Of a table: passes over its records.
 */
#define HUON_VISIT_SKIP 1

/**
 * Ends the walk with HUON_STOPPED.
 */
#define HUON_VISIT_STOP 2

/**
 * No filters: a value of huon_lsm_options.filter_bits.
 */
#define HUON_LSM_NO_FILTERS 65535

/**
 * Merges what is due.
 */
#define HUON_LSM_DUE 0

/**
 * Merges all runs of each table into one.
 */
#define HUON_LSM_ALL 1

/**
 * Makes the file shorter.
 */
#define HUON_LSM_SHORTEN 2

/**
 * Changes of write-optimised tables that are collected outside of a transaction. One thread at
 * a time uses it.
 */
typedef struct huon_batch huon_batch;

/**
 * Threads that merge runs.
 */
typedef struct huon_compactor huon_compactor;

/**
 * A cursor: a place between two records of a table, or two pairs of a multimap. It belongs to
 * no transaction: each step names one, and may name another one than the step before. After a
 * change it goes on where it stood. One thread at a time uses it.
 */
typedef struct huon_cursor huon_cursor;

/**
 * An open environment: a file with tables. All threads may use it at the same time. In a
 * forked child it goes on.
 */
typedef struct huon_env huon_env;

/**
 * The write-optimised tables of an environment. All threads may use it, and its tables.
 */
typedef struct huon_lsm huon_lsm;

/**
 * A write-optimised table: puts in random order cost several times less than in an ordinary
 * one, and runs that are merged later make up for it. It is used in the same transactions.
 */
typedef struct huon_lsm_table huon_lsm_table;

/**
 * Options to open an environment with. One thread at a time uses them.
 */
typedef struct huon_options huon_options;

/**
 * A commit whose durability can be waited for, in any thread.
 */
typedef struct huon_ticket huon_ticket;

/**
 * A transaction: one that reads, or one that writes. Any thread may use it, one call at a time.
 * A forked child cannot use those of its parent (HUON_FORKED), and may end them.
 */
typedef struct huon_txn huon_txn;

/**
 * Bytes: where they are, and how many. Keys and values may be empty; `data` may be NULL then.
 *
 * Those that you give are read before the call returns. Those that you are given lie in the
 * snapshot of a transaction. They stay as they are until a read transaction ends, is reset,
 * renewed or parked. In a write transaction they stay until it ends or the next call that changes
 * something in it.
 */
typedef struct {
    /**
     * The first of them.
     */
    const void *data;
    /**
     * How many they are.
     */
    size_t len;
} huon_bytes;

/**
 * What went wrong in this thread last.
 */
typedef struct {
    /**
     * What the function returned; 0: nothing has gone wrong yet.
     */
    int code;
    /**
     * The number of errno.h where the system refused something, or 0.
     */
    int system;
    /**
     * The damaged page, or UINT32_MAX.
     */
    uint32_t page;
    /**
     * The function, and a sentence or two: what, where, and what to do. UTF-8, ends with a zero
     * byte, and stays until the next error of this thread.
     */
    const char *message;
} huon_error;

/**
 * A reader that keeps pages from a writer that has no others left.
 */
typedef struct {
    /**
     * Its process, for people only: containers count on their own.
     */
    uint32_t pid;
    /**
     * Its thread, for people only.
     */
    uint32_t thread;
    /**
     * The snapshot that it reads.
     */
    uint64_t txnid;
    /**
     * How many ids were used since.
     */
    uint64_t ids_behind;
    /**
     * Bytes that would be free without it.
     */
    uint64_t freed_bytes;
    /**
     * How often this was asked before, for the same want of pages.
     */
    uint32_t retries;
    /**
     * It is parked, and can be evicted.
     */
    bool is_parked;
    /**
     * It is of this very environment in this process: to wait for it may be in vain.
     */
    bool is_own;
    /**
     * The file can grow no more.
     */
    bool is_full;
} huon_slow_reader;

/**
 * Says what to do about a slow reader: one of HUON_SLOW_*. It is called in the thread that writes,
 * in the middle of a change. It may read, sleep and end transactions, and not write to the
 * environment.
 */
typedef int (*huon_slow_reader_fn)(void *context, const huon_slow_reader *reader);

/**
 * The limits of a file's length, and the steps in which it changes, in bytes.
 */
typedef struct {
    /**
     * Below this it never shrinks.
     */
    uint64_t min_bytes;
    /**
     * Above this it never grows.
     */
    uint64_t max_bytes;
    /**
     * It grows by so much; 0: that follows its size.
     */
    uint64_t grow_bytes;
    /**
     * A free end of so many is cut off; 0: never.
     */
    uint64_t shrink_bytes;
} huon_geometry;

/**
 * Compares two keys, or two values: below 0, 0 or above 0, as the first is below, the same or
 * above. It must be a total order. It is called in any thread that uses the table, in the middle
 * of a call, and must not use the transaction.
 */
typedef int (*huon_compare_fn)(void *context, huon_bytes a, huon_bytes b);

/**
 * How keys, or values, compare. All zero: as bytes.
 */
typedef struct {
    /**
     * One of HUON_ORDER_*.
     */
    int kind;
    /**
     * Of HUON_ORDER_CUSTOM: a name of 1 to 255 bytes of UTF-8, which the table keeps.
     */
    huon_bytes name;
    /**
     * Of HUON_ORDER_CUSTOM: the function, good as long as the environment is open.
     */
    huon_compare_fn compare;
    /**
     * What the function is handed; good in every thread that uses the table.
     */
    void *context;
} huon_order;

/**
 * What a table is opened or created with; NULL: all zero. Set `bytes` to
 * sizeof(huon_table_options) and the rest to zero first.
 */
typedef struct {
    /**
     * sizeof(huon_table_options).
     */
    size_t bytes;
    /**
     * How keys compare.
     */
    huon_order keys;
    /**
     * How the values of a key compare, in a multimap.
     */
    huon_order values;
    /**
     * Bytes that each value of a multimap has; 0: any.
     */
    uint32_t value_bytes;
    /**
     * The names of the types of keys and values, which the table keeps and other programs check;
     * both empty: none.
     */
    huon_bytes key_type;
    /**
     * The name of the type of values.
     */
    huon_bytes value_type;
} huon_table_options;

/**
 * A table: a value that may be copied, kept as long as its environment is open, and used in every
 * thread and transaction of that. There is nothing to close. One whose table was dropped is
 * HUON_TABLE_NOT_FOUND, or finds the table that was made under its name since; never another one.
 */
typedef struct {
    /**
     * Not to be looked into.
     */
    uint64_t words[2];
} huon_table;

/**
 * A key and a value.
 */
typedef struct {
    /**
     * The key.
     */
    huon_bytes key;
    /**
     * The value.
     */
    huon_bytes value;
} huon_pair;

/**
 * A range of keys: what its flags say of `from` and `to`; without a flag that end is open. The
 * bytes are copied.
 */
typedef struct {
    /**
     * HUON_FROM, HUON_AFTER or none; HUON_TO, HUON_BEFORE or none; or HUON_PREFIX with one of
     * these or none.
     */
    uint32_t flags;
    /**
     * The lower end, or the prefix.
     */
    huon_bytes from;
    /**
     * The upper end; with HUON_PREFIX the one that the other flag speaks of.
     */
    huon_bytes to;
} huon_range;

/**
 * Gives the next record: returns 0 once it has set `*pair`, whose bytes stay until it is called
 * again, and are none that this transaction has shown; HUON_NOT_FOUND when there are no more;
 * anything else ends the call with HUON_STOPPED, and leaves the transaction to be aborted.
 */
typedef int (*huon_next_fn)(void *context, huon_pair *pair);

/**
 * A multimap, a table in which a key may have many values, in order and none twice: a value, as
 * huon_table is.
 */
typedef struct {
    /**
     * Not to be looked into.
     */
    uint64_t words[2];
} huon_multi;

/**
 * Sees a value of the key of that index, among those that were asked for. Returns 0, or anything
 * else to end the call with HUON_STOPPED. It must not use the transaction: HUON_IN_USE. To look
 * for each value elsewhere, keep what is shown, which stays as ever, and look after the call.
 */
typedef int (*huon_value_fn)(void *context, size_t index, huon_bytes value);

/**
 * Writes a value to the place where it is to lie, which has so many bytes.
 */
typedef void (*huon_fill_fn)(void *context, void *place, size_t len);

/**
 * Says what becomes of the value of a key, which is `old`, or NULL if there is none: returns
 * HUON_CHANGE_NONE, HUON_CHANGE_REMOVE, or HUON_CHANGE_SET once it has set `*value`, whose bytes
 * stay until the call around it returns, and may be those of `old`. Anything else ends the call
 * with HUON_STOPPED, and changes nothing. It must not use the transaction: HUON_IN_USE.
 */
typedef int (*huon_change_fn)(void *context, const huon_bytes *old, huon_bytes *value);

/**
 * Says whether a record stays: 1, or 0 to have it removed. Anything else ends the call with
 * HUON_STOPPED, and all that is left stays. It sees records in order, and must not use the
 * transaction.
 */
typedef int (*huon_keep_fn)(void *context, huon_bytes key, huon_bytes value);

/**
 * The state of an environment at a moment.
 */
typedef struct {
    /**
     * Bytes of a page.
     */
    uint32_t page_bytes;
    /**
     * The longest key, in bytes.
     */
    uint32_t key_bytes_max;
    /**
     * Openings of the file, of all processes.
     */
    uint32_t clients;
    /**
     * Read transactions, of all processes.
     */
    uint32_t readers;
    /**
     * Length of the file.
     */
    uint64_t file_bytes;
    /**
     * Part of it that the newest snapshot uses.
     */
    uint64_t used_bytes;
    /**
     * The most that it may become.
     */
    uint64_t max_bytes;
    /**
     * Address space that is reserved for it here.
     */
    uint64_t map_bytes;
    /**
     * The newest commit.
     */
    uint64_t newest;
    /**
     * The snapshot that new readers get.
     */
    uint64_t visible;
    /**
     * The newest commit that survives a power loss.
     */
    uint64_t durable;
    /**
     * Bytes written since the last checkpoint.
     */
    uint64_t unflushed_bytes;
    /**
     * Commits of this opening that changed something.
     */
    uint64_t commits;
    /**
     * Its flushes.
     */
    uint64_t flushes;
    /**
     * Its calls that write.
     */
    uint64_t writes;
    /**
     * Bytes that it wrote.
     */
    uint64_t written_bytes;
    /**
     * Pages that it wrote.
     */
    uint64_t pages_written;
    /**
     * The identity of the file.
     */
    uint8_t uuid[16];
    /**
     * A flush has failed: HUON_POISONED.
     */
    bool is_poisoned;
    /**
     * The next write transaction repairs what an unclean end has left.
     */
    bool is_repair_due;
    /**
     * Whether durable commits go by a journal: one of HUON_JOURNAL_NONE to HUON_JOURNAL_FAILED.
     */
    int journal;
    /**
     * Length of the journal.
     */
    uint64_t journal_bytes;
    /**
     * Bytes of it in use since the last checkpoint: about what a recovery would read.
     */
    uint64_t journal_used_bytes;
    /**
     * Batches in it since the last checkpoint, each of one or more commits.
     */
    uint64_t journal_batches;
    /**
     * The snapshot of the last checkpoint, from which a recovery would go on.
     */
    uint64_t journal_checkpoint;
} huon_info;

/**
 * A read transaction of any process.
 */
typedef struct {
    /**
     * Its process, for people only: containers count on their own.
     */
    uint32_t pid;
    /**
     * Its thread, for people only.
     */
    uint32_t thread;
    /**
     * The snapshot that it keeps.
     */
    uint64_t txnid;
    /**
     * How far ahead the newest id is.
     */
    uint64_t ids_behind;
    /**
     * For how many milliseconds it has been there.
     */
    uint64_t age_ms;
    /**
     * It is parked.
     */
    bool is_parked;
    /**
     * It may not write the lock file: only its snapshot is known.
     */
    bool is_guest;
} huon_reader;

/**
 * Where the space of a file is, in pages.
 */
typedef struct {
    /**
     * The snapshot that was looked at.
     */
    uint64_t txnid;
    /**
     * Length of the file: the pages below and the tail, in bytes.
     */
    uint64_t file_bytes;
    /**
     * Bytes behind the last page in use.
     */
    uint64_t tail_bytes;
    /**
     * Pages of metas.
     */
    uint64_t meta_pages;
    /**
     * Pages of all tables.
     */
    uint64_t live_pages;
    /**
     * Pages of the free list.
     */
    uint64_t free_list_pages;
    /**
     * Free pages that the next write transaction may use.
     */
    uint64_t reusable_pages;
    /**
     * Free pages that some older snapshot still sees.
     */
    uint64_t retained_pages;
    /**
     * Bytes of a page.
     */
    uint32_t page_bytes;
    /**
     * Snapshots that retain pages: readers, the durable one.
     */
    uint32_t retained_snapshots;
    /**
     * Tables, the main one among them.
     */
    uint32_t tables;
} huon_stat;

/**
 * The size of a table or multimap.
 */
typedef struct {
    /**
     * Records, or pairs.
     */
    uint64_t entries;
    /**
     * Its sequence.
     */
    uint64_t sequence;
    /**
     * The transaction that changed it last.
     */
    uint64_t changed;
    /**
     * Pages of branches.
     */
    uint32_t branch_pages;
    /**
     * Pages of leaves.
     */
    uint32_t leaf_pages;
    /**
     * Pages of large values.
     */
    uint32_t overflow_pages;
    /**
     * Levels of pages; 0 if it is empty.
     */
    uint32_t depth;
    /**
     * Bytes that each value of a multimap has; 0 where they may differ.
     */
    uint32_t value_bytes;
    /**
     * It is a multimap.
     */
    bool is_multi;
} huon_table_stat;

/**
 * What a transaction has cost so far, in bytes. Of one that reads, only the first three are told.
 */
typedef struct {
    /**
     * Its id.
     */
    uint64_t id;
    /**
     * How far ahead the newest id is; 0 for one that writes.
     */
    uint64_t ids_behind;
    /**
     * Part of the file in use at its snapshot, with the pages that it took.
     */
    uint64_t used_bytes;
    /**
     * Changed pages that are in memory.
     */
    uint64_t dirty_bytes;
    /**
     * Pages that were written already.
     */
    uint64_t written_bytes;
    /**
     * Pages of the snapshot before that it has replaced or deleted.
     */
    uint64_t retired_bytes;
} huon_txn_info;

/**
 * How far something is that takes long.
 */
typedef struct {
    /**
     * Bytes dealt with so far.
     */
    uint64_t done_bytes;
    /**
     * Bytes there are to deal with; 0 where that is not known beforehand.
     */
    uint64_t total_bytes;
} huon_progress;

/**
 * Is told how far something is, about once a megabyte, in the thread that called. Ends it with
 * HUON_STOPPED unless it returns 0.
 */
typedef int (*huon_progress_fn)(void *context, const huon_progress *progress);

/**
 * How a copy is made; NULL: all zero. Set `bytes` to sizeof(huon_copy_options) and the rest to
 * zero first.
 */
typedef struct {
    /**
     * sizeof(huon_copy_options).
     */
    size_t bytes;
    /**
     * HUON_COPY_COMPACT, or 0.
     */
    uint32_t flags;
    /**
     * Permission bits of the copy; 0: 0600.
     */
    uint32_t mode;
    /**
     * Copies what this read transaction sees; NULL: the newest commit. The transaction can be used
     * meanwhile, and ended: the snapshot stays until the copy is done. To reset, renew or park it
     * is HUON_IN_USE until then.
     */
    huon_txn *snapshot;
    /**
     * Is told how far it is; or NULL.
     */
    huon_progress_fn progress;
    /**
     * What that is handed.
     */
    void *context;
} huon_copy_options;

/**
 * What was copied.
 */
typedef struct {
    /**
     * The snapshot.
     */
    uint64_t txnid;
    /**
     * Bytes of the copy.
     */
    uint64_t bytes;
} huon_copy_report;

/**
 * Takes the next bytes of a copy, in the thread that called. Returns 0, or a number of errno.h,
 * which ends the copy with HUON_IO.
 */
typedef int (*huon_write_fn)(void *context, const void *data, size_t len);

/**
 * Hears what is wrong: a sentence, which stays until it returns.
 */
typedef void (*huon_problem_fn)(void *context, const char *text);

/**
 * How a check is made; NULL: all zero. Set `bytes` to sizeof(huon_check_options) and the rest to
 * zero first.
 */
typedef struct {
    /**
     * sizeof(huon_check_options).
     */
    size_t bytes;
    /**
     * 1 to 3: the snapshot of the meta in slot 0 to 2; 0: the newest commit.
     */
    uint32_t meta;
    /**
     * Hears each problem; or NULL.
     */
    huon_problem_fn problem;
    /**
     * Is told how far it is; or NULL.
     */
    huon_progress_fn progress;
    /**
     * What both are handed.
     */
    void *context;
} huon_check_options;

/**
 * What a check found.
 */
typedef struct {
    /**
     * The snapshot that was checked.
     */
    uint64_t txnid;
    /**
     * Problems; 0: everything is as it must be.
     */
    uint64_t problems;
} huon_check_report;

/**
 * How a compaction is made; NULL: all zero. Set `bytes` to sizeof(huon_compact_options) and the
 * rest to zero first.
 */
typedef struct {
    /**
     * sizeof(huon_compact_options).
     */
    size_t bytes;
    /**
     * It ends when the file is at most so many times as long as its live pages; 0: 1.1.
     */
    double target;
    /**
     * It ends after so many milliseconds; 0: without end.
     */
    uint64_t time_limit_ms;
    /**
     * About how many bytes one of its transactions moves; 0: 768 KiB.
     */
    uint64_t step_bytes;
    /**
     * Is told how far it is; or NULL. Ends it in order, without an error.
     */
    huon_progress_fn progress;
    /**
     * What that is handed.
     */
    void *context;
} huon_compact_options;

/**
 * What a compaction did.
 */
typedef struct {
    /**
     * Why it ended: one of HUON_COMPACT*.
     */
    int end;
    /**
     * Bytes of the file before.
     */
    uint64_t before_bytes;
    /**
     * Bytes of the file after it.
     */
    uint64_t after_bytes;
    /**
     * Bytes that were moved.
     */
    uint64_t moved_bytes;
    /**
     * Transactions that it took.
     */
    uint64_t commits;
} huon_compact_report;

/**
 * One of the three metas that a file begins with. What follows `state` is told of a whole one.
 */
typedef struct {
    /**
     * Its slot: 0, 1 or 2.
     */
    uint32_t slot;
    /**
     * One of HUON_META_*.
     */
    int state;
    /**
     * Its snapshot.
     */
    uint64_t txnid;
    /**
     * Bytes of the file that the snapshot uses.
     */
    uint64_t used_bytes;
    /**
     * It is the newest of the whole ones.
     */
    bool is_newest;
} huon_meta;

/**
 * Which snapshot of a file: two processes that write copies of one file give the same id to
 * different snapshots, whose checksums differ.
 */
typedef struct {
    /**
     * The id of the transaction that made it; 0: none.
     */
    uint64_t id;
    /**
     * The checksum of its image.
     */
    uint64_t checksum;
} huon_snapshot;

/**
 * Sees a named snapshot; the name stays until it returns. Returns 0, or anything else to end the
 * call with HUON_STOPPED.
 */
typedef int (*huon_named_fn)(void *context, huon_bytes name, const huon_snapshot *snapshot);

/**
 * How a backup is made; NULL: all zero. Set `bytes` to sizeof(huon_backup_options) and the rest to
 * zero first.
 */
typedef struct {
    /**
     * sizeof(huon_backup_options).
     */
    size_t bytes;
    /**
     * The named snapshot to save; no bytes: the newest.
     */
    huon_bytes snapshot;
    /**
     * Only what changed since this snapshot, as the report of another backup tells it; an id of 0:
     * everything.
     */
    huon_snapshot since;
    /**
     * Is told how far it is; or NULL.
     */
    huon_progress_fn progress;
    /**
     * What that is handed.
     */
    void *context;
} huon_backup_options;

/**
 * What was saved.
 */
typedef struct {
    /**
     * The snapshot.
     */
    huon_snapshot snapshot;
    /**
     * The one that it follows; an id of 0: it has everything.
     */
    huon_snapshot since;
    /**
     * Pages in it.
     */
    uint64_t pages;
    /**
     * Its length in bytes.
     */
    uint64_t bytes;
} huon_backup_report;

/**
 * A page, or consecutive pages that belong together.
 */
typedef struct {
    /**
     * Number of the first: it lies at this number times the page size.
     */
    uint32_t pgno;
    /**
     * How many they are.
     */
    uint32_t page_count;
    /**
     * What they are for: one of HUON_PAGE_META to HUON_PAGE_RETAINED.
     */
    int kind;
    /**
     * Levels between a page and the leaves of its tree.
     */
    uint32_t level;
    /**
     * The transaction that wrote it.
     */
    uint64_t birth;
    /**
     * Bytes that hold something, headers included.
     */
    uint64_t used_bytes;
    /**
     * The other bytes.
     */
    uint64_t unused_bytes;
    /**
     * The name of its table, the main table's being empty; `data` is NULL if it is no table's.
     */
    huon_bytes table;
    /**
     * Records or values of a leaf, children of a branch, items of a page of the free list.
     */
    uint32_t count;
    /**
     * It belongs to the values of one key of a multimap.
     */
    bool is_of_values;
} huon_page;

/**
 * Sees a page. Returns 0, or anything else to end the walk with HUON_STOPPED.
 */
typedef int (*huon_page_fn)(void *context, const huon_page *page);

/**
 * A table begins. Returns HUON_VISIT, HUON_VISIT_SKIP or HUON_VISIT_STOP.
 */
typedef int (*huon_visit_table_fn)(void *context, huon_bytes name, const huon_table_stat *stat);

/**
 * A record of the table that began last, or a key of a multimap with one of its values. Returns
 * HUON_VISIT or HUON_VISIT_STOP.
 */
typedef int (*huon_visit_record_fn)(void *context, huon_bytes key, huon_bytes value);

/**
 * What a walk over records calls, where it is not NULL. Set `bytes` to sizeof(huon_visitor) and
 * the rest to zero first.
 */
typedef struct {
    /**
     * sizeof(huon_visitor).
     */
    size_t bytes;
    /**
     * A table begins; NULL: the records of all are shown.
     */
    huon_visit_table_fn table;
    /**
     * A record.
     */
    huon_visit_record_fn record;
    /**
     * Something that huon_salvage cannot read, and leaves out.
     */
    huon_problem_fn lost;
    /**
     * What all are handed.
     */
    void *context;
} huon_visitor;

/**
 * How write-optimised tables are kept; NULL, and 0 in each field: as by default. Set `bytes` to
 * sizeof(huon_lsm_options) and the rest to zero first. The first four are stored with a table when
 * it is made.
 */
typedef struct {
    /**
     * sizeof(huon_lsm_options).
     */
    size_t bytes;
    /**
     * Runs of about the same size that are merged at a time: 2 to 1024; 8.
     */
    uint32_t fan;
    /**
     * Bits of filters for each key: 1 to 64, or HUON_LSM_NO_FILTERS; 12.
     */
    uint32_t filter_bits;
    /**
     * A transaction that puts fewer records adds them to the open run; 128.
     */
    uint32_t small;
    /**
     * Bytes at which the open run is frozen; 256 KiB.
     */
    uint32_t open_bytes;
    /**
     * Bytes up to which runs count as small; 64 KiB.
     */
    uint64_t base_bytes;
    /**
     * Bytes that a merge hands over in one transaction; 4 MiB.
     */
    uint64_t step_bytes;
    /**
     * Bytes that a transaction collects before it makes a run of them; 64 MiB.
     */
    uint64_t batch_bytes;
    /**
     * Bytes of filters kept in memory for a table; 64 MiB.
     */
    uint64_t filter_memory;
    /**
     * Runs at which a program that commits waits for compaction, or helps; 512.
     */
    uint32_t runs_max;
    /**
     * Milliseconds for which a merge is left to the process that made its last step; 10000.
     */
    uint32_t lease_ms;
} huon_lsm_options;

/**
 * Makes one value of what a key has and of what is merged onto it: returns 0 once it has set
 * `*value`, whose bytes stay until it is called again in this thread. It is called in any thread,
 * by reads, merges and commits, and must not use the transaction.
 */
typedef int (*huon_merge_fn)(void *context, huon_bytes older, huon_bytes newer, huon_bytes *value);

/**
 * How a table merges; its name is stored with the table, which other programs open without it only
 * to put and delete.
 */
typedef struct {
    /**
     * A name of UTF-8.
     */
    huon_bytes name;
    /**
     * Makes one value of two; good as long as the environment is open.
     */
    huon_merge_fn merge;
    /**
     * What that is handed, in any thread.
     */
    void *context;
} huon_lsm_merger;

/**
 * What a write-optimised table consists of, and what it has cost.
 */
typedef struct {
    /**
     * Runs.
     */
    uint64_t runs;
    /**
     * Records of all runs: a key that is in several counts in each of them.
     */
    uint64_t records;
    /**
     * Deletes among them.
     */
    uint64_t tombstones;
    /**
     * Bytes of runs, about.
     */
    uint64_t bytes;
    /**
     * Bytes of filters, about.
     */
    uint64_t filter_bytes;
    /**
     * Bytes that are to be merged.
     */
    uint64_t debt_bytes;
    /**
     * Bytes that commits of all processes have put.
     */
    uint64_t total_put_bytes;
    /**
     * Bytes that merges of all processes have written.
     */
    uint64_t total_merged_bytes;
    /**
     * Commits that waited, as there were too many runs.
     */
    uint64_t stalls;
} huon_lsm_stat;

/**
 * Is told, after each step of something that takes long, how many it has made, in the thread that
 * called. Ends it with HUON_STOPPED unless it returns 0.
 */
typedef int (*huon_step_fn)(void *context, uint64_t steps);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The bytes of a text, without the zero that it ends with; none for NULL.
 */
huon_bytes huon_str(const char *text);

/**
 * Tells what went wrong in this thread last. Errors have numbers above 0; answers, below 0, leave
 * no message. A call that succeeds changes nothing here, so ask only after one that failed, in the
 * same thread; one that is about to end, and runs destructors, keeps nothing more. A binding whose
 * language moves a call's code between threads of the system (Go, virtual threads) asks in one
 * piece with the call, in C.
 */
void huon_last_error(huon_error *error);

/**
 * The message of huon_last_error alone; an empty text if nothing has gone wrong.
 */
const char *huon_error_message(void);

/**
 * What a code means, in a few words; NULL for a number that is none. It stays for ever.
 */
const char *huon_strerror(int code);

/**
 * Options, as they are by default. Give them back by huon_options_free; an environment that was
 * opened with them does not need them any more.
 */
int huon_options_new(huon_options **options);

/**
 * Sets an option, by its number. HUON_BAD_ARGUMENT for one that is only for huon_set, or for a
 * value that it cannot have.
 */
int huon_options_set(huon_options *options, int option, uint64_t value);

/**
 * Has `call` asked about slow readers; NULL: it is not asked. `context` is handed to it, and must
 * be good in every thread that writes, for as long as the environment is open.
 */
int huon_options_on_slow_reader(huon_options *options, huon_slow_reader_fn call, void *context);

/**
 * Gives options back; NULL is none, and fine.
 */
int huon_options_free(huon_options *options);

/**
 * The version of the library: major times 65536, minor times 256, and patch.
 */
uint32_t huon_version(void);

/**
 * Opens the environment at `path`, and creates it if it is missing; its lock file lies beside it,
 * with `-lock` appended, and its journal, if it has one, with `-journal`. NULL for `path`: one in
 * memory, of this process. NULL for `options`: those by default. Close it by huon_close. Errors:
 * HUON_NOT_A_DATABASE, HUON_VERSION_UNKNOWN, HUON_CORRUPT, HUON_JOURNAL, HUON_BUSY if it cannot be
 * shared, HUON_IO. No process may change or shorten the file except through Huon: what follows
 * then is undefined, or SIGBUS.
 */
int huon_open(const char *path, huon_options *options, huon_env **env);

/**
 * Flushes all commits, and closes the environment; NULL is none, and fine. Transactions that are
 * open stay good, with the bytes that they have shown, and are ended as ever: with the last of
 * them the file is closed, and the answer is HUON_STILL_SHARED. The handle is none any more,
 * whatever the answer. Errors: those of the flush.
 */
int huon_close(huon_env *env);

/**
 * The same without a flush, as if the process were killed: for one that must end at once. The next
 * opening finds the newest commits as long as the kernel runs.
 */
int huon_close_without_flush(huon_env *env);

/**
 * Deletes the files of the environment at `path`, which must be open nowhere: HUON_BUSY if it is.
 * HUON_NOT_FOUND if there are none.
 */
int huon_delete(const char *path);

/**
 * What `path` is: one of HUON_KIND_*. Reads its first bytes, and changes nothing.
 */
int huon_kind_of(const char *path, int *kind);

/**
 * How the snapshot that this opening started from was found: one of HUON_RECOVERY_*.
 */
int huon_recovery(huon_env *env, int *recovery);

/**
 * Changes one of the options that can be changed while an environment is open. It holds at once,
 * for this handle alone; a transaction that runs keeps its limit of memory.
 */
int huon_set(huon_env *env, int option, uint64_t value);

/**
 * An option in force, of those that huon_set can change.
 */
int huon_setting(huon_env *env, int option, uint64_t *value);

/**
 * As huon_options_on_slow_reader, while the environment is open; NULL removes the callback.
 */
int huon_on_slow_reader(huon_env *env, huon_slow_reader_fn call, void *context);

/**
 * Waits until there is a commit after the snapshot `after`, of any thread or process, and tells
 * the id of the newest one. HUON_TIMED_OUT if there was none within so many milliseconds; below 0:
 * without end. Hold no read transaction meanwhile: it would keep its snapshot.
 */
int huon_wait_for_commit(huon_env *env, uint64_t after, int64_t timeout_ms, uint64_t *newest);

/**
 * Makes everything that was committed durable, and tells the id of the newest durable snapshot.
 * Costs a flush or two, which all that wait at the same time share.
 */
int huon_sync(huon_env *env, uint64_t *id);

/**
 * Makes a checkpoint if HUON_FLUSH_AFTER_BYTES or HUON_FLUSH_AFTER_MS ask for one; `flushed` tells
 * whether it did. Costs some loads if not, so it can be called from any loop or timer.
 */
int huon_flush_if_due(huon_env *env, bool *flushed);

/**
 * The limits of the file's length.
 */
int huon_get_geometry(huon_env *env, huon_geometry *geometry);

/**
 * Changes them, in a write transaction of its own.
 */
int huon_set_geometry(huon_env *env, const huon_geometry *geometry);

/**
 * Begins a transaction that reads the newest commit. It never waits, and costs some hundred
 * nanoseconds; huon_reset and huon_renew cost less. End it by huon_abort or huon_commit: as long
 * as it lives, the file keeps what it sees.
 */
int huon_begin_read(huon_env *env, huon_txn **txn);

/**
 * Begins the one transaction that writes. Waits for another one's end, of any thread or process,
 * for so many milliseconds; below 0: as HUON_LOCK_TIMEOUT_MS says. HUON_BUSY after that, with a
 * message that names the holder; HUON_THREAD_WRITES if this thread would wait for itself. End it
 * by huon_commit or huon_abort, in any thread.
 */
int huon_begin_write(huon_env *env, int64_t wait_ms, huon_txn **txn);

/**
 * Ends a transaction: commits what it has changed, and waits as the environment's HUON_DURABILITY
 * says. The handle is none any more, whatever the answer, but for HUON_IN_USE. An error means that
 * nothing was committed; HUON_POISONED, that it is not known whether a power loss takes it away.
 */
int huon_commit(huon_txn *txn);

/**
 * The same with a durability of its own, HUON_DURABLE to HUON_UNSYNCED. `id` tells the id of the
 * snapshot that it made, or began with if it changed nothing; 0 for a transaction that only reads.
 */
int huon_commit_with(huon_txn *txn, int durability, uint64_t *id);

/**
 * Commits at once, and gives a ticket that the commit's durability can be waited for with:
 * huon_ticket_wait. Give it back by huon_ticket_free. A transaction that only reads is ended, and
 * gives none: HUON_BAD_TXN.
 */
int huon_commit_ticket(huon_txn *txn, huon_ticket **ticket);

/**
 * Ends a transaction, and undoes what it has changed; NULL is none, and fine.
 */
int huon_abort(huon_txn *txn);

/**
 * Waits until the commit is durable, for so many milliseconds while others flush; below 0: without
 * end. HUON_TIMED_OUT if it took longer; 0 only asks.
 */
int huon_ticket_wait(huon_ticket *ticket, int64_t timeout_ms);

/**
 * The id of the snapshot that the commit made.
 */
int huon_ticket_id(huon_ticket *ticket, uint64_t *id);

/**
 * Gives a ticket back; NULL is none, and fine. The commit stays as it is.
 */
int huon_ticket_free(huon_ticket *ticket);

/**
 * The id of the snapshot that a transaction reads, or of that which its commit would make at this
 * moment. Ids rise from commit to commit.
 */
int huon_txn_id(huon_txn *txn, uint64_t *id);

/**
 * What a transaction is: one of HUON_TXN_*.
 */
int huon_txn_state(huon_txn *txn, int *state);

/**
 * Has a read transaction let go of its snapshot, and keep what it takes to begin again. What it
 * has shown is not to be read any more.
 */
int huon_reset(huon_txn *txn);

/**
 * Has a read transaction read the newest commit, whether it was reset before or not. Costs some
 * nanoseconds if that is the one that it has. What it has shown is not to be read any more.
 */
int huon_renew(huon_txn *txn);

/**
 * Puts a read transaction aside. It keeps its snapshot until a writer, in any process, would
 * otherwise fail for want of room. What it has shown is not to be read any more.
 */
int huon_park(huon_txn *txn);

/**
 * Goes on with a parked transaction, at the same snapshot. HUON_EVICTED if a writer needed its
 * pages: it can only be ended then.
 */
int huon_unpark(huon_txn *txn);

/**
 * Sets a savepoint of that name in a write transaction; they nest, also several of one name.
 */
int huon_savepoint(huon_txn *txn, huon_bytes name);

/**
 * Undoes all changes since the newest savepoint of that name, which stays.
 */
int huon_roll_back_to(huon_txn *txn, huon_bytes name);

/**
 * Keeps all changes since the newest savepoint of that name, and forgets it and those after it.
 */
int huon_release(huon_txn *txn, huon_bytes name);

/**
 * The three numbers that a program may keep with its snapshots; 0 in a new environment. `values`
 * has room for three.
 */
int huon_markers(huon_txn *txn, uint64_t *values);

/**
 * Sets the three numbers, which are committed with the transaction.
 */
int huon_set_markers(huon_txn *txn, const uint64_t *values);

/**
 * The names of all named tables, in order: as many as there is room for; `count` tells how many
 * there are. They stay until the next call of this function, or the end of the transaction.
 */
int huon_table_names(huon_txn *txn, huon_bytes *names, size_t capacity, size_t *count);

/**
 * Opens the table of that name, if it exists in what the transaction shows; an empty name: the
 * main table, which always does. HUON_TABLE_NOT_FOUND; HUON_TABLE_KIND if it is a multimap or of
 * another order. Costs a descent into the list of tables, the first time.
 */
int huon_table_open(huon_txn *txn,
                    huon_bytes name,
                    const huon_table_options *with,
                    huon_table *table);

/**
 * Opens the table of that name, and creates it if it does not exist.
 */
int huon_table_create(huon_txn *txn,
                      huon_bytes name,
                      const huon_table_options *with,
                      huon_table *table);

/**
 * Deletes a table with all its records. HUON_NOT_FOUND if it is not there. Costs a look at all its
 * pages.
 */
int huon_table_drop(huon_txn *txn, huon_table table);

/**
 * Deletes all records of a table.
 */
int huon_table_clear(huon_txn *txn, huon_table table);

/**
 * Gives a table another name. HUON_TABLE_EXISTS if there is one of that name. Open
 * it by that one: what was opened before does not find it any more.
 */
int huon_table_rename(huon_txn *txn, huon_table table, huon_bytes name);

/**
 * The value of a key. HUON_NOT_FOUND if there is none; `value` may be NULL, to ask only that.
 * Costs one descent: no allocation, no copy, no system call.
 */
int huon_get(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes *value);

/**
 * Copies the value of a key into `room`, as much of it as fits; `len` tells how long it is.
 * HUON_NOT_FOUND if there is none. For bindings that copy anyway.
 */
int huon_get_copy(huon_txn *txn,
                  huon_table table,
                  huon_bytes key,
                  uint8_t *room,
                  size_t capacity,
                  size_t *len);

/**
 * The record with the lowest key; HUON_NOT_FOUND if there is none. Costs as much as huon_get.
 */
int huon_first(huon_txn *txn, huon_table table, huon_pair *pair);

/**
 * The record with the highest key.
 */
int huon_last(huon_txn *txn, huon_table table, huon_pair *pair);

/**
 * The record with the lowest key that is not below `key`.
 */
int huon_at_or_above(huon_txn *txn, huon_table table, huon_bytes key, huon_pair *pair);

/**
 * The record with the highest key that is not above `key`.
 */
int huon_at_or_below(huon_txn *txn, huon_table table, huon_bytes key, huon_pair *pair);

/**
 * Stores a value under a key, over the one that is there. `is_new`, which may be NULL, tells
 * whether there was none. Costs one descent, and copies the pages on the way once in a
 * transaction.
 */
int huon_put(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes value, bool *is_new);

/**
 * Stores a value under a key that has none; HUON_EXISTS, and nothing is changed, if it has one.
 */
int huon_put_if_absent(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes value);

/**
 * Stores a value under a key that has one; HUON_NOT_FOUND, and nothing is changed, if it has none.
 */
int huon_update(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes value);

/**
 * Stores a value behind all that are there: several times cheaper than huon_put where keys rise.
 * HUON_KEY_OUT_OF_ORDER if the key is not above the last one.
 */
int huon_append(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes value);

/**
 * As huon_put, and shows the value before, until the next huon_replace, huon_take or huon_pop_* of
 * the transaction; `data` of it is NULL if there was none.
 */
int huon_replace(huon_txn *txn,
                 huon_table table,
                 huon_bytes key,
                 huon_bytes value,
                 huon_bytes *old);

/**
 * Removes a key, and shows its value, as huon_replace does. HUON_NOT_FOUND if it has none.
 */
int huon_take(huon_txn *txn, huon_table table, huon_bytes key, huon_bytes *old);

/**
 * Removes a key. HUON_NOT_FOUND if it is not there.
 */
int huon_remove(huon_txn *txn, huon_table table, huon_bytes key);

/**
 * Stores `value` under a key if it has the value `expected` now; HUON_CONFLICT, and nothing is
 * changed, if it has another one. NULL for `expected`: the key must not be there; NULL for
 * `value`: it is removed.
 */
int huon_compare_and_set(huon_txn *txn,
                         huon_table table,
                         huon_bytes key,
                         const huon_bytes *expected,
                         const huon_bytes *value);

/**
 * Removes the record with the lowest key, and shows it, as huon_replace does. HUON_NOT_FOUND if
 * there is none.
 */
int huon_pop_first(huon_txn *txn, huon_table table, huon_pair *pair);

/**
 * Removes the record with the highest key, and shows it, as huon_replace does.
 */
int huon_pop_last(huon_txn *txn, huon_table table, huon_pair *pair);

/**
 * Removes all records of a range; NULL: all there are. `count`, which may be NULL, tells how many
 * there were. Whole leaves go at once.
 */
int huon_remove_range(huon_txn *txn, huon_table table, const huon_range *range, uint64_t *count);

/**
 * How many records a range has; NULL: the whole table. The whole table costs nothing, else it is
 * a walk over its leaves.
 */
int huon_count(huon_txn *txn, huon_table table, const huon_range *range, uint64_t *count);

/**
 * About how many records a range has. Costs two descents.
 */
int huon_estimate(huon_txn *txn, huon_table table, const huon_range *range, uint64_t *count);

/**
 * Takes `count` numbers of the table's sequence, and tells the first of them; 0 only looks. They
 * are taken with the commit.
 */
int huon_sequence(huon_txn *txn, huon_table table, uint64_t count, uint64_t *first);

/**
 * Fills a table from records in the order of keys, behind those that are there: into full pages,
 * many times cheaper than putting them. HUON_KEY_OUT_OF_ORDER, or any error behind the first
 * record, breaks the transaction.
 */
int huon_bulk_append(huon_txn *txn, huon_table table, huon_next_fn next, void *context);

/**
 * A cursor at the start of a table, or of a range of it; NULL: all there is. Close it by
 * huon_cursor_close.
 */
int huon_cursor_open(huon_txn *txn,
                     huon_table table,
                     const huon_range *range,
                     huon_cursor **cursor);

/**
 * A cursor at the start of a multimap, or of a range of its keys. It goes from pair to pair: a key
 * comes once for each of its values, which come in their order.
 */
int huon_multi_cursor_open(huon_txn *txn,
                           huon_multi multi,
                           const huon_range *range,
                           huon_cursor **cursor);

/**
 * A cursor of the values of one key of a multimap.
 */
int huon_multi_values_open(huon_txn *txn, huon_multi multi, huon_bytes key, huon_cursor **cursor);

/**
 * A cursor at the start of a write-optimised table, or of a range of it.
 */
int huon_lsm_cursor_open(huon_txn *txn,
                         huon_lsm_table *table,
                         const huon_range *range,
                         huon_cursor **cursor);

/**
 * Another cursor at the same place.
 */
int huon_cursor_copy(huon_cursor *cursor, huon_cursor **copy);

/**
 * Closes a cursor; NULL is none, and fine.
 */
int huon_cursor_close(huon_cursor *cursor);

/**
 * Moves before the first record of the range.
 */
int huon_cursor_to_start(huon_cursor *cursor);

/**
 * Moves behind the last record of the range.
 */
int huon_cursor_to_end(huon_cursor *cursor);

/**
 * Moves before a key, whether it is there or not; in a multimap before its first value. Not for a
 * cursor of a range.
 */
int huon_cursor_seek(huon_cursor *cursor, huon_bytes key);

/**
 * Moves behind a key, whether it is there or not; in a multimap behind its last value. Not for a
 * cursor of a range.
 */
int huon_cursor_seek_after(huon_cursor *cursor, huon_bytes key);

/**
 * Moves before a pair of a multimap, whether it is there or not. Not for a cursor of a range.
 */
int huon_cursor_seek_pair(huon_cursor *cursor, huon_bytes key, huon_bytes value);

/**
 * Passes over the other values of the key that was shown last, the way of huon_cursor_next: the
 * next pair is the first of another key.
 */
int huon_cursor_skip_key(huon_cursor *cursor);

/**
 * The same the way of huon_cursor_prev.
 */
int huon_cursor_skip_key_back(huon_cursor *cursor);

/**
 * The next record, behind which the cursor stands then. HUON_NOT_FOUND at the end of the range,
 * where it stays: records that are put there later are still shown. Costs a copy of the key, and
 * after a change a descent; no allocation.
 */
int huon_cursor_next(huon_cursor *cursor, huon_txn *txn, huon_pair *pair);

/**
 * The record before, before which the cursor stands then. HUON_NOT_FOUND at the start of the
 * range.
 */
int huon_cursor_prev(huon_cursor *cursor, huon_txn *txn, huon_pair *pair);

/**
 * The next records, as many as there is room for; `count` tells how many there were.
 * HUON_NOT_FOUND if there are none. The way through many records: one call for them all.
 */
int huon_cursor_next_many(huon_cursor *cursor,
                          huon_txn *txn,
                          huon_pair *pairs,
                          size_t capacity,
                          size_t *count);

/**
 * The same backwards: the first of them is the nearest.
 */
int huon_cursor_prev_many(huon_cursor *cursor,
                          huon_txn *txn,
                          huon_pair *pairs,
                          size_t capacity,
                          size_t *count);

/**
 * Copies the next records into `room`, as many as fit and at most `records`, each as the lengths
 * of key and value (uint32_t, of the machine's byte order) and their bytes. For bindings that copy
 * anyway. `count` tells how many there are, `used` how many bytes they take. HUON_NOT_FOUND at the
 * end; if the next record alone does not fit, `count` is 0 and `used` what it takes. Backwards if
 * `backwards` is true.
 */
int huon_cursor_next_packed(huon_cursor *cursor,
                            huon_txn *txn,
                            bool backwards,
                            size_t records,
                            uint8_t *room,
                            size_t capacity,
                            size_t *count,
                            size_t *used);

/**
 * The key that the cursor stands beside: that of the record shown last, or the one sought. It
 * stays until the cursor moves. HUON_NOT_FOUND at the ends of the table.
 */
int huon_cursor_position(huon_cursor *cursor, huon_bytes *key);

/**
 * The values of many keys, several times cheaper than one after another: their ways through memory
 * overlap. `values` has room for as many as there are keys; `data` of one is NULL where its key is
 * not there. `found`, which may be NULL, tells how many there are.
 */
int huon_get_many(huon_txn *txn,
                  huon_table table,
                  const huon_bytes *keys,
                  size_t count,
                  huon_bytes *values,
                  size_t *found);

/**
 * The same for keys that lie one behind another, from `keys` on: `ends` has for each the number of
 * bytes up to its end. For languages that cannot hand out addresses of their bytes.
 */
int huon_get_many_packed(huon_txn *txn,
                         huon_table table,
                         const uint8_t *keys,
                         const uint32_t *ends,
                         size_t count,
                         huon_bytes *values,
                         size_t *found);

/**
 * The first records of a range, or its last ones if `backwards`, the outermost first: as many as
 * there is room for; `count` tells how many there are. HUON_NOT_FOUND if there are none; NULL for
 * `range`: the whole table. For programs that keep no cursor: what follows is the range behind the
 * last key (HUON_AFTER, or HUON_BEFORE if `backwards`). The fastest way through many records: a
 * descent, and then a leaf at a time.
 */
int huon_range_many(huon_txn *txn,
                    huon_table table,
                    const huon_range *range,
                    bool backwards,
                    huon_pair *pairs,
                    size_t capacity,
                    size_t *count);

/**
 * Stores many records, in the order in which they are given. `done`, which may be NULL, tells how
 * many were stored before one was refused.
 */
int huon_put_many(huon_txn *txn,
                  huon_table table,
                  const huon_pair *pairs,
                  size_t count,
                  size_t *done);

/**
 * The same for records that are packed as huon_cursor_next_packed packs them, into `len` bytes.
 */
int huon_put_packed(huon_txn *txn,
                    huon_table table,
                    const uint8_t *records,
                    size_t len,
                    size_t *done);

/**
 * Opens the multimap of that name, if it exists in what the transaction shows: see
 * huon_table_open.
 */
int huon_multi_open(huon_txn *txn,
                    huon_bytes name,
                    const huon_table_options *with,
                    huon_multi *multi);

/**
 * Opens the multimap of that name, and creates it if it does not exist.
 */
int huon_multi_create(huon_txn *txn,
                      huon_bytes name,
                      const huon_table_options *with,
                      huon_multi *multi);

/**
 * Deletes a multimap with all its pairs. HUON_NOT_FOUND if it is not there.
 */
int huon_multi_drop(huon_txn *txn, huon_multi multi);

/**
 * Deletes all pairs of a multimap.
 */
int huon_multi_clear(huon_txn *txn, huon_multi multi);

/**
 * Gives a multimap another name. HUON_TABLE_EXISTS if there is a table of that name. Open
 * it by that one: what was opened before does not find it any more.
 */
int huon_multi_rename(huon_txn *txn, huon_multi multi, huon_bytes name);

/**
 * The first value of a key. HUON_NOT_FOUND if it has none. Its others: huon_multi_values_open.
 */
int huon_multi_get(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes *value);

/**
 * Whether a key has that value: HUON_OK or HUON_NOT_FOUND.
 */
int huon_multi_contains(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes value);

/**
 * The first pair; HUON_NOT_FOUND if there is none.
 */
int huon_multi_first(huon_txn *txn, huon_multi multi, huon_pair *pair);

/**
 * The last pair; HUON_NOT_FOUND if there is none.
 */
int huon_multi_last(huon_txn *txn, huon_multi multi, huon_pair *pair);

/**
 * Adds a value to those of a key. `is_new`, which may be NULL, tells whether it was not among
 * them.
 */
int huon_multi_put(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes value, bool *is_new);

/**
 * Adds values to those of a key with one descent: all of them, or none. `added`, which may be
 * NULL, tells how many were not among them.
 */
int huon_multi_put_many(huon_txn *txn,
                        huon_multi multi,
                        huon_bytes key,
                        const huon_bytes *values,
                        size_t count,
                        uint64_t *added);

/**
 * Adds a value to a key that has none; HUON_EXISTS, and nothing is changed, if it has one.
 */
int huon_multi_put_if_absent(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes value);

/**
 * Adds a pair behind all that are there; HUON_KEY_OUT_OF_ORDER if it does not come last.
 */
int huon_multi_append(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes value);

/**
 * Fills an empty multimap from pairs in the order of keys and of the values of each: into full
 * pages, many times cheaper than putting them. HUON_INVALID if it has pairs.
 * HUON_KEY_OUT_OF_ORDER, or any error behind the first pair, breaks the transaction.
 */
int huon_multi_bulk_load(huon_txn *txn, huon_multi multi, huon_next_fn next, void *context);

/**
 * Has a key have this value alone. `before`, which may be NULL, tells how many it had.
 */
int huon_multi_set(huon_txn *txn,
                   huon_multi multi,
                   huon_bytes key,
                   huon_bytes value,
                   uint64_t *before);

/**
 * Puts one value in the place of another one of a key. HUON_NOT_FOUND, and nothing is changed, if
 * that is not there.
 */
int huon_multi_update(huon_txn *txn,
                      huon_multi multi,
                      huon_bytes key,
                      huon_bytes old,
                      huon_bytes value);

/**
 * Removes one value of a key. HUON_NOT_FOUND if it is not there.
 */
int huon_multi_remove(huon_txn *txn, huon_multi multi, huon_bytes key, huon_bytes value);

/**
 * Removes all values of a key. HUON_NOT_FOUND if it has none; `count`, which may be NULL, tells
 * how many it had.
 */
int huon_multi_remove_key(huon_txn *txn, huon_multi multi, huon_bytes key, uint64_t *count);

/**
 * Removes the values of a key that lie in a range; NULL: all of them. `count`, which may be NULL,
 * tells how many there were. HUON_PREFIX is not for values. Costs a descent for each value that is
 * removed, and one alone for all of them.
 */
int huon_multi_remove_values(huon_txn *txn,
                             huon_multi multi,
                             huon_bytes key,
                             const huon_range *values,
                             uint64_t *count);

/**
 * Removes all pairs of a range of keys; NULL: all there are. `count`, which may be NULL, tells how
 * many there were.
 */
int huon_multi_remove_range(huon_txn *txn,
                            huon_multi multi,
                            const huon_range *range,
                            uint64_t *count);

/**
 * How many values a key has. Costs a descent, however many they are.
 */
int huon_multi_count_values(huon_txn *txn, huon_multi multi, huon_bytes key, uint64_t *count);

/**
 * How many pairs a range of keys has; NULL: the whole multimap. The whole costs nothing, else it
 * is a walk over its leaves.
 */
int huon_multi_count(huon_txn *txn, huon_multi multi, const huon_range *range, uint64_t *count);

/**
 * About how many pairs a range of keys has. Costs two descents.
 */
int huon_multi_estimate(huon_txn *txn, huon_multi multi, const huon_range *range, uint64_t *count);

/**
 * Shows all values of many keys: those of each key in their order, one key after another. Several
 * times cheaper than one key after another.
 */
int huon_multi_get_many(huon_txn *txn,
                        huon_multi multi,
                        const huon_bytes *keys,
                        size_t count,
                        huon_value_fn each,
                        void *context);

/**
 * Has a key have this value alone, and shows those before, as many as there is room for, until the
 * next huon_replace, huon_take, huon_pop_* or their like of multimaps. `count`, which may be NULL,
 * tells how many there were.
 */
int huon_multi_replace(huon_txn *txn,
                       huon_multi multi,
                       huon_bytes key,
                       huon_bytes value,
                       huon_bytes *before,
                       size_t capacity,
                       size_t *count);

/**
 * Removes all values of a key, and shows them, as huon_multi_replace does. HUON_NOT_FOUND if it
 * has none.
 */
int huon_multi_take(huon_txn *txn,
                    huon_multi multi,
                    huon_bytes key,
                    huon_bytes *before,
                    size_t capacity,
                    size_t *count);

/**
 * Removes the first pair, and shows it, as huon_replace does. HUON_NOT_FOUND if there is none.
 */
int huon_multi_pop_first(huon_txn *txn, huon_multi multi, huon_pair *pair);

/**
 * Removes the last pair, and shows it, as huon_replace does.
 */
int huon_multi_pop_last(huon_txn *txn, huon_multi multi, huon_pair *pair);

/**
 * Stores a value of `len` bytes that `fill` writes where it is to lie, without a copy: once,
 * before the call returns. The bytes are zero at first.
 */
int huon_reserve(huon_txn *txn,
                 huon_table table,
                 huon_bytes key,
                 size_t len,
                 huon_fill_fn fill,
                 void *context);

/**
 * Has `change` say what becomes of the value of a key, with one descent: it is called once, before
 * the call returns, with the value that is there or none. `was_there`, which may be NULL, tells
 * whether there was one.
 */
int huon_update_with(huon_txn *txn,
                     huon_table table,
                     huon_bytes key,
                     huon_change_fn change,
                     void *context,
                     bool *was_there);

/**
 * The same in a multimap, for a key that has one value or none; HUON_MANY_VALUES, and `change` is
 * not called, if it has more.
 */
int huon_multi_update_with(huon_txn *txn,
                           huon_multi multi,
                           huon_bytes key,
                           huon_change_fn change,
                           void *context,
                           bool *was_there);

/**
 * Removes the records of a range that `keep` does not keep; NULL for `range`: it sees all there
 * are. `count`, which may be NULL, tells how many were removed. What was removed before an error
 * or a stop stays removed.
 */
int huon_retain(huon_txn *txn,
                huon_table table,
                const huon_range *range,
                huon_keep_fn keep,
                void *context,
                uint64_t *count);

/**
 * Removes the pairs of a range of keys that `keep` does not keep: see huon_retain.
 */
int huon_multi_retain(huon_txn *txn,
                      huon_multi multi,
                      const huon_range *range,
                      huon_keep_fn keep,
                      void *context,
                      uint64_t *count);

/**
 * Tells the state of an environment; `bytes` is sizeof(huon_info).
 */
int huon_get_info(huon_env *env, huon_info *info, size_t bytes);

/**
 * The read transactions of all processes, the oldest snapshot first: as many as there is room for;
 * `count` tells how many there are.
 */
int huon_readers(huon_env *env, huon_reader *readers, size_t capacity, size_t *count);

/**
 * Tells where the space is; `bytes` is sizeof(huon_stat). Reads the free list, and the list of
 * tables.
 */
int huon_get_stat(huon_env *env, huon_stat *stat, size_t bytes);

/**
 * Tells the size of the table of a name, of either kind; `bytes` is sizeof(huon_table_stat).
 * HUON_NOT_FOUND if there is none.
 */
int huon_get_table_stat(huon_txn *txn, huon_bytes name, huon_table_stat *stat, size_t bytes);

/**
 * Tells what a transaction has cost; `bytes` is sizeof(huon_txn_info).
 */
int huon_get_txn_info(huon_txn *txn, huon_txn_info *info, size_t bytes);

/**
 * Copies an environment to a new file, while readers and writers go on. The copy has its name only
 * when it is complete and flushed. `told` may be NULL. HUON_IO if the file exists (EEXIST) or
 * cannot be written; HUON_CORRUPT for a damaged page, which is never copied.
 */
int huon_copy(huon_env *env,
              const char *path,
              const huon_copy_options *with,
              huon_copy_report *told);

/**
 * Copies an environment to an open descriptor, as of a pipe.
 */
int huon_copy_to_fd(huon_env *env, int fd, const huon_copy_options *with, huon_copy_report *told);

/**
 * Copies an environment to `write`, a piece at a time.
 */
int huon_copy_to_writer(huon_env *env,
                        huon_write_fn write,
                        void *context,
                        const huon_copy_options *with,
                        huon_copy_report *told);

/**
 * Checks every page of every table, and that each page of the file is in use once or free once.
 * Reads every page in use; blocks no writer. Damage is reported, and not an error.
 */
int huon_check(huon_env *env, const huon_check_options *with, huon_check_report *told);

/**
 * Makes the file shorter where it is, in many small transactions, while others read and write.
 * Whatever ends it leaves an environment that is whole.
 */
int huon_compact(huon_env *env, const huon_compact_options *with, huon_compact_report *told);

/**
 * The metas of a file that need not be open, into room for three.
 */
int huon_metas_of(const char *path, huon_meta *metas);

/**
 * Makes the snapshot of a meta the newest one, after a check of it, and gives up all that is
 * newer. The file must be open nowhere: HUON_BUSY if it is. `id`, which may be NULL, tells the id
 * that the snapshot has then.
 */
int huon_switch_to_meta(const char *path, uint32_t slot, uint64_t *id);

/**
 * Gives up the snapshots of read transactions whose processes have died; writers do so themselves.
 * `count`, which may be NULL, tells how many there were.
 */
int huon_clear_dead_readers(huon_env *env, uint32_t *count);

/**
 * Gives the newest snapshot a name of 1 to 255 bytes of UTF-8, and so keeps it in the file: for
 * all processes and over restarts, until huon_drop_snapshot. It costs at most one more copy of
 * what it sees. One that has the name so far is dropped. `named`, which may be NULL, tells which
 * it is. Copies and backups have no named snapshots. A transaction of its own, which waits for
 * another one's end as huon_begin_write does. HUON_INVALID if 1000 snapshots have names.
 */
int huon_name_snapshot(huon_env *env, huon_bytes name, huon_snapshot *named);

/**
 * Takes its name away from a snapshot; HUON_NOT_FOUND if none has it. What only it saw is used
 * again once that is durable and no transaction reads it.
 */
int huon_drop_snapshot(huon_env *env, huon_bytes name);

/**
 * Begins a transaction that reads the snapshot of a name, as huon_begin_read one of the newest.
 * HUON_NOT_FOUND if there is none. To renew it leads to the newest snapshot.
 */
int huon_begin_read_named(huon_env *env, huon_bytes name, huon_txn **txn);

/**
 * Shows the named snapshots, the oldest first.
 */
int huon_named_snapshots(huon_env *env, huon_named_fn each, void *context);

/**
 * Saves the pages of a snapshot, or those that changed since an earlier one, to an open
 * descriptor, as of a file or a pipe: it costs what it writes. huon_restore makes a file of a
 * backup and those that follow it. `report` may be NULL. What was written is of no use if it
 * fails.
 */
int huon_backup_to_fd(huon_env *env,
                      int fd,
                      const huon_backup_options *with,
                      huon_backup_report *report);

/**
 * The same to `write`, a piece at a time.
 */
int huon_backup_to_writer(huon_env *env,
                          huon_write_fn write,
                          void *context,
                          const huon_backup_options *with,
                          huon_backup_report *report);

/**
 * Makes an environment of a whole backup and those that follow it, in their order: files at
 * `backups`, `count` of them. It has its name once every page was verified and flushed.
 * `restored`, which may be NULL, tells the snapshot. HUON_IO if the environment exists (EEXIST),
 * or a backup cannot be read, is damaged or was cut; HUON_DIVERGED if one does not follow the one
 * before; HUON_CORRUPT if a page is missing; nothing is left behind then.
 */
int huon_restore(const char *path,
                 const char *const *backups,
                 size_t count,
                 huon_snapshot *restored);

/**
 * Shows all pages of the newest snapshot, each once: the metas, the free space, then the tables,
 * each from its root downwards. `id`, which may be NULL, tells the snapshot. Blocks no writer.
 * HUON_CORRUPT at the first damage: huon_check goes on.
 */
int huon_visit_pages(huon_env *env, huon_page_fn each, void *context, uint64_t *id);

/**
 * Shows every record of the newest snapshot, the main table's first, without those that name
 * tables. No comparator is needed, and no writer is blocked. `id`, which may be NULL, tells the
 * snapshot. HUON_CORRUPT at the first damage: huon_salvage goes on.
 */
int huon_visit_records(huon_env *env, const huon_visitor *visitor, uint64_t *id);

/**
 * Shows every record of the newest snapshot that can be read. Damaged parts are left out, and told
 * to `lost`. Leaves below a damaged branch are shown, too: of the table that lost them, which
 * begins a second time, or of one called `huon_rescued`, where old versions of a record may be
 * among them, the youngest last.
 */
int huon_salvage(huon_env *env, const huon_visitor *visitor, uint64_t *id);

/**
 * The write-optimised tables of an environment, which stays open for them. Close it by
 * huon_lsm_close.
 */
int huon_lsm_open(huon_env *env, const huon_lsm_options *with, huon_lsm **lsm);

/**
 * Gives the tables of an environment back; NULL is none, and fine.
 */
int huon_lsm_close(huon_lsm *lsm);

/**
 * The write-optimised table of that name, whether it exists or not: it is made by the first put.
 * `merger`, which may be NULL, says how huon_lsm_merge works. Close it by huon_lsm_table_close.
 */
int huon_lsm_table_open(huon_lsm *lsm,
                        huon_bytes name,
                        const huon_lsm_merger *merger,
                        huon_lsm_table **table);

/**
 * Gives a table back; NULL is none, and fine.
 */
int huon_lsm_table_close(huon_lsm_table *table);

/**
 * The value of a key. HUON_NOT_FOUND if there is none; `value` may be NULL, to ask only that.
 * Costs a lookup in each run whose filter lets it pass.
 */
int huon_lsm_get(huon_txn *txn, huon_lsm_table *table, huon_bytes key, huon_bytes *value);

/**
 * The values of many keys: see huon_get_many.
 */
int huon_lsm_get_many(huon_txn *txn,
                      huon_lsm_table *table,
                      const huon_bytes *keys,
                      size_t count,
                      huon_bytes *values,
                      size_t *found);

/**
 * Stores a value under a key, without looking whether it has one.
 */
int huon_lsm_put(huon_txn *txn, huon_lsm_table *table, huon_bytes key, huon_bytes value);

/**
 * The same for a value that is absent from a time on: `until_ms` is in milliseconds since 1970.
 */
int huon_lsm_put_until(huon_txn *txn,
                       huon_lsm_table *table,
                       huon_bytes key,
                       huon_bytes value,
                       uint64_t until_ms);

/**
 * Merges an operand onto what a key has, as the table's merger says, without looking at it.
 */
int huon_lsm_merge(huon_txn *txn, huon_lsm_table *table, huon_bytes key, huon_bytes operand);

/**
 * Deletes a key, without looking whether it is there.
 */
int huon_lsm_delete(huon_txn *txn, huon_lsm_table *table, huon_bytes key);

/**
 * Deletes all keys of a range; NULL: all there are. Costs as much as one delete.
 */
int huon_lsm_delete_range(huon_txn *txn, huon_lsm_table *table, const huon_range *range);

/**
 * Stores a value under a key that has none, which takes a lookup; HUON_EXISTS if it has one.
 */
int huon_lsm_put_if_absent(huon_txn *txn, huon_lsm_table *table, huon_bytes key, huon_bytes value);

/**
 * Stores a value under a key that has one, which takes a lookup; HUON_NOT_FOUND if it has none.
 */
int huon_lsm_update(huon_txn *txn, huon_lsm_table *table, huon_bytes key, huon_bytes value);

/**
 * Deletes all records of a table.
 */
int huon_lsm_clear(huon_txn *txn, huon_lsm_table *table);

/**
 * Deletes a table. Its handle stays good, and makes it anew with the next put.
 */
int huon_lsm_drop(huon_txn *txn, huon_lsm_table *table);

/**
 * A batch without changes. huon_lsm_write writes it and takes it back; else huon_batch_free does.
 */
int huon_batch_new(huon_lsm *lsm, huon_batch **batch);

/**
 * Adds a put to a batch.
 */
int huon_batch_put(huon_batch *batch, huon_lsm_table *table, huon_bytes key, huon_bytes value);

/**
 * Adds a put to a batch of a value that is absent from a time on.
 */
int huon_batch_put_until(huon_batch *batch,
                         huon_lsm_table *table,
                         huon_bytes key,
                         huon_bytes value,
                         uint64_t until_ms);

/**
 * Adds an operand to a batch.
 */
int huon_batch_merge(huon_batch *batch, huon_lsm_table *table, huon_bytes key, huon_bytes operand);

/**
 * Adds a delete to a batch.
 */
int huon_batch_delete(huon_batch *batch, huon_lsm_table *table, huon_bytes key);

/**
 * Gives a batch back that is not to be written; NULL is none, and fine.
 */
int huon_batch_free(huon_batch *batch);

/**
 * Writes a batch in a transaction of its own, which it shares with those of other threads that
 * wait at the same time. The batch is none any more, whatever the answer. `id`, which may be NULL,
 * tells the id of the commit.
 */
int huon_lsm_write(huon_lsm *lsm, huon_batch *batch, uint64_t *id);

/**
 * Tells what a table consists of; `bytes` is sizeof(huon_lsm_stat).
 */
int huon_get_lsm_stat(huon_txn *txn, huon_lsm_table *table, huon_lsm_stat *stat, size_t bytes);

/**
 * Reads every run of a table, and verifies what huon_check cannot know. `problem`, which may be
 * NULL, hears what is wrong; `problems` tells how many there are.
 */
int huon_lsm_check(huon_txn *txn,
                   huon_lsm_table *table,
                   huon_problem_fn problem,
                   void *context,
                   uint64_t *problems);

/**
 * Merges runs in this thread: of the table of that name, or of all if it is empty. `how` is one of
 * HUON_LSM_DUE, HUON_LSM_ALL and HUON_LSM_SHORTEN. Others read and write meanwhile.
 */
int huon_lsm_compact(huon_lsm *lsm, huon_bytes name, int how);

/**
 * The same, and tells `step` after each step, and while it waits for the merges of others, how
 * many there were: a stop ends it in order. `steps`, which may be NULL, tells how many it made.
 */
int huon_lsm_compact_with(huon_lsm *lsm,
                          huon_bytes name,
                          int how,
                          huon_step_fn step,
                          void *context,
                          uint64_t *steps);

/**
 * Starts threads that merge what is due, until huon_compactor_stop. A forked child has none.
 */
int huon_compactor_start(huon_lsm *lsm, huon_compactor **compactor);

/**
 * Ends the threads, and waits for them; NULL is none, and fine. An error is that of their work.
 */
int huon_compactor_stop(huon_compactor *compactor);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HUON_H */
