/*
 * mdbx.h: Huon behind the interface of libmdbx 0.11.
 *
 * Programs written for libmdbx 0.10 or 0.11 compile with this header, or run without being built
 * anew, since names, numbers, layouts and behaviour are those of that interface. The data is in
 * Huon's own format; files of libmdbx are not read (`huon load` takes the text of mdbx_dump).
 * Later additions to the interface that change no layout and are cheap to have are here, too, and
 * say so.
 *
 * Rules for all functions:
 *
 * Results. A function that returns int gives 0 (MDBX_SUCCESS), one of the MDBX_ codes below, or a
 * number of errno.h. MDBX_RESULT_TRUE is -1 and no error: each function that gives it says what it
 * stands for. Where nothing is said, a pointer that is NULL or an argument out of order gives
 * MDBX_EINVAL, a handle that was closed or never was one MDBX_EBADSIGN, no memory MDBX_ENOMEM, and
 * a failed system call its errno. Every function of a transaction gives MDBX_BAD_TXN after
 * an error has left it fit for an abort only, while a child of it lives, and after mdbx_txn_reset;
 * and MDBX_THREAD_MISMATCH in a thread that it does not belong to.
 *
 * Lengths are bytes, and so are sizes of files. Times are in seconds with 16 bits behind the point:
 * 65536 is one second.
 *
 * Lifetimes. A value that was read points into the file's map: it is for reading only and is valid
 * until the transaction ends (mdbx_txn_reset counts as an end), in a write transaction until its
 * next change; several values at once (_MULTIPLE) are a copy, which the cursor keeps until it gives
 * the next one or is closed. Keys and values of the caller are copied before the function returns.
 *
 * Threads. Any number of threads may use one environment. A transaction and its cursors belong to
 * the thread that began it, unless MDBX_NOTLS is set: then any thread may use them, one at a time,
 * and may end a write transaction that another began. A thread has one transaction at most; with
 * MDBX_NOTLS it may read as often as it likes, but not begin to while it writes (see
 * MDBX_DBG_LEGACY_OVERLAP). One write transaction exists at a time among all processes; a
 * thread that begins another waits.
 *
 * Processes. A child of fork goes on with the environments and tables that its parent opened, and
 * with transactions that were reset: its first call opens the files anew. Transactions and cursors
 * that were open at the fork are MDBX_PANIC there, and are to be ended or left alone. So are all
 * calls if the path does not lead to the same files any more. A thread that has a write transaction
 * and waits for a child that wants one waits for ever.
 */
#ifndef HUON_MDBX_H
#define HUON_MDBX_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

/* The mode of files that mdbx_env_open makes, as of open(2). */
typedef mode_t mdbx_mode_t;
/* A descriptor of an open file. */
typedef int mdbx_filehandle_t;
/* A process, and a thread of it. */
typedef pid_t mdbx_pid_t;
typedef pthread_t mdbx_tid_t;

/*
 * What libmdbx's own header has for compilers, and its C++ interface (mdbx.h++) takes from it. Here
 * nothing is exported or imported by a mark, and attributes are those of GCC and Clang.
 */
#ifndef LIBMDBX_API
#define LIBMDBX_API
#endif
#ifndef LIBMDBX_API_TYPE
#define LIBMDBX_API_TYPE LIBMDBX_API
#endif
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if defined(__cplusplus) && !defined(__has_cpp_attribute)
#define __has_cpp_attribute(name) 0
#endif

#ifdef __GNUC__
#define MDBX_PURE_FUNCTION __attribute__((__pure__))
#define MDBX_NOTHROW_PURE_FUNCTION __attribute__((__pure__, __nothrow__))
#define MDBX_CONST_FUNCTION __attribute__((__const__))
#define MDBX_NOTHROW_CONST_FUNCTION __attribute__((__const__, __nothrow__))
#define MDBX_NORETURN __attribute__((__noreturn__))
#define MDBX_MAYBE_UNUSED __attribute__((__unused__))
#define MDBX_PRINTF_ARGS(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define MDBX_PURE_FUNCTION
#define MDBX_NOTHROW_PURE_FUNCTION
#define MDBX_CONST_FUNCTION
#define MDBX_NOTHROW_CONST_FUNCTION
#define MDBX_NORETURN
#define MDBX_MAYBE_UNUSED
#define MDBX_PRINTF_ARGS(format, first)
#endif
#ifndef MDBX_DEPRECATED
#ifdef __GNUC__
#define MDBX_DEPRECATED __attribute__((__deprecated__))
#else
#define MDBX_DEPRECATED
#endif
#endif

#ifndef MDBX_STRINGIFY
#define MDBX_STRINGIFY_HELPER(text) #text
#define MDBX_STRINGIFY(text) MDBX_STRINGIFY_HELPER(text)
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L
#define MDBX_CXX17_NOEXCEPT noexcept
#else
#define MDBX_CXX17_NOEXCEPT
#endif

/* Functions and objects that are constant expressions from a version of C++ on. */
#ifndef __cplusplus
#define MDBX_CXX01_CONSTEXPR __inline
#define MDBX_CXX01_CONSTEXPR_VAR const
#elif __cplusplus >= 201103L
#define MDBX_CXX01_CONSTEXPR constexpr
#define MDBX_CXX01_CONSTEXPR_VAR constexpr
#else
#define MDBX_CXX01_CONSTEXPR inline
#define MDBX_CXX01_CONSTEXPR_VAR const
#endif
#if defined(__cplusplus) && __cplusplus >= 201402L
#define MDBX_CXX11_CONSTEXPR constexpr
#define MDBX_CXX11_CONSTEXPR_VAR constexpr
#define MDBX_CXX14_CONSTEXPR constexpr
#define MDBX_CXX14_CONSTEXPR_VAR constexpr
#elif defined(__cplusplus)
#define MDBX_CXX11_CONSTEXPR inline
#define MDBX_CXX11_CONSTEXPR_VAR const
#define MDBX_CXX14_CONSTEXPR inline
#define MDBX_CXX14_CONSTEXPR_VAR const
#else
#define MDBX_CXX11_CONSTEXPR __inline
#define MDBX_CXX11_CONSTEXPR_VAR const
#define MDBX_CXX14_CONSTEXPR __inline
#define MDBX_CXX14_CONSTEXPR_VAR const
#endif

/* In C++, flags of one kind combine to flags of that kind, as they do in C. */
#ifdef __cplusplus
#define HUON_MDBX_FLAGS(type) \
    extern "C++" { \
    constexpr type operator|(type a, type b) { return type(unsigned(a) | unsigned(b)); } \
    constexpr type operator&(type a, type b) { return type(unsigned(a) & unsigned(b)); } \
    constexpr type operator^(type a, type b) { return type(unsigned(a) ^ unsigned(b)); } \
    constexpr type operator~(type a) { return type(~unsigned(a)); } \
    inline type &operator|=(type &a, type b) { return a = a | b; } \
    inline type &operator&=(type &a, type b) { return a = a & b; } \
    inline type &operator^=(type &a, type b) { return a = a ^ b; } \
    }
