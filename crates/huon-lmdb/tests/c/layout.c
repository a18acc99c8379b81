/*
 * Every number, layout and prototype of the interface, held to at compile time. This file is built
 * as C99 and as C++; where it compiles, it has passed.
 */
#include <lmdb.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ASSERT_2(what, line) typedef char holds_##line[(what) ? 1 : -1]
#define ASSERT_1(what, line) ASSERT_2(what, line)
#define HOLDS(what) ASSERT_1(what, __LINE__)
#define AT(type, field, offset) HOLDS(offsetof(type, field) == (offset))

/* Layouts on machines whose pointers have 64 bits. */
HOLDS(sizeof(void *) != 8 || sizeof(MDB_val) == 16);
AT(MDB_val, mv_size, 0);
AT(MDB_val, mv_data, sizeof(size_t));
HOLDS(sizeof(MDB_dbi) == sizeof(unsigned int) && (MDB_dbi)-1 > 0);
HOLDS(sizeof(void *) != 8 || sizeof(MDB_stat) == 40);
AT(MDB_stat, ms_psize, 0);
AT(MDB_stat, ms_depth, 4);
AT(MDB_stat, ms_branch_pages, 8);
AT(MDB_stat, ms_leaf_pages, 8 + sizeof(size_t));
AT(MDB_stat, ms_overflow_pages, 8 + 2 * sizeof(size_t));
AT(MDB_stat, ms_entries, 8 + 3 * sizeof(size_t));
HOLDS(sizeof(void *) != 8 || sizeof(MDB_envinfo) == 40);
AT(MDB_envinfo, me_mapaddr, 0);
AT(MDB_envinfo, me_mapsize, sizeof(size_t));
AT(MDB_envinfo, me_last_pgno, 2 * sizeof(size_t));
AT(MDB_envinfo, me_last_txnid, 3 * sizeof(size_t));
AT(MDB_envinfo, me_maxreaders, 4 * sizeof(size_t));
AT(MDB_envinfo, me_numreaders, 4 * sizeof(size_t) + 4);
HOLDS(sizeof(mdb_mode_t) == sizeof(mode_t) && sizeof(mdb_filehandle_t) == sizeof(int));

HOLDS(MDB_FIXEDMAP == 0x01 && MDB_NOSUBDIR == 0x4000 && MDB_NOSYNC == 0x10000);
HOLDS(MDB_RDONLY == 0x20000 && MDB_NOMETASYNC == 0x40000 && MDB_WRITEMAP == 0x80000);
HOLDS(MDB_MAPASYNC == 0x100000 && MDB_NOTLS == 0x200000 && MDB_NOLOCK == 0x400000);
HOLDS(MDB_NORDAHEAD == 0x800000 && MDB_NOMEMINIT == 0x1000000);

HOLDS(MDB_REVERSEKEY == 0x02 && MDB_DUPSORT == 0x04 && MDB_INTEGERKEY == 0x08);
HOLDS(MDB_DUPFIXED == 0x10 && MDB_INTEGERDUP == 0x20 && MDB_REVERSEDUP == 0x40);
HOLDS(MDB_CREATE == 0x40000);

HOLDS(MDB_NOOVERWRITE == 0x10 && MDB_NODUPDATA == 0x20 && MDB_CURRENT == 0x40);
HOLDS(MDB_RESERVE == 0x10000 && MDB_APPEND == 0x20000 && MDB_APPENDDUP == 0x40000);
HOLDS(MDB_MULTIPLE == 0x80000 && MDB_CP_COMPACT == 0x01);

HOLDS(MDB_FIRST == 0 && MDB_FIRST_DUP == 1 && MDB_GET_BOTH == 2 && MDB_GET_BOTH_RANGE == 3);
HOLDS(MDB_GET_CURRENT == 4 && MDB_GET_MULTIPLE == 5 && MDB_LAST == 6 && MDB_LAST_DUP == 7);
HOLDS(MDB_NEXT == 8 && MDB_NEXT_DUP == 9 && MDB_NEXT_MULTIPLE == 10 && MDB_NEXT_NODUP == 11);
HOLDS(MDB_PREV == 12 && MDB_PREV_DUP == 13 && MDB_PREV_NODUP == 14 && MDB_SET == 15);
HOLDS(MDB_SET_KEY == 16 && MDB_SET_RANGE == 17 && MDB_PREV_MULTIPLE == 18);

