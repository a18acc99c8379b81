/*
 * lmdb.h: Huon behind the interface of LMDB 0.9.
 *
 * Programs written for LMDB 0.9 compile with this header, or run without being built anew, since
 * names, numbers, layouts and behaviour are those of that interface. The data is in Huon's own
 * format; files of LMDB are not read (`huon load` takes the text of mdb_dump).
 *
 * Rules for all functions:
 *
 * Results. A function that returns int gives 0 (MDB_SUCCESS), one of the MDB_ codes below, or a
 * number of errno.h. Where nothing is said, a handle that is NULL or out of order gives EINVAL, no
 * memory ENOMEM, and a failed system call its errno. Every function of a transaction gives
 * MDB_BAD_TXN after an earlier error has left it fit for an abort only, and while a child of it
 * lives.
 *
 * Lengths are bytes. Sizes of files and maps are bytes too, and pages are as long as ms_psize says.
 *
 * Lifetimes. A value that was read points into the file's map: it is for reading only and is valid
 * until the transaction ends (mdb_txn_reset counts as an end), in a write transaction until its
 * next change. Keys and values of the caller are copied before the function returns.
 *
 * Threads. Any number of threads may use one environment. A transaction and its cursors belong to
 * one thread at a time. A thread has one read transaction at most, unless MDB_NOTLS is set. One
 * write transaction exists at a time among all processes; a thread that begins another waits.
 *
 * Processes. A child of fork goes on with the environments and databases that its parent opened,
 * and with transactions that were reset: its first call opens the files anew. Transactions and
 * cursors that were open at the fork are MDB_PANIC there, and are to be ended or left alone. So are
 * all calls if the path does not lead to the same files any more. A thread that has a write
 * transaction and waits for a child that wants one waits for ever.
 */
#ifndef HUON_LMDB_H
#define HUON_LMDB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The mode of files that mdb_env_open makes, as of open(2), and a descriptor of an open file. */
#ifdef _WIN32
typedef int mdb_mode_t;
typedef void *mdb_filehandle_t;
#else
typedef mode_t mdb_mode_t;
typedef int mdb_filehandle_t;
#endif

/*
 * Sizes, counts and numbers of transactions, under the name that LMDB's master line has for the
 * type, and how printf and scanf take it: MDB_PRIy(u).
 */
typedef size_t mdb_size_t;
#define MDB_SIZE_MAX SIZE_MAX
#define MDB_FMT_Z "z"
#define MDB_PRIy(t) MDB_FMT_Z #t
#define MDB_SCNy(t) MDB_FMT_Z #t

/*
 * The version of the interface. MDB_VERSION_FULL is one number that grows with the version, and
 * MDB_VERSION_STRING is what mdb_version returns.
 */
#define MDB_VERSION_MAJOR 0
#define MDB_VERSION_MINOR 9
#define MDB_VERSION_PATCH 36
#define MDB_VERSION_DATE "Huon 0.1.0"
#define MDB_VERINT(a, b, c) (((a) << 24) | ((b) << 16) | (c))
#define MDB_VERSION_FULL MDB_VERINT(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH)
#define MDB_VERSTR(a, b, c, d) "LMDB " #a "." #b "." #c ": (" d ")"
#define MDB_VERFOO(a, b, c, d) MDB_VERSTR(a, b, c, d)
#define MDB_VERSION_STRING \
    MDB_VERFOO(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH, MDB_VERSION_DATE)

/* A process's hold on one database file. */
typedef struct MDB_env MDB_env;

/* A transaction: one snapshot to read, or the one writer's changes on top of it. */
typedef struct MDB_txn MDB_txn;

/* A place in one table, within a transaction. */
typedef struct MDB_cursor MDB_cursor;

/* A table, by its number within the environment. 0 is of the library itself, 1 the main table. */
typedef unsigned int MDB_dbi;

/*
 * Bytes that go in or out: keys of 1 to mdb_env_get_maxkeysize bytes, values of up to 2^32 - 1
 * bytes, and values of tables with MDB_DUPSORT of as many as a key.
 */
typedef struct MDB_val {
    size_t mv_size; /* how many bytes */
    void *mv_data;  /* where they are */
} MDB_val;

/* Orders two keys, or two values of one key: below 0, 0 or above 0, as memcmp does. */
typedef int(MDB_cmp_func)(const MDB_val *a, const MDB_val *b);

/* Would tell that an item has moved. Accepted for old callers and never called. */
typedef void(MDB_rel_func)(MDB_val *item, void *oldptr, void *newptr, void *relctx);