extern "C" {
#else
#define HUON_MDBX_FLAGS(type)
#endif

/* The level of the interface. Which library it is, is in mdbx_version and mdbx_build. */
#define MDBX_VERSION_MAJOR 0
#define MDBX_VERSION_MINOR 11

/* The version of the interface; `git` and `sourcery` say that the library is Huon, and which. */
struct MDBX_version_info {
    uint8_t major;
    uint8_t minor;
    uint16_t release;
    uint32_t revision;
    struct {
        const char *datetime;
        const char *tree;
        const char *commit;
        const char *describe;
    } git;
    const char *sourcery;
};
extern const struct MDBX_version_info mdbx_version;

/* How the library was built. */
struct MDBX_build_info {
    const char *datetime;
    const char *target;
    const char *options;
    const char *compiler;
    const char *flags;
};
extern const struct MDBX_build_info mdbx_build;

/* A process's hold on one database file. */
typedef struct MDBX_env MDBX_env;

/* A transaction: one snapshot to read, or the one writer's changes on top of it. */
typedef struct MDBX_txn MDBX_txn;

/* A place in one table. It is its owner's until it is closed, whatever becomes of transactions. */
typedef struct MDBX_cursor MDBX_cursor;

/* A table, by its number within the environment. 0 is of the library itself, 1 the main table. */
typedef uint32_t MDBX_dbi;

/*
 * Bytes that go in or out: iov_len of them, at iov_base. Keys and values may be empty. How long
 * they may be is what mdbx_env_get_maxkeysize_ex and mdbx_env_get_maxvalsize_ex say.
 */
typedef struct iovec MDBX_val;

enum MDBX_constants {
    MDBX_MAX_DBI = 32765,          /* tables that may be open, at most */
    MDBX_MAXDATASIZE = 0x7fff0000, /* all values are shorter: see mdbx_limits_valsize_max */
    MDBX_MIN_PAGESIZE = 256,       /* a page has a power of two of bytes, from this one */
    MDBX_MAX_PAGESIZE = 65536      /* to this one */
};

/* The names of the files in an environment's directory. */
#define MDBX_DATANAME "/mdbx.dat"
#define MDBX_LOCKNAME "/mdbx.lck"
/* With MDBX_NOSUBDIR: what the lock file's name has after that of the data file. libmdbx says
 * "-lck". */
#define MDBX_LOCK_SUFFIX "-lock"

/* ---- Flags of an environment: mdbx_env_open, mdbx_env_set_flags, mdbx_env_get_flags ---- */

enum MDBX_env_flags_t {
    MDBX_ENV_DEFAULTS = 0,
    /* The path is that of the data file; the lock file is beside it. */
    MDBX_NOSUBDIR = 0x4000,
    /* Nothing is written and no write transaction can begin. */
    MDBX_RDONLY = 0x20000,
    /* No other process may have it open, and none may open it meanwhile: MDBX_BUSY. */
    MDBX_EXCLUSIVE = 0x400000,
    /* Take on the durability that others use already, instead of MDBX_INCOMPATIBLE. */
    MDBX_ACCEDE = 0x40000000,
    /* Change pages in a writable map instead of memory. Transactions cannot be nested then. */
    MDBX_WRITEMAP = 0x80000,
    /*
     * Transactions belong to no thread: each may read as often as it likes, and another may go on
     * with a transaction that this one began, one that writes among them.
     */
    MDBX_NOTLS = 0x200000,
    MDBX_NOSTICKYTHREADS = MDBX_NOTLS, /* its name since libmdbx 0.13 */
    /* Tell the kernel that reading goes here and there in the file. */
    MDBX_NORDAHEAD = 0x800000,
    /* Do not clear memory that is about to be filled. */
    MDBX_NOMEMINIT = 0x1000000,
    /* Join neighbours among free pages. Taken, and without an effect: Huon always does. */
    MDBX_COALESCE = 0x2000000,
    /* Use first what became free last. */
    MDBX_LIFORECLAIM = 0x4000000,
    /* Overwrite pages that became free. For finding errors of a program. */
    MDBX_PAGEPERTURB = 0x8000000,
    /* A commit waits until a power loss cannot take it away. */
    MDBX_SYNC_DURABLE = 0,
    /* A commit leaves the last of its flushes to the next one: one commit may be gone. */
    MDBX_NOMETASYNC = 0x40000,
    /* A commit flushes nothing: a power loss falls back to the last state that was flushed. */
    MDBX_SAFE_NOSYNC = 0x10000,
    /* An older name of it. */
    MDBX_MAPASYNC = MDBX_SAFE_NOSYNC,
    /* As MDBX_SAFE_NOSYNC, and the program would put up with a damaged file for more speed. */
    MDBX_UTTERLY_NOSYNC = MDBX_SAFE_NOSYNC | 0x100000
};
typedef enum MDBX_env_flags_t MDBX_env_flags_t;
HUON_MDBX_FLAGS(MDBX_env_flags_t)

/* ---- Flags of a transaction: mdbx_txn_begin_ex, mdbx_txn_flags ---- */

enum MDBX_txn_flags_t {
    MDBX_TXN_READWRITE = 0,
    /* Reads one snapshot, and never waits. */
    MDBX_TXN_RDONLY = MDBX_RDONLY,
    /* As it is after mdbx_txn_reset: mdbx_txn_renew begins to read. */
    MDBX_TXN_RDONLY_PREPARE = MDBX_RDONLY | MDBX_NOMEMINIT,
    /* To write, or MDBX_BUSY where it would have to wait for the writer before. */
    MDBX_TXN_TRY = 0x10000000,
    /* This commit as with MDBX_NOMETASYNC. */
    MDBX_TXN_NOMETASYNC = MDBX_NOMETASYNC,
    /* This commit as with MDBX_SAFE_NOSYNC. */
    MDBX_TXN_NOSYNC = MDBX_SAFE_NOSYNC,

    /* Other results of mdbx_txn_flags. */
    MDBX_TXN_INVALID = INT32_MIN, /* it is no transaction */
    MDBX_TXN_FINISHED = 0x01,     /* it was reset */
    MDBX_TXN_ERROR = 0x02,        /* it can be aborted only */
    MDBX_TXN_DIRTY = 0x04,        /* something was changed */
    MDBX_TXN_SPILLS = 0x08,       /* some of the changes are in the file already */
    MDBX_TXN_HAS_CHILD = 0x10,    /* a child of it lives */
    MDBX_TXN_BLOCKED = MDBX_TXN_FINISHED | MDBX_TXN_ERROR | MDBX_TXN_HAS_CHILD
};
typedef enum MDBX_txn_flags_t MDBX_txn_flags_t;
HUON_MDBX_FLAGS(MDBX_txn_flags_t)

/* ---- Flags of a table: mdbx_dbi_open, mdbx_dbi_flags_ex ---- */

enum MDBX_db_flags_t {
    MDBX_DB_DEFAULTS = 0,
    /* Keys are ordered from their last byte to their first. */
    MDBX_REVERSEKEY = 0x02,
    /* A key may have many values, kept in order. */
    MDBX_DUPSORT = 0x04,
    /* Keys are uint32_t or uint64_t in the machine's byte order, all of one length. */
    MDBX_INTEGERKEY = 0x08,
    /* With MDBX_DUPSORT: all values have one length. */
    MDBX_DUPFIXED = 0x10,
    /* With MDBX_DUPSORT, and includes MDBX_DUPFIXED: values are uint32_t or uint64_t. */
    MDBX_INTEGERDUP = 0x20,
    /* With MDBX_DUPSORT: values are ordered from their last byte to their first. */
    MDBX_REVERSEDUP = 0x40,
    /* Make the table if there is none. Not kept with it. */
    MDBX_CREATE = 0x40000,
    /* Take the table as it is, of whichever kind. */
    MDBX_DB_ACCEDE = MDBX_ACCEDE
};
typedef enum MDBX_db_flags_t MDBX_db_flags_t;
HUON_MDBX_FLAGS(MDBX_db_flags_t)

/* The state of a table in a transaction: mdbx_dbi_flags_ex. */
enum MDBX_dbi_state_t {
    MDBX_DBI_DIRTY = 0x01, /* it was changed here */
    MDBX_DBI_STALE = 0x02, /* it was not looked at here yet */
    MDBX_DBI_FRESH = 0x04, /* it was opened here */
    MDBX_DBI_CREAT = 0x08  /* it was made here */
};
typedef enum MDBX_dbi_state_t MDBX_dbi_state_t;
HUON_MDBX_FLAGS(MDBX_dbi_state_t)

/* ---- Flags of a put: mdbx_put, mdbx_cursor_put, mdbx_replace, mdbx_cursor_del ---- */

enum MDBX_put_flags_t {
    /* Put the record, over the one that is there; among many values beside them. */
    MDBX_UPSERT = 0,
    /* If the key is there: change nothing, MDBX_KEYEXIST, and `data` gets the value there. */
    MDBX_NOOVERWRITE = 0x10,
    /* If key and value are there: change nothing, MDBX_KEYEXIST. */
    MDBX_NODUPDATA = 0x20,
    /* Replace what is there: see mdbx_put and mdbx_cursor_put. */
    MDBX_CURRENT = 0x40,
    /* All values of the key: to be replaced by this one, or removed. */
    MDBX_ALLDUPS = 0x80,
    /* Make room for data->iov_len bytes, and have data->iov_base point there, for the caller to
     * fill before the transaction's next change. With MDBX_DUPSORT it is MDBX_INCOMPATIBLE. */
    MDBX_RESERVE = 0x10000,
    /* The key comes after all others; if it does not, MDBX_EKEYMISMATCH and no change. */
    MDBX_APPEND = 0x20000,
    /* The value comes after all others of the key; if it does not, MDBX_EKEYMISMATCH. */
    MDBX_APPENDDUP = 0x40000,
    /* With MDBX_DUPFIXED: many values at once; see mdbx_cursor_put. */
    MDBX_MULTIPLE = 0x80000
};
typedef enum MDBX_put_flags_t MDBX_put_flags_t;
HUON_MDBX_FLAGS(MDBX_put_flags_t)

/* ---- Flags of a copy: mdbx_env_copy, mdbx_env_copy2fd ---- */

enum MDBX_copy_flags_t {
    MDBX_CP_DEFAULTS = 0,
    /* Leave out free pages and put the others in order. */
    MDBX_CP_COMPACT = 1,
    /* The copy can grow and shrink, also if the original cannot. */
    MDBX_CP_FORCE_DYNAMIC_SIZE = 2
};
typedef enum MDBX_copy_flags_t MDBX_copy_flags_t;
HUON_MDBX_FLAGS(MDBX_copy_flags_t)

/*
 * Where mdbx_cursor_get goes. "The key's values" are all values of the key that the cursor stands
 * on; only tables with MDBX_DUPSORT have more than one. Nothing there is MDBX_NOTFOUND; after a key
 * that was not found, the cursor stands where it would be. A place to start from that is not there
 * is MDBX_ENODATA, or for MDBX_FIRST_DUP and MDBX_LAST_DUP MDBX_EINVAL. To look for values needs
 * MDBX_DUPSORT, and to take many at once (_MULTIPLE) MDBX_DUPFIXED, else it is MDBX_INCOMPATIBLE;
 * but without it MDBX_NEXT_DUP and MDBX_PREV_DUP go as MDBX_NEXT and MDBX_PREV do.
 */
enum MDBX_cursor_op {
    MDBX_FIRST,          /* the first record */
    MDBX_FIRST_DUP,      /* the first of the key's values */
    MDBX_GET_BOTH,       /* the record of this key and value */
    MDBX_GET_BOTH_RANGE, /* the first of this key's values that is not below this value */
    MDBX_GET_CURRENT,    /* where the cursor stands */
    MDBX_GET_MULTIPLE,   /* as many of the key's values as lie together */
    MDBX_LAST,           /* the last record */
    MDBX_LAST_DUP,       /* the last of the key's values */
    MDBX_NEXT,           /* the next record, of this key or the next; the first if nowhere */
    MDBX_NEXT_DUP,       /* the next of the key's values */
    MDBX_NEXT_MULTIPLE,  /* the next of the key's values that lie together */
    MDBX_NEXT_NODUP,     /* the first value of the next key */
    MDBX_PREV,           /* the record before, of this key or another; the last if nowhere */
    MDBX_PREV_DUP,       /* the one of the key's values before */
    MDBX_PREV_NODUP,     /* the last value of the key before */
    MDBX_SET,            /* the first value of this key; `key` stays as it is */
    MDBX_SET_KEY,        /* as MDBX_SET; `key` gets the key in the map */
    MDBX_SET_RANGE,      /* the first key that is not below this one; `key` gets it */
    MDBX_PREV_MULTIPLE,  /* those of the key's values before that lie together */
    /* The first record that is not below this key and value (with a `data` of NULL, or without
     * MDBX_DUPSORT: not below this key). MDBX_RESULT_TRUE if it is above. */
    MDBX_SET_LOWERBOUND,
    /* The first record that is above this key and value, likewise. */
    MDBX_SET_UPPERBOUND
};
typedef enum MDBX_cursor_op MDBX_cursor_op;

/* ---- Results ---- */

enum MDBX_error_t {
    /* All is well. */
    MDBX_SUCCESS = 0,
    MDBX_RESULT_FALSE = MDBX_SUCCESS,
    /* All is well, and the answer is yes; or as the function says. */
    MDBX_RESULT_TRUE = -1,
    /* The key, or the key with the value, is there already. */
    MDBX_KEYEXIST = -30799,
    MDBX_FIRST_LMDB_ERRCODE = MDBX_KEYEXIST,
    /* No such key, value or table, or no further one. */
    MDBX_NOTFOUND = -30798,
    /* A page that the file refers to is not there: it is damaged. */
    MDBX_PAGE_NOTFOUND = -30797,
    /* A page is not what it should be: the file is damaged. */
    MDBX_CORRUPTED = -30796,
    /* The environment has met an error that it cannot go on after; close and open it. */
    MDBX_PANIC = -30795,
    /* The file is of a version of the format that this library does not know. */
    MDBX_VERSION_MISMATCH = -30794,
    /* The file is not of this library. */
    MDBX_INVALID = -30793,
    /* The file would grow beyond the upper bound of mdbx_env_set_geometry. */
    MDBX_MAP_FULL = -30792,
    /* More tables than MDBX_opt_max_db. */
    MDBX_DBS_FULL = -30791,
    /* More read transactions than MDBX_opt_max_readers. */
    MDBX_READERS_FULL = -30790,
    /* The transaction has changed too many pages. */
    MDBX_TXN_FULL = -30788,
    /* A tree is deeper than a cursor can go: the file is damaged. */
    MDBX_CURSOR_FULL = -30787,
    /* A page has no room where it should have: the file is damaged. */
    MDBX_PAGE_FULL = -30786,
    /* Another process made the file larger than this one can map; close and open it. */
    MDBX_UNABLE_EXTEND_MAPSIZE = -30785,
    /* The table, the file or what others use is not of the kind that this needs. */
    MDBX_INCOMPATIBLE = -30784,
    /* This thread has a read transaction already, or the slot is another's. */
    MDBX_BAD_RSLOT = -30783,
    /* The transaction was reset, has failed, has a living child, or is of the wrong kind. */
    MDBX_BAD_TXN = -30782,
    /* The length of a key or of a value is not allowed here. */
    MDBX_BAD_VALSIZE = -30781,
    /* The table's handle was closed, or is none. */
    MDBX_BAD_DBI = -30780,
    /* Something that should not happen. */
    MDBX_PROBLEM = -30779,
    MDBX_LAST_LMDB_ERRCODE = MDBX_PROBLEM,
    /* Others use it, and the call would have had to wait; or this thread writes already. */
    MDBX_BUSY = -30778,
    MDBX_FIRST_ADDED_ERRCODE = MDBX_BUSY,
    /* The key has many values, and it was not said which. */
    MDBX_EMULTIVAL = -30421,
    /* The handle is none, or was closed. */
    MDBX_EBADSIGN = -30420,
    /* The file was not closed cleanly, and has to be opened to write first. */
    MDBX_WANNA_RECOVERY = -30419,
    /* The key is not the one that the cursor stands on, or is out of order. */
    MDBX_EKEYMISMATCH = -30418,
    /* More bytes than can be. */
    MDBX_TOO_LARGE = -30417,
    /* Another thread than the one that it belongs to. */
    MDBX_THREAD_MISMATCH = -30416,
    /* This thread has another transaction that would wait for this one, or keep it from space. */
    MDBX_TXN_OVERLAPPING = -30415,
    MDBX_LAST_ADDED_ERRCODE = MDBX_TXN_OVERLAPPING,

    /* Codes of libmdbx 0.12 and later, for programs that name them. None of them is given. */
    MDBX_BACKLOG_DEPLETED = -30414,
    MDBX_DUPLICATED_CLK = -30413,
    MDBX_DUPLICATED_LCK = -30413,
    MDBX_DANGLING_DBI = -30412,
    MDBX_OUSTED = -30411,
    MDBX_MVCC_RETARDED = -30410,
    MDBX_LAGGARD_READER = -30409,

    /* Numbers of errno.h, for errors that system calls have, too. */
    MDBX_ENODATA = ENODATA, /* the cursor stands nowhere */
    MDBX_EINVAL = EINVAL,   /* an argument is wrong */
    MDBX_EACCESS = EACCES,  /* it cannot be written here */
    MDBX_ENOMEM = ENOMEM,
    MDBX_EROFS = EROFS,
    MDBX_ENOSYS = ENOSYS, /* not in this library */
    MDBX_EIO = EIO,
    MDBX_EPERM = EPERM, /* not now, or not any more */
    MDBX_EINTR = EINTR,
    MDBX_ENOFILE = ENOENT,
    MDBX_EREMOTE = ENOTBLK, /* a file system of another machine */

    /* Other names that are in use for such numbers. */
    MDBX_NODATA = ENODATA,
    MDBX_EACCES = EACCES,
    MDBX_ENOENT = ENOENT,
    MDBX_ENOSPC = ENOSPC,
    MDBX_EAGAIN = EAGAIN,
    MDBX_EEXIST = EEXIST,
    MDBX_EDEADLK = EDEADLK
};
typedef enum MDBX_error_t MDBX_error_t;

/* An older name. */
#define MDBX_MAP_RESIZED MDBX_UNABLE_EXTEND_MAPSIZE

/* ---- What is told in numbers ---- */

/* The shape of one table, or of all together. */
struct MDBX_stat {
    uint32_t ms_psize;          /* bytes of a page */
    uint32_t ms_depth;          /* pages from root to leaf; 0 if empty */
    uint64_t ms_branch_pages;   /* pages that lead to others */
    uint64_t ms_leaf_pages;     /* pages that hold records */
    uint64_t ms_overflow_pages; /* pages that hold one large value */
    uint64_t ms_entries;        /* records, each value of a key counted */
    uint64_t ms_mod_txnid;      /* the transaction that changed it last; 0 if unknown */
};
typedef struct MDBX_stat MDBX_stat;

/* Figures of an environment. */
struct MDBX_envinfo {
    struct {
        uint64_t lower;   /* bytes that the file keeps */
        uint64_t upper;   /* bytes that it may grow to */
        uint64_t current; /* bytes that it has */
        uint64_t shrink;  /* bytes free at its end from which on it is cut */
        uint64_t grow;    /* bytes that it grows by */
    } mi_geo;
    uint64_t mi_mapsize;                  /* bytes of this process's map */
    uint64_t mi_last_pgno;                /* number of the last page in use */
    uint64_t mi_recent_txnid;             /* number of the last committed transaction */
    uint64_t mi_latter_reader_txnid;      /* of the oldest snapshot that is read */
    uint64_t mi_self_latter_reader_txnid; /* of the oldest that this process reads */
    uint64_t mi_meta0_txnid, mi_meta0_sign; /* the snapshot that each of the */
    uint64_t mi_meta1_txnid, mi_meta1_sign; /* three metas names, and 0 or 1 */
    uint64_t mi_meta2_txnid, mi_meta2_sign; /* (not flushed), or above (flushed) */
    uint32_t mi_maxreaders;               /* slots for read transactions */
    uint32_t mi_numreaders;               /* how many of them have been in use at most */
    uint32_t mi_dxb_pagesize;             /* bytes of a page of the file */
    uint32_t mi_sys_pagesize;             /* bytes of a page of the kernel */
    struct {
        struct {
            uint64_t x, y;
        } current, meta0, meta1, meta2;
    } mi_bootid;                    /* which run of the machine it is, and each meta is of */
    uint64_t mi_unsync_volume;      /* bytes that were committed and not flushed */
    uint64_t mi_autosync_threshold; /* of them, from which on a commit flushes; 0: never */
    uint32_t mi_since_sync_seconds16dot16;         /* since the last flush */
    uint32_t mi_autosync_period_seconds16dot16;    /* after which a commit flushes; 0: never */
    uint32_t mi_since_reader_check_seconds16dot16; /* since dead readers were looked for */
    uint32_t mi_mode;                              /* the flags in force */
    struct {
        uint64_t newly;   /* pages that were added */
        uint64_t cow;     /* pages that were copied for a change */
        uint64_t clone;   /* pages of a parent that were copied for its child */
        uint64_t split;   /* pages that were split */
        uint64_t merge;   /* pages that were merged */
        uint64_t spill;   /* pages that were written before their commit */
        uint64_t unspill; /* of these, that were read again for a change */
        uint64_t wops;    /* calls that wrote */
    } mi_pgop_stat;       /* since the lock file was made */
};
typedef struct MDBX_envinfo MDBX_envinfo;

/* Figures of a transaction. Sizes are bytes. */
struct MDBX_txn_info {
    uint64_t txn_id; /* of what a reader sees; of what a writer will have committed */
    /* Reader: commits since. Writer, if asked for: those since the oldest reader. */
    uint64_t txn_reader_lag;
    uint64_t txn_space_used;       /* up to the last page in use */
    uint64_t txn_space_limit_soft; /* that the file has */
    uint64_t txn_space_limit_hard; /* that it may have */
    /* Reader: what this one alone or with others keeps. Writer: what was replaced so far. */
    uint64_t txn_space_retired;
    /* Reader: until the file has to grow. Writer: until MDBX_TXN_FULL. */
    uint64_t txn_space_leftover;
    /* Reader, if asked for: what no other keeps. Writer: what it buffers. */
    uint64_t txn_space_dirty;
};
typedef struct MDBX_txn_info MDBX_txn_info;

/* What a commit spent its time on: seconds, with 16 bits behind the point. */
struct MDBX_commit_latency {
    uint32_t preparation; /* children, tables' records */
    uint32_t gc;          /* which pages are free */
    uint32_t audit;       /* looking for errors of its own; 0 */
    uint32_t write;       /* writing */
    uint32_t sync;        /* flushing */
    uint32_t ending;      /* giving back what it had */
    uint32_t whole;       /* all of it */
};
typedef struct MDBX_commit_latency MDBX_commit_latency;

/* Three numbers of the program's, kept with each snapshot; `v` is the transaction that set them. */
struct MDBX_canary {
    uint64_t x, y, z, v;
};
typedef struct MDBX_canary MDBX_canary;

/* ---- Functions of the program's that the library calls ---- */

/* Orders two keys, or two values of one key: below 0, 0 or above 0, as memcmp does. */
typedef int(MDBX_cmp_func)(const MDBX_val *a, const MDBX_val *b);

/* How much a logger is told. */
enum MDBX_log_level_t {
    MDBX_LOG_FATAL = 0,   /* what ends the process */
    MDBX_LOG_ERROR = 1,   /* what makes calls fail that should not */
    MDBX_LOG_WARN = 2,    /* what should be looked at */
    MDBX_LOG_NOTICE = 3,  /* what is seldom */
    MDBX_LOG_VERBOSE = 4, /* what is done now and then */
    MDBX_LOG_DEBUG = 5,   /* what is done */
    MDBX_LOG_TRACE = 6,   /* each step of it */
    MDBX_LOG_EXTRA = 7,   /* everything */
    MDBX_LOG_DONTCHANGE = -1
};
typedef enum MDBX_log_level_t MDBX_log_level_t;

/* How the library behaves in this process. */
enum MDBX_debug_flags_t {
    MDBX_DBG_NONE = 0,
    MDBX_DBG_ASSERT = 1, /* look for errors of its own; Huon always does */
    MDBX_DBG_AUDIT = 2,  /* count all pages at each commit; without an effect */
    MDBX_DBG_JITTER = 4, /* wait here and there; without an effect */
    MDBX_DBG_DUMP = 8,   /* leave files in core dumps; without an effect */
    /* Let a file be open twice in this process; Huon always does. */
    MDBX_DBG_LEGACY_MULTIOPEN = 16,
    /* Let a thread have a read and a write transaction at once. */
    MDBX_DBG_LEGACY_OVERLAP = 32,
    /* Leave the version in the file as it is; there is but one, so it has no effect. */
    MDBX_DBG_DONT_UPGRADE = 64,
    MDBX_DBG_DONTCHANGE = -1
};
typedef enum MDBX_debug_flags_t MDBX_debug_flags_t;
HUON_MDBX_FLAGS(MDBX_debug_flags_t)

/* Takes what is logged, as vprintf takes it. */
typedef void MDBX_debug_func(MDBX_log_level_t loglevel, const char *function, int line,
                             const char *fmt, va_list args);
/* To leave the logger as it is. */
#define MDBX_LOGGER_DONTCHANGE ((MDBX_debug_func *)(intptr_t)-1)

/* The same as one text, whose memory the program gave. A later addition (0.13). */
typedef void MDBX_debug_func_nofmt(MDBX_log_level_t loglevel, const char *function, int line,
                                   const char *msg, unsigned length);
#define MDBX_LOGGER_NOFMT_DONTCHANGE ((MDBX_debug_func_nofmt *)(intptr_t)-1)

/* Is told of a broken internal rule of the library. */
typedef void MDBX_assert_func(const MDBX_env *env, const char *msg, const char *function,
                              unsigned line);

/*
 * Is asked to keep the old value of mdbx_replace_ex before it is overwritten: `bytes` at `src`, to
 * go where `target` says. A result other than 0 ends the replacement, and becomes its result.
 */
typedef int (*MDBX_preserve_func)(void *context, MDBX_val *target, const void *src, size_t bytes);

/*
 * Takes one reader: its number in this list from 1 on, its slot, who it is; what it sees (0:
 * nothing now), how many commits that is behind, the bytes of its snapshot, and the bytes that it
 * keeps from being used again. A result other than 0 ends the list, and becomes its result.
 */
typedef int(MDBX_reader_list_func)(void *ctx, int num, int slot, mdbx_pid_t pid, mdbx_tid_t thread,
                                   uint64_t txnid, uint64_t lag, size_t bytes_used,
                                   size_t bytes_retained);

/*
 * Is asked what to do about the reader that keeps a writer from reusing pages, before the file
 * grows: which it is, what it sees, how many commits and bytes it keeps, and how often this was
 * asked. Results: below -1, an error, let the file grow; -1, nothing to be done, likewise; 0, look
 * again; 1, its transaction has been ended; 2 and above, its process has been ended. After a 0, a
 * last call with a `retry` below 0 says that the writer goes on.
 */
typedef int(MDBX_hsr_func)(const MDBX_env *env, const MDBX_txn *txn, mdbx_pid_t pid,
                           mdbx_tid_t tid, uint64_t laggard, unsigned gap, size_t space, int retry);

/* Kinds of pages that mdbx_env_pgwalk visits. */
enum MDBX_page_type_t {
    MDBX_page_broken,
    MDBX_page_meta,
    MDBX_page_large,
    MDBX_page_branch,
    MDBX_page_leaf,
    MDBX_page_dupfixed_leaf,
    MDBX_subpage_leaf,
    MDBX_subpage_dupfixed_leaf,
    MDBX_subpage_broken
};
typedef enum MDBX_page_type_t MDBX_page_type_t;

/* The names of what has no name, for MDBX_pgvisitor_func. */
#define MDBX_PGWALK_MAIN ((const char *)((ptrdiff_t)0))
#define MDBX_PGWALK_GC ((const char *)((ptrdiff_t)-1))
#define MDBX_PGWALK_META ((const char *)((ptrdiff_t)-2))

/*
 * Takes one page, or a run of `number`: where it is, how deep in which table, how long, what it is
 * and what is wrong with it; how many records it has, and the bytes of these, of its head, and
 * unused. A result other than 0 ends the walk, and becomes its result.
 */
typedef int MDBX_pgvisitor_func(const uint64_t pgno, const unsigned number, void *const ctx,
                                const int deep, const char *const dbi, const size_t page_size,
                                const MDBX_page_type_t type, const MDBX_error_t err,
                                const size_t nentries, const size_t payload_bytes,
                                const size_t header_bytes, const size_t unused_bytes);

/*
 * Takes one named table, whose handle is closed when this returns unless it was open before. A
 * result other than 0 ends the list, and becomes its result. A later addition (0.13).
 */
typedef int(MDBX_table_enum_func)(void *ctx, const MDBX_txn *txn, const MDBX_val *name,
                                  MDBX_db_flags_t flags, const MDBX_stat *stat, MDBX_dbi dbi);

/* ---- Library ---- */

/*
 * The meaning of a result. mdbx_liberr2str knows MDBX_ codes alone, and gives NULL for others;
 * mdbx_strerror knows what strerror does besides, and what it gives is valid until the thread's
 * next call; mdbx_strerror_r writes such a text to `buf`. The text of a code lives for ever.
 */
const char *mdbx_strerror(int errnum);
const char *mdbx_strerror_r(int errnum, char *buf, size_t buflen);
const char *mdbx_liberr2str(int errnum);

/*
 * Sets how much is logged, how the library behaves, and the logger, for this process; each of them
 * stays for its _DONTCHANGE. Gives the flags and the level before, as flags | level << 16. Huon
 * tells what goes wrong in results: the one line that it logs is that of mdbx_panic and
 * mdbx_assert_fail, at MDBX_LOG_FATAL. The second gives whole texts, no longer than `size`, made in
 * the program's `buffer`; it is a later addition (0.13), and takes the place of the first's logger.
 */
int mdbx_setup_debug(MDBX_log_level_t level, MDBX_debug_flags_t flags, MDBX_debug_func *logger);
int mdbx_setup_debug_nofmt(MDBX_log_level_t level, MDBX_debug_flags_t flags,
                           MDBX_debug_func_nofmt *logger, char *buffer, size_t size);

/*
 * Writes a value to `buf` so that a person can read it: printable text as it is, all else in
 * hexadecimal, as far as there is room. Gives `buf`, or a text of its own for what is NULL or
 * empty; NULL if `bufsize` is below 4.
 */
const char *mdbx_dump_val(const MDBX_val *key, char *const buf, const size_t bufsize);

/* Logs `fmt` as it is, without what follows it; then ends the process. */
void mdbx_panic(const char *fmt, ...);

/* Ends the process for a broken rule. The function of mdbx_env_set_assert is called before. */
void mdbx_assert_fail(const MDBX_env *env, const char *msg, const char *func, unsigned line);

/*
 * How long keys, values and files may be, for a page size and flags of a table; for 0 and -1 as
 * page size, that of mdbx_default_pagesize. -1: there is no such page size.
 *
 * mdbx_limits_txnsize_max is what one transaction may change. The _min of keys and values, and how
 * long a key with its value or a value of a plain table may be to lie in a page with others, are
 * later additions (0.13, 0.12).
 */
intptr_t mdbx_limits_pgsize_min(void);
intptr_t mdbx_limits_pgsize_max(void);
intptr_t mdbx_limits_dbsize_min(intptr_t pagesize);
intptr_t mdbx_limits_dbsize_max(intptr_t pagesize);
intptr_t mdbx_limits_keysize_max(intptr_t pagesize, MDBX_db_flags_t flags);
intptr_t mdbx_limits_keysize_min(MDBX_db_flags_t flags);
intptr_t mdbx_limits_valsize_max(intptr_t pagesize, MDBX_db_flags_t flags);
intptr_t mdbx_limits_valsize_min(MDBX_db_flags_t flags);
intptr_t mdbx_limits_pairsize4page_max(intptr_t pagesize, MDBX_db_flags_t flags);
intptr_t mdbx_limits_valsize4page_max(intptr_t pagesize, MDBX_db_flags_t flags);
intptr_t mdbx_limits_txnsize_max(intptr_t pagesize);

/* The bytes of a page in a new file, where nothing else was asked for: 4096. */
size_t mdbx_default_pagesize(void);

/* The bytes of a page of memory, and how many there are and are free; each may be NULL. */
int mdbx_get_sysraminfo(intptr_t *page_size, intptr_t *total_pages, intptr_t *avail_pages);

/*
 * Whether it is sensible to let the kernel read ahead in a file of `volume` bytes: yes
 * (MDBX_RESULT_TRUE) if it and `redundancy` bytes fit into memory, else MDBX_RESULT_FALSE.
 */
int mdbx_is_readahead_reasonable(size_t volume, intptr_t redundancy);

/* The functions by which keys, or the values of a key, are ordered in tables of these flags. */
MDBX_cmp_func *mdbx_get_keycmp(MDBX_db_flags_t flags);
MDBX_cmp_func *mdbx_get_datacmp(MDBX_db_flags_t flags);

/*
 * Numbers as keys for MDBX_INTEGERKEY that are in the order of the numbers, and back. Integers of
 * JSON become the key of the double of that value, so that both can be mixed; beyond 2^53 they lose
 * their last bits. -0.0 comes before 0.0, and what is not a number has a place of its own at an
 * end. A key of another length gives 0.
 */
uint64_t mdbx_key_from_jsonInteger(const int64_t json_integer);
uint64_t mdbx_key_from_double(const double ieee754_64bit);
uint64_t mdbx_key_from_ptrdouble(const double *const ieee754_64bit);
uint32_t mdbx_key_from_float(const float ieee754_32bit);
uint32_t mdbx_key_from_ptrfloat(const float *const ieee754_32bit);
uint64_t mdbx_key_from_int64(const int64_t i64);
uint32_t mdbx_key_from_int32(const int32_t i32);
int64_t mdbx_jsonInteger_from_key(const MDBX_val key);
double mdbx_double_from_key(const MDBX_val key);
float mdbx_float_from_key(const MDBX_val key);
int32_t mdbx_int32_from_key(const MDBX_val key);
int64_t mdbx_int64_from_key(const MDBX_val key);

/* ---- Environment ---- */

/*
 * Makes a handle, with no named tables and as many readers as fit. It is to be given to
 * mdbx_env_close, also after mdbx_env_open has failed.
 */
int mdbx_env_create(MDBX_env **penv);

/* Options of mdbx_env_set_option. */
enum MDBX_option_t {
    MDBX_opt_max_db,      /* named tables that may be open */
    MDBX_opt_max_readers, /* read transactions that there may be, 1 to 32767 */
    MDBX_opt_sync_bytes,  /* unflushed bytes from which on a commit flushes; 0: never */
    MDBX_opt_sync_period, /* time after which a commit flushes; 0: never */
    /* The next nine are for details of libmdbx that Huon has not: they are kept, given back, and
     * without an effect, but for txn_dp_limit. */
    MDBX_opt_rp_augment_limit,
    MDBX_opt_loose_limit,
    MDBX_opt_dp_reserve_limit,
    MDBX_opt_txn_dp_limit, /* changed pages that are kept in memory before they are written */
    MDBX_opt_txn_dp_initial,
    MDBX_opt_spill_max_denominator,
    MDBX_opt_spill_min_denominator,
    MDBX_opt_spill_parent4child_denominator,
    MDBX_opt_merge_threshold_16dot16_percent
};
typedef enum MDBX_option_t MDBX_option_t;

/*
 * Sets an option, and tells what it is; UINT64_MAX sets it to what it is by itself.
 *
 * MDBX_EPERM: max_db and max_readers once the environment is open, sync_bytes and sync_period
 * before. MDBX_EACCESS: these two with MDBX_RDONLY. MDBX_EINVAL: no such option, or such value.
 */
int mdbx_env_set_option(MDBX_env *env, const MDBX_option_t option, uint64_t value);
int mdbx_env_get_option(const MDBX_env *env, const MDBX_option_t option, uint64_t *pvalue);

/* The same for options that had functions of their own. The two that get sync_ are of 0.11.3. */
int mdbx_env_set_maxdbs(MDBX_env *env, MDBX_dbi dbs);
int mdbx_env_get_maxdbs(const MDBX_env *env, MDBX_dbi *dbs);
int mdbx_env_set_maxreaders(MDBX_env *env, unsigned readers);
int mdbx_env_get_maxreaders(const MDBX_env *env, unsigned *readers);
int mdbx_env_set_syncbytes(MDBX_env *env, size_t threshold);
int mdbx_env_get_syncbytes(const MDBX_env *env, size_t *threshold);
int mdbx_env_set_syncperiod(MDBX_env *env, unsigned seconds_16dot16);
int mdbx_env_get_syncperiod(const MDBX_env *env, unsigned *period_seconds_16dot16);

/*
 * Opens the environment at `path`, a directory (data in `mdbx.dat`, locks in `mdbx.lck`) that is
 * made if need be, or with MDBX_NOSUBDIR a file. `mode` is for what it makes; 0: it makes nothing.
 *
 * MDBX_ENOFILE: it is not there, and `mode` is 0 or MDBX_RDONLY is set. MDBX_EINVAL: unknown flags.
 * MDBX_EPERM: the handle is open already. MDBX_INVALID, MDBX_VERSION_MISMATCH: a file of something
 * else, or of another version. MDBX_BUSY: in use by a process that excludes others, or to be used
 * so. MDBX_INCOMPATIBLE: others use it with another durability, and MDBX_ACCEDE is not set.
 */
int mdbx_env_open(MDBX_env *env, const char *pathname, MDBX_env_flags_t flags, mdbx_mode_t mode);

/*
 * Closes the environment and frees the handle, and flushes unless `dont_sync`. MDBX_BUSY: another
 * thread has a write transaction, and the handle stays. In a child of fork it closes what is the
 * child's. Cursors stay their owner's, to be closed.
 */
int mdbx_env_close_ex(MDBX_env *env, bool dont_sync);
int mdbx_env_close(MDBX_env *env);

/* How mdbx_env_delete goes about processes that have the environment open. */
enum MDBX_env_delete_mode_t {
    MDBX_ENV_JUST_DELETE = 0,    /* do not look */
    MDBX_ENV_ENSURE_UNUSED = 1,  /* MDBX_BUSY */
    MDBX_ENV_WAIT_FOR_UNUSED = 2 /* wait */
};
typedef enum MDBX_env_delete_mode_t MDBX_env_delete_mode_t;

/* Removes the files of an environment; MDBX_RESULT_TRUE if there were none. */
int mdbx_env_delete(const char *pathname, MDBX_env_delete_mode_t mode);

/*
 * Copies what is committed now, while others read and write: to a file that is not there (EEXIST
 * if it is), or to `fd`, which may be a pipe. As long as it takes, this counts as a read
 * transaction. The two of a transaction copy what it sees, which has to be a reader (MDBX_BAD_TXN),
 * and are later additions (0.13).
 */
int mdbx_env_copy(MDBX_env *env, const char *dest, MDBX_copy_flags_t flags);
int mdbx_env_copy2fd(MDBX_env *env, mdbx_filehandle_t fd, MDBX_copy_flags_t flags);
int mdbx_txn_copy2pathname(MDBX_txn *txn, const char *dest, MDBX_copy_flags_t flags);
int mdbx_txn_copy2fd(MDBX_txn *txn, mdbx_filehandle_t fd, MDBX_copy_flags_t flags);

/*
 * All tables together, as `txn` sees them, or as last committed. `bytes` is the size of the struct:
 * that of here, or without its last field. The second is for no transaction.
 */
int mdbx_env_stat_ex(const MDBX_env *env, const MDBX_txn *txn, MDBX_stat *stat, size_t bytes);
int mdbx_env_stat(const MDBX_env *env, MDBX_stat *stat, size_t bytes);

/*
 * The figures of the environment, as `txn` sees it, or now. `bytes` is the size of the struct:
 * that of here, or without mi_pgop_stat, or without mi_bootid and what follows. Before the
 * environment is open, it tells what mdbx_env_set_geometry was given. The second is for no
 * transaction; the third, a later addition (0.13), for a file that is not opened.
 */
int mdbx_env_info_ex(const MDBX_env *env, const MDBX_txn *txn, MDBX_envinfo *info, size_t bytes);
int mdbx_env_info(const MDBX_env *env, MDBX_envinfo *info, size_t bytes);
int mdbx_preopen_snapinfo(const char *pathname, MDBX_envinfo *info, size_t bytes);

/*
 * Flushes what is committed: all of it with `force`, else if one of the limits sync_bytes and
 * sync_period is passed. MDBX_RESULT_TRUE: there was nothing to flush. No writer is waited for, so
 * that `nonblock` is without an effect. MDBX_EACCESS: opened with MDBX_RDONLY. The second forces,
 * the third does not.
 */
int mdbx_env_sync_ex(MDBX_env *env, bool force, bool nonblock);
int mdbx_env_sync(MDBX_env *env);
int mdbx_env_sync_poll(MDBX_env *env);

/*
 * Sets (`onoff`) or clears flags: before the environment is open any of them, afterwards
 * MDBX_SAFE_NOSYNC, MDBX_UTTERLY_NOSYNC as a whole, MDBX_NOMETASYNC, MDBX_NOMEMINIT,
 * MDBX_COALESCE, MDBX_PAGEPERTURB and MDBX_ACCEDE; it waits for a writer then. MDBX_EPERM: another
 * one, or an unknown one. MDBX_EACCESS: opened with MDBX_RDONLY.
 */
int mdbx_env_set_flags(MDBX_env *env, MDBX_env_flags_t flags, bool onoff);

/* The flags in force. */
int mdbx_env_get_flags(const MDBX_env *env, unsigned *flags);

/*
 * The path that was given to mdbx_env_open; it lives as long as the environment is open.
 * MDBX_EPERM: it is not open.
 */
int mdbx_env_get_path(const MDBX_env *env, const char **dest);

/* The descriptor of the data file, which stays the library's. MDBX_EPERM: it is not open. */
int mdbx_env_get_fd(const MDBX_env *env, mdbx_filehandle_t *fd);

/*
 * Sets how large the file may become, how it grows and shrinks, and, before it is made, its page
 * size. -1 leaves each as it is, or as it is by itself; 0 is the least, INTPTR_MAX the most. Before
 * the environment is open this is for mdbx_env_open, in a write transaction of this thread a part
 * of it, else a commit of its own.
 *
 * MDBX_EINVAL: the bounds contradict each other, or another page size while it is open.
 * MDBX_EACCESS: opened with MDBX_RDONLY. MDBX_MAP_FULL: an upper bound below what is in use.
 * MDBX_TOO_LARGE: more than pages of this size can make.
 */
int mdbx_env_set_geometry(MDBX_env *env, intptr_t size_lower, intptr_t size_now,
                          intptr_t size_upper, intptr_t growth_step, intptr_t shrink_threshold,
                          intptr_t pagesize);

/* A file of this size, which neither grows nor shrinks. */
int mdbx_env_set_mapsize(MDBX_env *env, size_t size);

/*
 * The limits of keys and values for tables of these flags; -1 if there is no answer. The third is
 * the first for MDBX_DUPSORT. The last two are later additions (0.12): see
 * mdbx_limits_pairsize4page_max.
 */
int mdbx_env_get_maxkeysize_ex(const MDBX_env *env, MDBX_db_flags_t flags);
int mdbx_env_get_maxvalsize_ex(const MDBX_env *env, MDBX_db_flags_t flags);
int mdbx_env_get_maxkeysize(const MDBX_env *env);
int mdbx_env_get_pairsize4page_max(const MDBX_env *env, MDBX_db_flags_t flags);
int mdbx_env_get_valsize4page_max(const MDBX_env *env, MDBX_db_flags_t flags);

/* Keeps a pointer of the caller's with the environment, and gives it back. */
int mdbx_env_set_userctx(MDBX_env *env, void *ctx);
void *mdbx_env_get_userctx(const MDBX_env *env);

/* Has `func` called by mdbx_assert_fail; NULL: nothing. */
int mdbx_env_set_assert(MDBX_env *env, MDBX_assert_func *func);

/* Has `func` asked about readers that keep space; NULL: the file grows. */
int mdbx_env_set_hsr(MDBX_env *env, MDBX_hsr_func *hsr_callback);
MDBX_hsr_func *mdbx_env_get_hsr(const MDBX_env *env);

/* Hands the slots of living readers to `func`; MDBX_RESULT_TRUE if there are none. */
int mdbx_reader_list(const MDBX_env *env, MDBX_reader_list_func *func, void *ctx);

/*
 * Frees what readers had whose process is gone; `dead`, which may be NULL: how many.
 */
int mdbx_reader_check(MDBX_env *env, int *dead);

/*
 * Takes and gives back a slot for this thread's read transactions ahead of time; MDBX_RESULT_TRUE
 * if it has one, or has none. MDBX_EINVAL with MDBX_NOTLS; MDBX_BUSY to give back one in use.
 */
int mdbx_thread_register(const MDBX_env *env);
int mdbx_thread_unregister(const MDBX_env *env);

/*
 * Opens an environment at the snapshot of one of its three metas, 0 to 2, to see whether it is
 * any good, and makes it the newest. MDBX_EINVAL: no such meta. The second needs `writeable` and
 * that no other process uses the file (MDBX_EPERM).
 */
int mdbx_env_open_for_recovery(MDBX_env *env, const char *pathname, unsigned target_meta,
                               bool writeable);
int mdbx_env_turn_for_recovery(MDBX_env *env, unsigned target_meta);

/* Hands each page that the transaction sees to `visitor`. */
int mdbx_env_pgwalk(MDBX_txn *txn, MDBX_pgvisitor_func *visitor, void *ctx,
                    bool dont_check_keys_ordering);

/* ---- Transactions ---- */

/*
 * Begins a transaction: to write, which waits for the writer before (with MDBX_TXN_TRY it is
 * MDBX_BUSY), or to read, which never waits. With a `parent` that writes, a nested one, which sees
 * what the parent did; the parent is out of use until it ends. `context` is for
 * mdbx_txn_get_userctx.
 *
 * MDBX_EACCESS: to write with MDBX_RDONLY. MDBX_BUSY, MDBX_TXN_OVERLAPPING, MDBX_BAD_RSLOT: this
 * thread has another transaction, both write, one does, none does. MDBX_BAD_TXN: the parent cannot
 * have a child. MDBX_READERS_FULL: no slot. MDBX_EINVAL: unknown flags, or a child that reads.
 * MDBX_UNABLE_EXTEND_MAPSIZE, MDBX_PANIC: see there.
 */
int mdbx_txn_begin_ex(MDBX_env *env, MDBX_txn *parent, MDBX_txn_flags_t flags, MDBX_txn **txn,
                      void *context);
int mdbx_txn_begin(MDBX_env *env, MDBX_txn *parent, MDBX_txn_flags_t flags, MDBX_txn **txn);

/*
 * Makes the changes those of the environment, or of the parent, and frees the transaction, also if
 * that fails, but not for MDBX_THREAD_MISMATCH. Living children are committed first.
 * MDBX_RESULT_TRUE: it had failed, or was reset, and was aborted. `latency`, which may be NULL:
 * what the time went to.
 */
int mdbx_txn_commit_ex(MDBX_txn *txn, MDBX_commit_latency *latency);
int mdbx_txn_commit(MDBX_txn *txn);

/* Drops the changes, those of living children first, and frees the transaction. */
int mdbx_txn_abort(MDBX_txn *txn);

/* Has every further call but an abort fail, and the commit abort. */
int mdbx_txn_break(MDBX_txn *txn);

/*
 * Ends reading and keeps the handle and its slot, and begins to read anew what is newest then. Both
 * are for read transactions alone (MDBX_EINVAL); to do either twice changes nothing.
 */
int mdbx_txn_reset(MDBX_txn *txn);
int mdbx_txn_renew(MDBX_txn *txn);

/*
 * Lets a writer that needs space end the snapshot of a reader that is not at work, and comes back
 * to work. With `autounpark` any use of the transaction comes back. MDBX_BAD_TXN: the snapshot is
 * gone, but with `restart_if_ousted` the newest is read then, and it is MDBX_RESULT_TRUE.
 * Values read before must not be looked at while it is parked. Later additions (0.13).
 */
int mdbx_txn_park(MDBX_txn *txn, bool autounpark);
int mdbx_txn_unpark(MDBX_txn *txn, bool restart_if_ousted);

/*
 * The figures of the transaction. `scan_rlt` asks for those that take a look at all readers.
 */
int mdbx_txn_info(const MDBX_txn *txn, MDBX_txn_info *info, bool scan_rlt);

/* The environment of a transaction; NULL if it is none. */
MDBX_env *mdbx_txn_env(const MDBX_txn *txn);

/* Flags and state of a transaction; MDBX_TXN_INVALID if it is none. */
int mdbx_txn_flags(const MDBX_txn *txn);

/* The number of what a reader sees, or of what a writer will have committed; 0 if it is none. */
uint64_t mdbx_txn_id(const MDBX_txn *txn);

/*
 * How many commits a reader is behind, and how full the file is, in percent; below 0: a code with
 * its sign turned. 0 for a writer. Older than mdbx_txn_info, which tells more.
 */
int mdbx_txn_straggler(const MDBX_txn *txn, int *percent);

/* Keeps a pointer of the caller's with the transaction, and gives it back. */
int mdbx_txn_set_userctx(MDBX_txn *txn, void *ctx);
void *mdbx_txn_get_userctx(const MDBX_txn *txn);

/*
 * Closes all cursors of a transaction, or with `unbind` only takes them out of it; `count`, which
 * may be NULL: how many. Later additions (0.13).
 */
int mdbx_txn_release_all_cursors_ex(const MDBX_txn *txn, bool unbind, size_t *count);
int mdbx_txn_release_all_cursors(const MDBX_txn *txn, bool unbind);

/*
 * Sets the three numbers of the program's, and `v` to this transaction's, if one of them differs
 * from what is there; NULL sets `v` alone. And tells them.
 */
int mdbx_canary_put(MDBX_txn *txn, const MDBX_canary *canary);
int mdbx_canary_get(const MDBX_txn *txn, MDBX_canary *canary);

/* ---- Tables ---- */

/*
 * Opens a table: the main one for NULL, else that of this name, whose record is a key of the main
 * table. The same name gives the same handle. Handles of tables that are there already are at once
 * of the whole environment; that of one made here is, if the transaction commits.
 *
 * The flags are those of the table, or 0 or MDBX_DB_ACCEDE alone for whatever it has. With
 * MDBX_CREATE an empty table takes on other flags. The comparators of the _ex ones hold while the
 * environment is open; every program that uses the table gives the same, or NULL for those of the
 * flags. The two that take the name as bytes are later additions (0.12).
 *
 * MDBX_NOTFOUND: no such table, and no MDBX_CREATE. MDBX_INCOMPATIBLE: the flags are others, or the
 * name is a plain key, or the main table is of a kind that cannot have named ones. MDBX_DBS_FULL:
 * see MDBX_opt_max_db. MDBX_EINVAL: unknown flags, a name that is too long, or another comparator
 * than was given before. MDBX_EACCESS: to make one while reading.
 */
int mdbx_dbi_open(MDBX_txn *txn, const char *name, MDBX_db_flags_t flags, MDBX_dbi *dbi);
int mdbx_dbi_open_ex(MDBX_txn *txn, const char *name, MDBX_db_flags_t flags, MDBX_dbi *dbi,
                     MDBX_cmp_func *keycmp, MDBX_cmp_func *datacmp);
int mdbx_dbi_open2(MDBX_txn *txn, const MDBX_val *name, MDBX_db_flags_t flags, MDBX_dbi *dbi);
int mdbx_dbi_open_ex2(MDBX_txn *txn, const MDBX_val *name, MDBX_db_flags_t flags, MDBX_dbi *dbi,
                      MDBX_cmp_func *keycmp, MDBX_cmp_func *datacmp);

/* As the comparators of mdbx_dbi_open_ex, for programs of old. Before the table's first use. */
int mdbx_set_compare(MDBX_txn *txn, MDBX_dbi dbi, MDBX_cmp_func *cmp);
int mdbx_set_dupsort(MDBX_txn *txn, MDBX_dbi dbi, MDBX_cmp_func *cmp);

/* Closes a named table's handle: no thread may use it any more, and its number is used again. */
int mdbx_dbi_close(MDBX_env *env, MDBX_dbi dbi);

/* The shape of a table as the transaction sees it; `bytes` as for mdbx_env_stat_ex. */
int mdbx_dbi_stat(MDBX_txn *txn, MDBX_dbi dbi, MDBX_stat *stat, size_t bytes);

/*
 * Of which kinds the values of keys are in a table with MDBX_DUPSORT: bit 0, single ones; bit 1, a
 * few within a page; bit n above, trees of n pages from root to leaf. MDBX_RESULT_TRUE: the table
 * has no such flag. Reads every leaf of the table.
 */
int mdbx_dbi_dupsort_depthmask(MDBX_txn *txn, MDBX_dbi dbi, uint32_t *mask);

/* The flags of a table, and what it is to the transaction (MDBX_dbi_state_t). */
int mdbx_dbi_flags_ex(MDBX_txn *txn, MDBX_dbi dbi, unsigned *flags, unsigned *state);
int mdbx_dbi_flags(MDBX_txn *txn, MDBX_dbi dbi, unsigned *flags);

/*
 * Empties a table; with `del` it removes it too and closes the handle, for good (the main table is
 * only emptied). MDBX_EACCESS: reading.
 */
int mdbx_drop(MDBX_txn *txn, MDBX_dbi dbi, bool del);

/*
 * Gives a table another name. MDBX_KEYEXIST: it is taken. Later additions (0.13).
 */
int mdbx_dbi_rename(MDBX_txn *txn, MDBX_dbi dbi, const char *name);
int mdbx_dbi_rename2(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *name);

/* Hands each named table to `func`. A later addition (0.13). */
int mdbx_enumerate_tables(const MDBX_txn *txn, MDBX_table_enum_func *func, void *ctx);

/*
 * Tells a number that is kept with the table, and adds `increment` to it; it tells the one before.
 * MDBX_RESULT_TRUE: it would go beyond 2^64 - 1, and stays. MDBX_EACCESS: to add while reading.
 */
int mdbx_dbi_sequence(MDBX_txn *txn, MDBX_dbi dbi, uint64_t *result, uint64_t increment);

/* Orders two keys, or two values, as the table does; the order is the result. */
int mdbx_cmp(const MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *a, const MDBX_val *b);
int mdbx_dcmp(const MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *a, const MDBX_val *b);

/* ---- Records ---- */

/*
 * The value of a key, the first one with MDBX_DUPSORT. The second tells also how many the key has
 * (`values_count` may be NULL), and `key` gets the one in the map. MDBX_NOTFOUND; MDBX_BAD_VALSIZE:
 * no key can be so long.
 */
int mdbx_get(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *key, MDBX_val *data);
int mdbx_get_ex(MDBX_txn *txn, MDBX_dbi dbi, MDBX_val *key, MDBX_val *data, size_t *values_count);

/*
 * The first record that is not below this key, and with MDBX_DUPSORT this value: MDBX_SUCCESS if it
 * is equal, MDBX_RESULT_TRUE if it is above. `key` and `data` get it.
 */
int mdbx_get_equal_or_great(MDBX_txn *txn, MDBX_dbi dbi, MDBX_val *key, MDBX_val *data);

/*
 * Puts a record: over the one with this key, or with MDBX_DUPSORT beside those of this key, where
 * an equal value changes nothing. MDBX_CURRENT: over the one that is there (MDBX_NOTFOUND if none
 * is, MDBX_EMULTIVAL if there are many). MDBX_ALLDUPS: over all of them.
 *
 * MDBX_KEYEXIST, MDBX_EKEYMISMATCH: see the flags. MDBX_BAD_VALSIZE: a length that is not allowed.
 * MDBX_INCOMPATIBLE: the key is a table's name, or the flags are not for this kind of table.
 * MDBX_MAP_FULL, MDBX_TXN_FULL: no room. MDBX_EACCESS: reading. MDBX_EINVAL: other flags.
 */
int mdbx_put(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *key, MDBX_val *data,
             MDBX_put_flags_t flags);

/*
 * Puts a record and gives the value that was there, in one step: `old_data` says where it is to be
 * copied to and how much room there is. `new_data` of NULL removes the record.
 *
 * The flags are MDBX_UPSERT, or MDBX_CURRENT (it has to be there), or MDBX_NOOVERWRITE (it must
 * not, and `old_data` gets what is), and MDBX_RESERVE, MDBX_ALLDUPS, MDBX_APPEND and
 * MDBX_APPENDDUP. With MDBX_CURRENT and MDBX_NOOVERWRITE, `old_data` says which of many values is
 * meant. MDBX_RESULT_TRUE: there is too little room; old_data->iov_len is what it takes, and
 * nothing was changed. MDBX_EMULTIVAL: MDBX_CURRENT, and the key has many values; MDBX_UPSERT takes
 * the first of them. The second has a function keep the old value.
 */
int mdbx_replace(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *key, MDBX_val *new_data,
                 MDBX_val *old_data, MDBX_put_flags_t flags);
int mdbx_replace_ex(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *key, MDBX_val *new_data,
                    MDBX_val *old_data, MDBX_put_flags_t flags, MDBX_preserve_func preserver,
                    void *preserver_context);

/*
 * Removes a key with all its values, or with `data` the record of that value alone.
 * MDBX_NOTFOUND; MDBX_EACCESS: reading; MDBX_INCOMPATIBLE: the key is a table's name.
 */
int mdbx_del(MDBX_txn *txn, MDBX_dbi dbi, const MDBX_val *key, const MDBX_val *data);

/*
 * Whether what `ptr` points to, a value that was read, may be gone after the transaction's next
 * change: MDBX_RESULT_TRUE if so, MDBX_RESULT_FALSE if it stays until the transaction ends.
 * MDBX_EINVAL: a reader has no such value.
 */
int mdbx_is_dirty(const MDBX_txn *txn, const void *ptr);

/* ---- Cursors ---- */

/*
 * Makes a cursor: of nothing, for mdbx_cursor_bind; or of a table in a transaction, where it stands
 * nowhere. NULL, of the first: no memory. The pointer that the first is given is for
 * mdbx_cursor_get_userctx.
 */
MDBX_cursor *mdbx_cursor_create(void *context);
int mdbx_cursor_open(MDBX_txn *txn, MDBX_dbi dbi, MDBX_cursor **cursor);

/* Frees a cursor; NULL is ignored. Every cursor is to be closed, in its transaction or later. */
void mdbx_cursor_close(MDBX_cursor *cursor);

/*
 * Uses a cursor in a transaction and table, where it stands nowhere; the second stays with its
 * table. Whatever it was bound to before is left.
 */
int mdbx_cursor_bind(MDBX_txn *txn, MDBX_cursor *cursor, MDBX_dbi dbi);
int mdbx_cursor_renew(MDBX_txn *txn, MDBX_cursor *cursor);

/*
 * Takes a cursor out of its transaction; has it stand nowhere. Later additions (0.13).
 */
int mdbx_cursor_unbind(MDBX_cursor *cursor);
int mdbx_cursor_reset(MDBX_cursor *cursor);

/* Has `dest` stand where `src` stands, in the same table and transaction. */
int mdbx_cursor_copy(const MDBX_cursor *src, MDBX_cursor *dest);

/* The transaction and the table of a cursor; NULL and UINT_MAX if there is none. */
MDBX_txn *mdbx_cursor_txn(const MDBX_cursor *cursor);
MDBX_dbi mdbx_cursor_dbi(const MDBX_cursor *cursor);

/* Keeps a pointer of the caller's with the cursor, and gives it back. */
int mdbx_cursor_set_userctx(MDBX_cursor *cursor, void *ctx);
void *mdbx_cursor_get_userctx(const MDBX_cursor *cursor);

/*
 * Goes where `op` says, and gives key and value there. `key` and `data` are looked at first where
 * `op` needs them; see MDBX_cursor_op. After a mdbx_cursor_del the cursor stands on what came
 * after, and the first MDBX_NEXT gives that. MDBX_EINVAL: no such `op`.
 */
int mdbx_cursor_get(MDBX_cursor *cursor, MDBX_val *key, MDBX_val *data, MDBX_cursor_op op);

/*
 * Gives up to `limit` / 2 records, as key, value, key, value, from where MDBX_FIRST, MDBX_NEXT or
 * MDBX_GET_CURRENT leads, as many as lie together in a page. `count`: how many of `pairs` were
 * filled. MDBX_RESULT_TRUE: there was more of the page, and the cursor stands on the first record
 * that was left, so that MDBX_GET_CURRENT goes on; after MDBX_SUCCESS MDBX_NEXT does.
 * MDBX_INCOMPATIBLE: a table with MDBX_DUPSORT. MDBX_EINVAL: another `op`, or a limit below 4. Of
 * 0.11.3.
 */
int mdbx_cursor_get_batch(MDBX_cursor *cursor, size_t *count, MDBX_val *pairs, size_t limit,
                          MDBX_cursor_op op);

/*
 * Puts a record as mdbx_put does, and stands on it after. With MDBX_CURRENT it replaces the one
 * that the cursor stands on, whose key the caller repeats (else MDBX_EKEYMISMATCH).
 *
 * With MDBX_MULTIPLE `data` is an array of two: the length of one value and where the first is; and
 * in iov_len of the second how many there are, one behind the other. It gets how many were put.
 */
int mdbx_cursor_put(MDBX_cursor *cursor, const MDBX_val *key, MDBX_val *data,
                    MDBX_put_flags_t flags);

/*
 * Removes the record that the cursor stands on, with MDBX_ALLDUPS or MDBX_NODUPDATA all of its
 * key's values. MDBX_ENODATA: it stands nowhere. MDBX_EACCESS: reading.
 */
int mdbx_cursor_del(MDBX_cursor *cursor, MDBX_put_flags_t flags);

/*
 * How many values the key has that the cursor stands on; 1 without MDBX_DUPSORT. MDBX_EINVAL: it
 * stands nowhere. MDBX_NOTFOUND, and 0: it is behind the end.
 */
int mdbx_cursor_count(const MDBX_cursor *cursor, size_t *pcount);

/*
 * Whether the cursor is at the end (also if it stands nowhere), on the first key, on the last, on
 * the first or last of its key's values: MDBX_RESULT_TRUE or MDBX_RESULT_FALSE. The last two are
 * later additions (0.13).
 */
int mdbx_cursor_eof(const MDBX_cursor *cursor);
int mdbx_cursor_on_first(const MDBX_cursor *cursor);
int mdbx_cursor_on_last(const MDBX_cursor *cursor);
int mdbx_cursor_on_first_dup(const MDBX_cursor *cursor);
int mdbx_cursor_on_last_dup(const MDBX_cursor *cursor);

/* ---- Estimates: how many records lie between two places, without counting them ---- */

/* Stands for the other end of a range, to mean that record alone. */
#define MDBX_EPSILON ((MDBX_val *)((ptrdiff_t)-1))

/*
 * From one cursor to another of the same table and transaction; from a cursor to where a step would
 * lead, without going there; and from one record to another, a key of NULL standing for the first
 * or behind the last. Negative if the second is before the first. Costs a descent for each.
 * MDBX_ENODATA: a cursor stands nowhere.
 */
int mdbx_estimate_distance(const MDBX_cursor *first, const MDBX_cursor *last,
                           ptrdiff_t *distance_items);
int mdbx_estimate_move(const MDBX_cursor *cursor, MDBX_val *key, MDBX_val *data,
                       MDBX_cursor_op move_op, ptrdiff_t *distance_items);
int mdbx_estimate_range(MDBX_txn *txn, MDBX_dbi dbi, MDBX_val *begin_key, MDBX_val *begin_data,
                        MDBX_val *end_key, MDBX_val *end_data, ptrdiff_t *distance_items);

/*
 * Names of 2017: of mdbx_get_equal_or_great, mdbx_dump_val, and mdbx_limits_keysize_max for tables
 * with one value for a key (-1 if no page has that size).
 */
int mdbx_get_nearest(MDBX_txn *txn, MDBX_dbi dbi, MDBX_val *key, MDBX_val *data);
const char *mdbx_dkey(const MDBX_val *key, char *const buf, const size_t bufsize);
int mdbx_get_maxkeysize(size_t pagesize);

#ifdef __cplusplus
}
#endif

#endif