HOLDS(MDB_SUCCESS == 0 && MDB_KEYEXIST == -30799 && MDB_NOTFOUND == -30798);
HOLDS(MDB_PAGE_NOTFOUND == -30797 && MDB_CORRUPTED == -30796 && MDB_PANIC == -30795);
HOLDS(MDB_VERSION_MISMATCH == -30794 && MDB_INVALID == -30793 && MDB_MAP_FULL == -30792);
HOLDS(MDB_DBS_FULL == -30791 && MDB_READERS_FULL == -30790 && MDB_TLS_FULL == -30789);
HOLDS(MDB_TXN_FULL == -30788 && MDB_CURSOR_FULL == -30787 && MDB_PAGE_FULL == -30786);
HOLDS(MDB_MAP_RESIZED == -30785 && MDB_INCOMPATIBLE == -30784 && MDB_BAD_RSLOT == -30783);
HOLDS(MDB_BAD_TXN == -30782 && MDB_BAD_VALSIZE == -30781 && MDB_BAD_DBI == -30780);
HOLDS(MDB_LAST_ERRCODE == MDB_BAD_DBI);

HOLDS(MDB_VERSION_MAJOR == 0 && MDB_VERSION_MINOR == 9 && MDB_VERSION_PATCH >= 24);
HOLDS(MDB_VERINT(1, 2, 3) == 0x1020003);
HOLDS(MDB_VERSION_FULL == 0x90000 + MDB_VERSION_PATCH);

/* All 56 functions: that they are there, and what they take. */
static char *(*version)(int *, int *, int *) = mdb_version;
static char *(*error_text)(int) = mdb_strerror;
static int (*env_create)(MDB_env **) = mdb_env_create;
static int (*env_open)(MDB_env *, const char *, unsigned, mdb_mode_t) = mdb_env_open;
static int (*env_copy)(MDB_env *, const char *) = mdb_env_copy;
static int (*env_copyfd)(MDB_env *, mdb_filehandle_t) = mdb_env_copyfd;
static int (*env_copy2)(MDB_env *, const char *, unsigned) = mdb_env_copy2;
static int (*env_copyfd2)(MDB_env *, mdb_filehandle_t, unsigned) = mdb_env_copyfd2;
static int (*env_stat)(MDB_env *, MDB_stat *) = mdb_env_stat;
static int (*env_info)(MDB_env *, MDB_envinfo *) = mdb_env_info;
static int (*env_sync)(MDB_env *, int) = mdb_env_sync;
static void (*env_close)(MDB_env *) = mdb_env_close;
static int (*env_set_flags)(MDB_env *, unsigned, int) = mdb_env_set_flags;
static int (*env_get_flags)(MDB_env *, unsigned *) = mdb_env_get_flags;
static int (*env_get_path)(MDB_env *, const char **) = mdb_env_get_path;
static int (*env_get_fd)(MDB_env *, mdb_filehandle_t *) = mdb_env_get_fd;
static int (*env_set_mapsize)(MDB_env *, size_t) = mdb_env_set_mapsize;
static int (*env_set_maxreaders)(MDB_env *, unsigned) = mdb_env_set_maxreaders;
static int (*env_get_maxreaders)(MDB_env *, unsigned *) = mdb_env_get_maxreaders;
static int (*env_set_maxdbs)(MDB_env *, MDB_dbi) = mdb_env_set_maxdbs;
static int (*env_get_maxkeysize)(MDB_env *) = mdb_env_get_maxkeysize;
static int (*env_set_userctx)(MDB_env *, void *) = mdb_env_set_userctx;
static void *(*env_get_userctx)(MDB_env *) = mdb_env_get_userctx;
static int (*env_set_assert)(MDB_env *, MDB_assert_func *) = mdb_env_set_assert;
static int (*reader_list)(MDB_env *, MDB_msg_func *, void *) = mdb_reader_list;
static int (*reader_check)(MDB_env *, int *) = mdb_reader_check;
static int (*txn_begin)(MDB_env *, MDB_txn *, unsigned, MDB_txn **) = mdb_txn_begin;
static MDB_env *(*txn_env)(MDB_txn *) = mdb_txn_env;
static size_t (*txn_id)(MDB_txn *) = mdb_txn_id;
static int (*txn_commit)(MDB_txn *) = mdb_txn_commit;
static void (*txn_abort)(MDB_txn *) = mdb_txn_abort;
static void (*txn_reset)(MDB_txn *) = mdb_txn_reset;
static int (*txn_renew)(MDB_txn *) = mdb_txn_renew;
static int (*dbi_open)(MDB_txn *, const char *, unsigned, MDB_dbi *) = mdb_dbi_open;
static void (*dbi_close)(MDB_env *, MDB_dbi) = mdb_dbi_close;
static int (*stat_of)(MDB_txn *, MDB_dbi, MDB_stat *) = mdb_stat;
static int (*dbi_flags)(MDB_txn *, MDB_dbi, unsigned *) = mdb_dbi_flags;
static int (*drop)(MDB_txn *, MDB_dbi, int) = mdb_drop;
static int (*set_compare)(MDB_txn *, MDB_dbi, MDB_cmp_func *) = mdb_set_compare;
static int (*set_dupsort)(MDB_txn *, MDB_dbi, MDB_cmp_func *) = mdb_set_dupsort;
static int (*set_relfunc)(MDB_txn *, MDB_dbi, MDB_rel_func *) = mdb_set_relfunc;
static int (*set_relctx)(MDB_txn *, MDB_dbi, void *) = mdb_set_relctx;
static int (*get)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *) = mdb_get;
static int (*put)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned) = mdb_put;
static int (*del)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *) = mdb_del;
static int (*cmp)(MDB_txn *, MDB_dbi, const MDB_val *, const MDB_val *) = mdb_cmp;
static int (*dcmp)(MDB_txn *, MDB_dbi, const MDB_val *, const MDB_val *) = mdb_dcmp;
static int (*cursor_open)(MDB_txn *, MDB_dbi, MDB_cursor **) = mdb_cursor_open;
static void (*cursor_close)(MDB_cursor *) = mdb_cursor_close;
static int (*cursor_renew)(MDB_txn *, MDB_cursor *) = mdb_cursor_renew;
static MDB_txn *(*cursor_txn)(MDB_cursor *) = mdb_cursor_txn;
static MDB_dbi (*cursor_dbi)(MDB_cursor *) = mdb_cursor_dbi;
static int (*cursor_get)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op) = mdb_cursor_get;
static int (*cursor_put)(MDB_cursor *, MDB_val *, MDB_val *, unsigned) = mdb_cursor_put;
static int (*cursor_del)(MDB_cursor *, unsigned) = mdb_cursor_del;
static int (*cursor_count)(MDB_cursor *, size_t *) = mdb_cursor_count;