/* Is told of a broken internal rule of the library; msg is valid during the call. */
typedef void MDB_assert_func(MDB_env *env, const char *msg);

/* Takes one line of text, valid during the call; a negative result asks for no more of them. */
typedef int(MDB_msg_func)(const char *msg, void *ctx);

/* ---- Flags of an environment: mdb_env_open, mdb_env_set_flags, mdb_env_get_flags ---- */

/* Map the file at the same address in each process. Taken, and without an effect in Huon. */
#define MDB_FIXEDMAP 0x01
/* The path is that of the data file; the lock file is beside it, with `-lock` at its end. */
#define MDB_NOSUBDIR 0x4000
/* A commit flushes nothing: after a power loss, the last commits may be gone. */
#define MDB_NOSYNC 0x10000
/* Nothing is written and no write transaction can begin. */
#define MDB_RDONLY 0x20000
/* A commit leaves the last of its flushes to the next one: one commit may be gone. */
#define MDB_NOMETASYNC 0x40000
/* Change pages in a writable map instead of memory. Transactions cannot be nested then. */
#define MDB_WRITEMAP 0x80000
/* With MDB_WRITEMAP: commits begin to flush and do not wait. */
#define MDB_MAPASYNC 0x100000
/* Read transactions belong to no thread: one may have many, and another may go on with one. */
#define MDB_NOTLS 0x200000
/* No lock file: the caller sees to it that no other reads or writes beside a writer. */
#define MDB_NOLOCK 0x400000
/* Tell the kernel that reading goes here and there in the file. */
#define MDB_NORDAHEAD 0x800000
/* Do not clear memory that is about to be filled. */
#define MDB_NOMEMINIT 0x1000000
/* Open the snapshot before the newest (of LMDB's master line): see mdb_env_open. */
#define MDB_PREVSNAPSHOT 0x2000000

/* ---- Flags of a table: mdb_dbi_open, mdb_dbi_flags ---- */

/* Keys are ordered from their last byte to their first. */
#define MDB_REVERSEKEY 0x02
/* A key may have many values, kept in order. */
#define MDB_DUPSORT 0x04
/* Keys are unsigned int or size_t in the machine's byte order, all of one length. */
#define MDB_INTEGERKEY 0x08
/* With MDB_DUPSORT: all values have one length. */
#define MDB_DUPFIXED 0x10
/* With MDB_DUPFIXED: values are unsigned int or size_t in the machine's byte order. */
#define MDB_INTEGERDUP 0x20
/* With MDB_DUPSORT: values are ordered from their last byte to their first. */
#define MDB_REVERSEDUP 0x40
/* Make the table if there is none. Not kept with it. */
#define MDB_CREATE 0x40000

/* ---- Flags of a put: mdb_put, mdb_cursor_put ---- */

/* If the key is there: change nothing, MDB_KEYEXIST, and `data` gets the value that is there. */
#define MDB_NOOVERWRITE 0x10
/* If key and value are there: change nothing, MDB_KEYEXIST. mdb_cursor_del: all of the key. */
#define MDB_NODUPDATA 0x20
/* mdb_cursor_put alone: replace the record that the cursor stands on. */
#define MDB_CURRENT 0x40
/* Make room for data->mv_size bytes, and have data->mv_data point there, for the caller to fill
 * before the transaction's next change. Not with MDB_DUPSORT. */
#define MDB_RESERVE 0x10000
/* The key comes after all others; if it does not, MDB_KEYEXIST and no change. */
#define MDB_APPEND 0x20000
/* The value comes after all others of the key; if it does not, MDB_KEYEXIST and no change. */
#define MDB_APPENDDUP 0x40000
/* mdb_cursor_put alone, with MDB_DUPFIXED: many values at once; see there. */
#define MDB_MULTIPLE 0x80000

/* ---- Flags of a copy: mdb_env_copy2, mdb_env_copyfd2 ---- */

/* Leave out free pages and put the others in order. */
#define MDB_CP_COMPACT 0x01

/*
 * Where mdb_cursor_get goes. "The key's values" are all values of the key that the cursor stands
 * on; only tables with MDB_DUPSORT have more than one. Nothing there is MDB_NOTFOUND. To look for
 * values needs MDB_DUPSORT, and to take many at once (_MULTIPLE) MDB_DUPFIXED, else it is
 * MDB_INCOMPATIBLE; but without it MDB_NEXT_DUP and MDB_PREV_DUP go as MDB_NEXT and MDB_PREV do.
 */
typedef enum MDB_cursor_op {
    MDB_FIRST,          /* the first record */
    MDB_FIRST_DUP,      /* the first of the key's values */
    MDB_GET_BOTH,       /* the record of this key and value */
    MDB_GET_BOTH_RANGE, /* the first of this key's values that is not below this value */
    MDB_GET_CURRENT,    /* where the cursor stands; EINVAL if it stands nowhere */
    MDB_GET_MULTIPLE,   /* as many of the key's values as lie together, from this one on */
    MDB_LAST,           /* the last record */
    MDB_LAST_DUP,       /* the last of the key's values */
    MDB_NEXT,           /* the next record, of this key or the next; the first if nowhere */
    MDB_NEXT_DUP,       /* the next of the key's values */
    MDB_NEXT_MULTIPLE,  /* the next of the key's values that lie together */
    MDB_NEXT_NODUP,     /* the first value of the next key */
    MDB_PREV,           /* the record before, of this key or another; the last if nowhere */
    MDB_PREV_DUP,       /* the one of the key's values before */
    MDB_PREV_NODUP,     /* the last value of the key before */
    MDB_SET,            /* the first value of this key; `key` stays as it is */
    MDB_SET_KEY,        /* as MDB_SET; `key` gets the key in the map */
    MDB_SET_RANGE,      /* the first key that is not below this one; `key` gets it */
    MDB_PREV_MULTIPLE   /* those of the key's values before that lie together */
} MDB_cursor_op;

/* ---- Results ---- */

/* All is well. */
#define MDB_SUCCESS 0
/* The key, or the key with the value, is there already. */
#define MDB_KEYEXIST (-30799)
/* No such key, value or table, or no further one. */
#define MDB_NOTFOUND (-30798)
/* A page that the file refers to is not there: it is damaged. */
#define MDB_PAGE_NOTFOUND (-30797)
/* A page is not what it should be: the file is damaged. */
#define MDB_CORRUPTED (-30796)
/* The environment has met an error that it cannot go on after; close and open it. */
#define MDB_PANIC (-30795)
/* The file is of a version of the format that this library does not know. */
#define MDB_VERSION_MISMATCH (-30794)
/* The file is not of this library. */
#define MDB_INVALID (-30793)
/* The file would grow beyond mdb_env_set_mapsize. */
#define MDB_MAP_FULL (-30792)
/* More tables than mdb_env_set_maxdbs. */
#define MDB_DBS_FULL (-30791)
/* More read transactions than mdb_env_set_maxreaders. */
#define MDB_READERS_FULL (-30790)
/* Too many environments in this process (Windows only). */
#define MDB_TLS_FULL (-30789)
/* The transaction has changed too many pages. */
#define MDB_TXN_FULL (-30788)
/* A tree is deeper than a cursor can go: the file is damaged. */
#define MDB_CURSOR_FULL (-30787)
/* A page has no room where it should have: the file is damaged. */
#define MDB_PAGE_FULL (-30786)
/* Another process made the file larger than this one's map: mdb_env_set_mapsize(env, 0). */
#define MDB_MAP_RESIZED (-30785)
/* The table is not of the kind that this needs, or its flags have changed. */
#define MDB_INCOMPATIBLE (-30784)
/* This thread has a read transaction already, or the slot is another's. */
#define MDB_BAD_RSLOT (-30783)
/* The transaction has failed, has a living child, or is of the wrong kind. */
#define MDB_BAD_TXN (-30782)
/* The length of a key or of a value is not allowed here. */
#define MDB_BAD_VALSIZE (-30781)
/* The table's handle was closed, or changed under this transaction. */
#define MDB_BAD_DBI (-30780)
#define MDB_LAST_ERRCODE MDB_BAD_DBI
/* Of LMDB's master line, and never given: something happened that should not. */
#define MDB_PROBLEM (-30779)

/* The shape of one table, or of the main one. */
typedef struct MDB_stat {
    unsigned int ms_psize;    /* bytes of a page */
    unsigned int ms_depth;    /* pages from root to leaf; 0 if empty */
    mdb_size_t ms_branch_pages;   /* pages that lead to others */
    mdb_size_t ms_leaf_pages;     /* pages that hold records */
    mdb_size_t ms_overflow_pages; /* pages that hold one large value */
    mdb_size_t ms_entries;        /* records, each value of a key counted */
} MDB_stat;