/* The older names of two functions; never called. */
int old_names(MDB_env *env, MDB_txn *txn, MDB_dbi *dbi);
int old_names(MDB_env *env, MDB_txn *txn, MDB_dbi *dbi)
{
    mdb_close(env, *dbi);
    return mdb_open(txn, NULL, 0, dbi);
}

int main(void)
{
    const void *all[] = {
        &version, &error_text, &env_create, &env_open, &env_copy, &env_copyfd, &env_copy2,
        &env_copyfd2, &env_stat, &env_info, &env_sync, &env_close, &env_set_flags, &env_get_flags,
        &env_get_path, &env_get_fd, &env_set_mapsize, &env_set_maxreaders, &env_get_maxreaders,
        &env_set_maxdbs, &env_get_maxkeysize, &env_set_userctx, &env_get_userctx, &env_set_assert,
        &reader_list, &reader_check, &txn_begin, &txn_env, &txn_id, &txn_commit, &txn_abort,
        &txn_reset, &txn_renew, &dbi_open, &dbi_close, &stat_of, &dbi_flags, &drop, &set_compare,
        &set_dupsort, &set_relfunc, &set_relctx, &get, &put, &del, &cmp, &dcmp, &cursor_open,
        &cursor_close, &cursor_renew, &cursor_txn, &cursor_dbi, &cursor_get, &cursor_put,
        &cursor_del, &cursor_count};
    int good = sizeof all / sizeof all[0] == 56;
    good = good && strcmp(version(NULL, NULL, NULL), MDB_VERSION_STRING) == 0;
    printf("%s layout\n", good ? "ok" : "FAIL");
    return !good;
}