/* Figures of an environment. */
typedef struct MDB_envinfo {
    void *me_mapaddr;           /* the address with MDB_FIXEDMAP, else NULL */
    mdb_size_t me_mapsize;          /* bytes that the file may grow to */
    mdb_size_t me_last_pgno;        /* number of the last page in use */
    mdb_size_t me_last_txnid;       /* number of the last committed transaction */
    unsigned int me_maxreaders; /* slots for read transactions */
    unsigned int me_numreaders; /* how many of them have been in use at most */
} MDB_envinfo;

/* ---- Library ---- */

/* The version as a text that lives for ever, and as numbers, each of which may be NULL. */
char *mdb_version(int *major, int *minor, int *patch);

/*
 * The meaning of a result: a text that lives for ever for those above, and what strerror says for
 * those of errno.h.
 */
char *mdb_strerror(int err);

/* ---- Environment ---- */

/*
 * Makes a handle, with 1 MiB as the size of the map, 126 slots for readers and no named tables.
 * It is to be given to mdb_env_close, also after mdb_env_open has failed.
 */
int mdb_env_create(MDB_env **env);

/*
 * Opens the environment at `path`, a directory that is there (data in `data.mdb`, locks in
 * `lock.mdb`), or with MDB_NOSUBDIR a file. `mode` is for files that it makes.
 *
 * With MDB_PREVSNAPSHOT it is the snapshot of the meta before the newest: to look at it with
 * MDB_RDONLY, or else to go on from it, which gives up all that is newer with the first commit.
 * EAGAIN: a process has the file open. MDB_CORRUPTED: pages of it were used again.
 *
 * EINVAL: unknown flags, or the handle is open already. ENOENT: no such directory, or with
 * MDB_RDONLY no such file. MDB_INVALID, MDB_VERSION_MISMATCH: a file of something else, or of
 * another version. EACCES, EAGAIN: not allowed, or in use by a process that excludes others.
 */
int mdb_env_open(MDB_env *env, const char *path, unsigned int flags, mdb_mode_t mode);

/*
 * Closes the environment and frees the handle; NULL is ignored. Transactions and cursors must have
 * ended before. Tables' handles end with it.
 */
void mdb_env_close(MDB_env *env);

/*
 * Copies what is committed now, while others read and write. `path` is a directory that is there
 * and has no `data.mdb`, or with MDB_NOSUBDIR a file that is not there (EEXIST if it is); `fd` is
 * open for writing and may be a pipe. As long as it takes, this counts as a read transaction.
 * `flags` is 0 or MDB_CP_COMPACT. The first two are the others without flags.
 */
int mdb_env_copy(MDB_env *env, const char *path);
int mdb_env_copyfd(MDB_env *env, mdb_filehandle_t fd);
int mdb_env_copy2(MDB_env *env, const char *path, unsigned int flags);
int mdb_env_copyfd2(MDB_env *env, mdb_filehandle_t fd, unsigned int flags);

/* The shape of the main table, as last committed. */
int mdb_env_stat(MDB_env *env, MDB_stat *stat);

/* The figures of the environment. */
int mdb_env_info(MDB_env *env, MDB_envinfo *stat);

/*
 * Flushes what is committed: always if `force` is not 0, else only as far as the flags MDB_NOSYNC
 * and MDB_MAPASYNC leave something to do. EACCES: opened with MDB_RDONLY.
 */
int mdb_env_sync(MDB_env *env, int force);

/*
 * Sets (`onoff` not 0) or clears MDB_NOSYNC, MDB_NOMETASYNC, MDB_MAPASYNC and MDB_NOMEMINIT, before
 * or after the environment is opened. Any other flag is EINVAL.
 */
int mdb_env_set_flags(MDB_env *env, unsigned int flags, int onoff);

/* The flags in force, those of `MDB_env` above and no others. */
int mdb_env_get_flags(MDB_env *env, unsigned int *flags);

/* The path that was given to mdb_env_open; it lives as long as the environment is open. */
int mdb_env_get_path(MDB_env *env, const char **path);

/* The descriptor of the data file, which stays the library's. With MDB_NOLOCK a writer gets
 * another one, which it can lock. */
int mdb_env_get_fd(MDB_env *env, mdb_filehandle_t *fd);

/*
 * Sets how many bytes the file may grow to: before the environment is opened, or while this process
 * has no transaction (EINVAL if it writes). Less than what is in use becomes what is in use; 0 asks
 * for what the file says, as another process may have set it. The next commit keeps growth there.
 */
int mdb_env_set_mapsize(MDB_env *env, mdb_size_t size);

/* Sets how many read transactions there may be; EINVAL once the environment is open, and for 0. */
int mdb_env_set_maxreaders(MDB_env *env, unsigned int readers);
int mdb_env_get_maxreaders(MDB_env *env, unsigned int *readers);

/* Sets how many named tables may be open; EINVAL once the environment is open. */
int mdb_env_set_maxdbs(MDB_env *env, MDB_dbi dbs);

/* The bytes that a key may have at most, and a value with MDB_DUPSORT. It is the result itself. */
int mdb_env_get_maxkeysize(MDB_env *env);

/* Keeps a pointer of the caller's with the environment, and gives it back. */
int mdb_env_set_userctx(MDB_env *env, void *ctx);
void *mdb_env_get_userctx(MDB_env *env);

/* Has `func` called before the library ends the process for a broken rule; NULL: nothing. */
int mdb_env_set_assert(MDB_env *env, MDB_assert_func *func);

/* Hands the slots of living readers to `func`, as lines, the first a heading. Below 0: failed. */
int mdb_reader_list(MDB_env *env, MDB_msg_func *func, void *ctx);

/* Frees the slots of readers whose process is gone; `dead`, which may be NULL: how many. */
int mdb_reader_check(MDB_env *env, int *dead);

/* ---- Transactions ---- */

/*
 * Begins a transaction: to read with MDB_RDONLY, which never waits, else to write, which waits for
 * the writer before. With a `parent` that writes, a nested one, which sees what the parent did; the
 * parent is out of use until it ends. Of those that read there may be many in one parent, in any
 * threads (LMDB: since its master line). Other flags are ignored.
 *
 * EACCES: to write with MDB_RDONLY on the environment. MDB_BAD_TXN: the parent cannot have a child.
 * MDB_READERS_FULL, MDB_BAD_RSLOT: no slot. MDB_MAP_RESIZED, MDB_PANIC: see there.
 */
int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned int flags, MDB_txn **txn);

/* The environment of a transaction; NULL for NULL. */
MDB_env *mdb_txn_env(MDB_txn *txn);

/* The number of what a reader sees, or of what a writer will have committed; 0 for NULL. */
mdb_size_t mdb_txn_id(MDB_txn *txn);

/*
 * Makes the changes those of the environment, or of the parent, and frees the transaction also if
 * that fails, after which nothing of it is left. Living children are committed first. Cursors of a
 * write transaction end with it; those of a read transaction live on, for mdb_cursor_renew or
 * mdb_cursor_close. EINVAL for NULL; MDB_BAD_TXN if it had failed; ENOSPC, EIO and others.
 */
int mdb_txn_commit(MDB_txn *txn);

/* Drops the changes and frees the transaction; cursors as at a commit. NULL is ignored. */
void mdb_txn_abort(MDB_txn *txn);

/* Ends reading and keeps slot and handle for mdb_txn_renew. Of a read transaction alone. */
void mdb_txn_reset(MDB_txn *txn);

/* Begins reading anew after mdb_txn_reset; EINVAL if it has not been reset. */
int mdb_txn_renew(MDB_txn *txn);

/* ---- Tables ---- */

/*
 * Opens a table: the main one for NULL, else that of this name, whose record is a key of the main
 * table. The flags are those of tables; the ones that a table was made with hold for named ones,
 * while the main table takes on what is given, which is kept. The same name gives the same handle.
 * It is of this transaction alone until that commits, and closed again if a writer aborts.
 *
 * MDB_NOTFOUND: no such table, and no MDB_CREATE. MDB_INCOMPATIBLE: the name is a plain key.
 * MDB_DBS_FULL: see mdb_env_set_maxdbs. EINVAL: unknown flags. EACCES: to make one while reading.
 */
int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned int flags, MDB_dbi *dbi);

/* Closes a named table's handle: no thread may use it any more, and its number is used again. */
void mdb_dbi_close(MDB_env *env, MDB_dbi dbi);

/* The shape of a table as the transaction sees it. */
int mdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat);

/* The flags of a table. */
int mdb_dbi_flags(MDB_txn *txn, MDB_dbi dbi, unsigned int *flags);

/*
 * Empties a table; if `del` is 1, removes it too and closes the handle (the main table is only
 * emptied). EINVAL: another `del`. EACCES: reading.
 */
int mdb_drop(MDB_txn *txn, MDB_dbi dbi, int del);

/*
 * Has `cmp` order the keys, or the values of a key, of this table while the environment is open.
 * Every program that uses the table sets the same order, before its first access. The second is for
 * MDB_DUPSORT.
 */
int mdb_set_compare(MDB_txn *txn, MDB_dbi dbi, MDB_cmp_func *cmp);
int mdb_set_dupsort(MDB_txn *txn, MDB_dbi dbi, MDB_cmp_func *cmp);

/* Taken and without an effect. */
int mdb_set_relfunc(MDB_txn *txn, MDB_dbi dbi, MDB_rel_func *rel);
int mdb_set_relctx(MDB_txn *txn, MDB_dbi dbi, void *ctx);

/* Orders two keys, or two values, as the table does; the order is the result. */
int mdb_cmp(MDB_txn *txn, MDB_dbi dbi, const MDB_val *a, const MDB_val *b);
int mdb_dcmp(MDB_txn *txn, MDB_dbi dbi, const MDB_val *a, const MDB_val *b);

/* ---- Records ---- */

/* The value of a key, the first one with MDB_DUPSORT. MDB_NOTFOUND; MDB_BAD_VALSIZE: empty key. */
int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);

/*
 * Puts a record: over the one with this key, or with MDB_DUPSORT beside those of this key, where an
 * equal value changes nothing. The flags are those of a put without MDB_CURRENT and MDB_MULTIPLE.
 *
 * MDB_KEYEXIST: see the flags. MDB_BAD_VALSIZE: key or value too long, or empty where that is not
 * allowed. MDB_INCOMPATIBLE: the key is a table's name. MDB_MAP_FULL, MDB_TXN_FULL: no room.
 * EACCES: reading. EINVAL: other flags.
 */
int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned int flags);

/*
 * Removes a key with all its values, or with MDB_DUPSORT and `data` that value alone. Without
 * MDB_DUPSORT `data` is not looked at. MDB_NOTFOUND; EACCES: reading; MDB_INCOMPATIBLE: the key is
 * a table's name, and the transaction has failed.
 */
int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);

/* ---- Cursors ---- */

/* Makes a cursor that stands nowhere. In a read transaction it is to be closed by the caller. */
int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor);

/* Frees a cursor: one of a write transaction before that ends. NULL is ignored. */
void mdb_cursor_close(MDB_cursor *cursor);

/* Uses a cursor for another read transaction; it stands nowhere then. */
int mdb_cursor_renew(MDB_txn *txn, MDB_cursor *cursor);

/* The transaction and the table of a cursor; NULL and 0 for NULL and when there is none. */
MDB_txn *mdb_cursor_txn(MDB_cursor *cursor);
MDB_dbi mdb_cursor_dbi(MDB_cursor *cursor);

/*
 * Goes where `op` says, and gives key and value there. `key` and `data` are looked at first where
 * `op` needs them. At an end it is MDB_NOTFOUND again and again, and the cursor stays. After a
 * mdb_cursor_del the cursor stands on what came after, and the first MDB_NEXT gives that.
 * EINVAL: no such `op`, or the cursor stands nowhere.
 */
int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *data, MDB_cursor_op op);

/*
 * Puts a record as mdb_put does, and stands on it after. With MDB_CURRENT it replaces the one that
 * the cursor stands on, whose key the caller repeats.
 *
 * With MDB_MULTIPLE `data` is an array of two: the length of one value and where the first is; and
 * in mv_size of the second how many there are, one behind the other. It gets how many were put.
 */
int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *data, unsigned int flags);

/*
 * Removes the record that the cursor stands on, with MDB_NODUPDATA all of its key's values.
 * EINVAL: it stands nowhere. EACCES: reading.
 */
int mdb_cursor_del(MDB_cursor *cursor, unsigned int flags);

/* How many values the key has that the cursor stands on. MDB_INCOMPATIBLE: no MDB_DUPSORT. */
int mdb_cursor_count(MDB_cursor *cursor, mdb_size_t *countp);

/* Whether the cursor stands on the name of a table: 1, or 0. Of LMDB 1.0. */
int mdb_cursor_is_db(MDB_cursor *cursor);

/* Names that two functions had once. */
#define mdb_open(txn, name, flags, dbi) mdb_dbi_open(txn, name, flags, dbi)
#define mdb_close(env, dbi) mdb_dbi_close(env, dbi)

#ifdef __cplusplus
}
#endif

#endif
