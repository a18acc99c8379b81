/*
 * Every number, layout and prototype of the interface, held to at compile time. This file is built
 * as C99 and as C++; where it compiles, it has passed, and as a program it says so.
 */
#include <mdbx.h>
#include <stdio.h>

#define ASSERT_2(what, line) typedef char holds_##line[(what) ? 1 : -1]
#define ASSERT_1(what, line) ASSERT_2(what, line)
#define HOLDS(what) ASSERT_1(what, __LINE__)
#define SIZE(type, bytes) HOLDS(sizeof(type) == (bytes))
#define AT(type, field, offset) HOLDS(offsetof(type, field) == (offset))
#define BIT(name, number) HOLDS((unsigned)(name) == (number))
#define IS(name, number) HOLDS((int)(name) == (number))

/* Layouts on machines whose pointers have 64 bits. */
SIZE(void *, 8);
SIZE(MDBX_val, 16);
AT(MDBX_val, iov_base, 0);
AT(MDBX_val, iov_len, 8);
SIZE(MDBX_dbi, 4);
HOLDS((MDBX_dbi)-1 > 0);
SIZE(mdbx_mode_t, sizeof(mode_t));
SIZE(mdbx_filehandle_t, 4);
SIZE(mdbx_pid_t, sizeof(pid_t));
SIZE(mdbx_tid_t, sizeof(pthread_t));
SIZE(MDBX_env_flags_t, 4);
SIZE(MDBX_txn_flags_t, 4);
SIZE(MDBX_db_flags_t, 4);
SIZE(MDBX_dbi_state_t, 4);
SIZE(MDBX_put_flags_t, 4);
SIZE(MDBX_copy_flags_t, 4);
SIZE(MDBX_cursor_op, 4);
SIZE(MDBX_error_t, 4);
SIZE(MDBX_option_t, 4);
SIZE(MDBX_env_delete_mode_t, 4);
SIZE(MDBX_log_level_t, 4);
SIZE(MDBX_debug_flags_t, 4);
SIZE(MDBX_page_type_t, 4);

SIZE(struct MDBX_version_info, 48);
AT(struct MDBX_version_info, major, 0);
AT(struct MDBX_version_info, minor, 1);
AT(struct MDBX_version_info, release, 2);
AT(struct MDBX_version_info, revision, 4);
AT(struct MDBX_version_info, git.datetime, 8);
AT(struct MDBX_version_info, git.tree, 16);
AT(struct MDBX_version_info, git.commit, 24);
AT(struct MDBX_version_info, git.describe, 32);
AT(struct MDBX_version_info, sourcery, 40);

SIZE(struct MDBX_build_info, 40);
AT(struct MDBX_build_info, datetime, 0);
AT(struct MDBX_build_info, target, 8);
AT(struct MDBX_build_info, options, 16);
AT(struct MDBX_build_info, compiler, 24);
AT(struct MDBX_build_info, flags, 32);

SIZE(MDBX_stat, 48);
AT(MDBX_stat, ms_psize, 0);
AT(MDBX_stat, ms_depth, 4);
AT(MDBX_stat, ms_branch_pages, 8);
AT(MDBX_stat, ms_leaf_pages, 16);
AT(MDBX_stat, ms_overflow_pages, 24);
AT(MDBX_stat, ms_entries, 32);
AT(MDBX_stat, ms_mod_txnid, 40);

SIZE(MDBX_envinfo, 304);
AT(MDBX_envinfo, mi_geo.lower, 0);
AT(MDBX_envinfo, mi_geo.upper, 8);
AT(MDBX_envinfo, mi_geo.current, 16);
AT(MDBX_envinfo, mi_geo.shrink, 24);
AT(MDBX_envinfo, mi_geo.grow, 32);
AT(MDBX_envinfo, mi_mapsize, 40);
AT(MDBX_envinfo, mi_last_pgno, 48);
AT(MDBX_envinfo, mi_recent_txnid, 56);
AT(MDBX_envinfo, mi_latter_reader_txnid, 64);
AT(MDBX_envinfo, mi_self_latter_reader_txnid, 72);
AT(MDBX_envinfo, mi_meta0_txnid, 80);
AT(MDBX_envinfo, mi_meta0_sign, 88);
AT(MDBX_envinfo, mi_meta1_txnid, 96);
AT(MDBX_envinfo, mi_meta1_sign, 104);
AT(MDBX_envinfo, mi_meta2_txnid, 112);
AT(MDBX_envinfo, mi_meta2_sign, 120);
AT(MDBX_envinfo, mi_maxreaders, 128);
AT(MDBX_envinfo, mi_numreaders, 132);
AT(MDBX_envinfo, mi_dxb_pagesize, 136);
AT(MDBX_envinfo, mi_sys_pagesize, 140);
AT(MDBX_envinfo, mi_bootid.current.x, 144);
AT(MDBX_envinfo, mi_bootid.current.y, 152);
AT(MDBX_envinfo, mi_bootid.meta0.x, 160);
AT(MDBX_envinfo, mi_bootid.meta0.y, 168);
AT(MDBX_envinfo, mi_bootid.meta1.x, 176);
AT(MDBX_envinfo, mi_bootid.meta1.y, 184);
AT(MDBX_envinfo, mi_bootid.meta2.x, 192);
AT(MDBX_envinfo, mi_bootid.meta2.y, 200);
AT(MDBX_envinfo, mi_unsync_volume, 208);
AT(MDBX_envinfo, mi_autosync_threshold, 216);
AT(MDBX_envinfo, mi_since_sync_seconds16dot16, 224);
AT(MDBX_envinfo, mi_autosync_period_seconds16dot16, 228);
AT(MDBX_envinfo, mi_since_reader_check_seconds16dot16, 232);
AT(MDBX_envinfo, mi_mode, 236);
AT(MDBX_envinfo, mi_pgop_stat.newly, 240);
AT(MDBX_envinfo, mi_pgop_stat.cow, 248);
AT(MDBX_envinfo, mi_pgop_stat.clone, 256);
AT(MDBX_envinfo, mi_pgop_stat.split, 264);
AT(MDBX_envinfo, mi_pgop_stat.merge, 272);
AT(MDBX_envinfo, mi_pgop_stat.spill, 280);
AT(MDBX_envinfo, mi_pgop_stat.unspill, 288);
AT(MDBX_envinfo, mi_pgop_stat.wops, 296);

SIZE(MDBX_txn_info, 64);
AT(MDBX_txn_info, txn_id, 0);
AT(MDBX_txn_info, txn_reader_lag, 8);
AT(MDBX_txn_info, txn_space_used, 16);
AT(MDBX_txn_info, txn_space_limit_soft, 24);
AT(MDBX_txn_info, txn_space_limit_hard, 32);
AT(MDBX_txn_info, txn_space_retired, 40);
AT(MDBX_txn_info, txn_space_leftover, 48);
AT(MDBX_txn_info, txn_space_dirty, 56);

SIZE(MDBX_commit_latency, 28);
AT(MDBX_commit_latency, preparation, 0);
AT(MDBX_commit_latency, gc, 4);
AT(MDBX_commit_latency, audit, 8);
AT(MDBX_commit_latency, write, 12);
AT(MDBX_commit_latency, sync, 16);
AT(MDBX_commit_latency, ending, 20);
AT(MDBX_commit_latency, whole, 24);

SIZE(MDBX_canary, 32);
AT(MDBX_canary, x, 0);
AT(MDBX_canary, y, 8);
AT(MDBX_canary, z, 16);
AT(MDBX_canary, v, 24);

/* Constants. */
IS(MDBX_VERSION_MAJOR, 0);
IS(MDBX_VERSION_MINOR, 11);
IS(MDBX_MAX_DBI, 32765);
IS(MDBX_MAXDATASIZE, 0x7fff0000);
IS(MDBX_MIN_PAGESIZE, 256);
IS(MDBX_MAX_PAGESIZE, 65536);

/* Environments. */
BIT(MDBX_ENV_DEFAULTS, 0x0);
BIT(MDBX_NOSUBDIR, 0x4000);
BIT(MDBX_RDONLY, 0x20000);
BIT(MDBX_EXCLUSIVE, 0x400000);
BIT(MDBX_ACCEDE, 0x40000000);
BIT(MDBX_WRITEMAP, 0x80000);
BIT(MDBX_NOTLS, 0x200000);
BIT(MDBX_NORDAHEAD, 0x800000);
BIT(MDBX_NOMEMINIT, 0x1000000);
BIT(MDBX_COALESCE, 0x2000000);
BIT(MDBX_LIFORECLAIM, 0x4000000);
BIT(MDBX_PAGEPERTURB, 0x8000000);
BIT(MDBX_SYNC_DURABLE, 0x0);
BIT(MDBX_NOMETASYNC, 0x40000);
BIT(MDBX_SAFE_NOSYNC, 0x10000);
BIT(MDBX_MAPASYNC, 0x10000);
BIT(MDBX_UTTERLY_NOSYNC, 0x110000);

/* Transactions. */
BIT(MDBX_TXN_READWRITE, 0x0);
BIT(MDBX_TXN_RDONLY, 0x20000);
BIT(MDBX_TXN_RDONLY_PREPARE, 0x1020000);
BIT(MDBX_TXN_TRY, 0x10000000);
BIT(MDBX_TXN_NOMETASYNC, 0x40000);
BIT(MDBX_TXN_NOSYNC, 0x10000);
BIT(MDBX_TXN_INVALID, 0x80000000);
BIT(MDBX_TXN_FINISHED, 0x1);
BIT(MDBX_TXN_ERROR, 0x2);
BIT(MDBX_TXN_DIRTY, 0x4);
BIT(MDBX_TXN_SPILLS, 0x8);
BIT(MDBX_TXN_HAS_CHILD, 0x10);
BIT(MDBX_TXN_BLOCKED, 0x13);

/* Tables. */
BIT(MDBX_DB_DEFAULTS, 0x0);
BIT(MDBX_REVERSEKEY, 0x2);
BIT(MDBX_DUPSORT, 0x4);
BIT(MDBX_INTEGERKEY, 0x8);
BIT(MDBX_DUPFIXED, 0x10);
BIT(MDBX_INTEGERDUP, 0x20);
BIT(MDBX_REVERSEDUP, 0x40);
BIT(MDBX_CREATE, 0x40000);
BIT(MDBX_DB_ACCEDE, 0x40000000);
BIT(MDBX_DBI_DIRTY, 0x1);
BIT(MDBX_DBI_STALE, 0x2);
BIT(MDBX_DBI_FRESH, 0x4);
BIT(MDBX_DBI_CREAT, 0x8);

/* Writes, copies, deletes. */
BIT(MDBX_UPSERT, 0x0);
BIT(MDBX_NOOVERWRITE, 0x10);
BIT(MDBX_NODUPDATA, 0x20);
BIT(MDBX_CURRENT, 0x40);
BIT(MDBX_ALLDUPS, 0x80);
BIT(MDBX_RESERVE, 0x10000);
BIT(MDBX_APPEND, 0x20000);
BIT(MDBX_APPENDDUP, 0x40000);
BIT(MDBX_MULTIPLE, 0x80000);
BIT(MDBX_CP_DEFAULTS, 0x0);
BIT(MDBX_CP_COMPACT, 0x1);
BIT(MDBX_CP_FORCE_DYNAMIC_SIZE, 0x2);
BIT(MDBX_ENV_JUST_DELETE, 0x0);
BIT(MDBX_ENV_ENSURE_UNUSED, 0x1);
BIT(MDBX_ENV_WAIT_FOR_UNUSED, 0x2);

/* What is logged. */
IS(MDBX_LOG_FATAL, 0);
IS(MDBX_LOG_ERROR, 1);
IS(MDBX_LOG_WARN, 2);
IS(MDBX_LOG_NOTICE, 3);
IS(MDBX_LOG_VERBOSE, 4);
IS(MDBX_LOG_DEBUG, 5);
IS(MDBX_LOG_TRACE, 6);
IS(MDBX_LOG_EXTRA, 7);
IS(MDBX_LOG_DONTCHANGE, -1);
IS(MDBX_DBG_NONE, 0);
IS(MDBX_DBG_ASSERT, 1);
IS(MDBX_DBG_AUDIT, 2);
IS(MDBX_DBG_JITTER, 4);
IS(MDBX_DBG_DUMP, 8);
IS(MDBX_DBG_LEGACY_MULTIOPEN, 16);
IS(MDBX_DBG_LEGACY_OVERLAP, 32);
IS(MDBX_DBG_DONT_UPGRADE, 64);
IS(MDBX_DBG_DONTCHANGE, -1);

/* Steps of cursors. */
IS(MDBX_FIRST, 0);
IS(MDBX_FIRST_DUP, 1);
IS(MDBX_GET_BOTH, 2);
IS(MDBX_GET_BOTH_RANGE, 3);
IS(MDBX_GET_CURRENT, 4);
IS(MDBX_GET_MULTIPLE, 5);
IS(MDBX_LAST, 6);
IS(MDBX_LAST_DUP, 7);
IS(MDBX_NEXT, 8);
IS(MDBX_NEXT_DUP, 9);
IS(MDBX_NEXT_MULTIPLE, 10);
IS(MDBX_NEXT_NODUP, 11);
IS(MDBX_PREV, 12);
IS(MDBX_PREV_DUP, 13);
IS(MDBX_PREV_NODUP, 14);
IS(MDBX_SET, 15);
IS(MDBX_SET_KEY, 16);
IS(MDBX_SET_RANGE, 17);
IS(MDBX_PREV_MULTIPLE, 18);
IS(MDBX_SET_LOWERBOUND, 19);
IS(MDBX_SET_UPPERBOUND, 20);

/* Options. */
IS(MDBX_opt_max_db, 0);
IS(MDBX_opt_max_readers, 1);
IS(MDBX_opt_sync_bytes, 2);
IS(MDBX_opt_sync_period, 3);
IS(MDBX_opt_rp_augment_limit, 4);
IS(MDBX_opt_loose_limit, 5);
IS(MDBX_opt_dp_reserve_limit, 6);
IS(MDBX_opt_txn_dp_limit, 7);
IS(MDBX_opt_txn_dp_initial, 8);
IS(MDBX_opt_spill_max_denominator, 9);
IS(MDBX_opt_spill_min_denominator, 10);
IS(MDBX_opt_spill_parent4child_denominator, 11);
IS(MDBX_opt_merge_threshold_16dot16_percent, 12);

/* Kinds of pages. */
IS(MDBX_page_broken, 0);
IS(MDBX_page_meta, 1);
IS(MDBX_page_large, 2);
IS(MDBX_page_branch, 3);
IS(MDBX_page_leaf, 4);
IS(MDBX_page_dupfixed_leaf, 5);
IS(MDBX_subpage_leaf, 6);
IS(MDBX_subpage_dupfixed_leaf, 7);
IS(MDBX_subpage_broken, 8);

/* Results. */
IS(MDBX_SUCCESS, 0);
IS(MDBX_RESULT_FALSE, 0);
IS(MDBX_RESULT_TRUE, -1);
IS(MDBX_KEYEXIST, -30799);
IS(MDBX_NOTFOUND, -30798);
IS(MDBX_PAGE_NOTFOUND, -30797);
IS(MDBX_CORRUPTED, -30796);
IS(MDBX_PANIC, -30795);
IS(MDBX_VERSION_MISMATCH, -30794);
IS(MDBX_INVALID, -30793);
IS(MDBX_MAP_FULL, -30792);
IS(MDBX_DBS_FULL, -30791);
IS(MDBX_READERS_FULL, -30790);
IS(MDBX_TXN_FULL, -30788);
IS(MDBX_CURSOR_FULL, -30787);
IS(MDBX_PAGE_FULL, -30786);
IS(MDBX_UNABLE_EXTEND_MAPSIZE, -30785);
IS(MDBX_INCOMPATIBLE, -30784);
IS(MDBX_BAD_RSLOT, -30783);
IS(MDBX_BAD_TXN, -30782);
IS(MDBX_BAD_VALSIZE, -30781);
IS(MDBX_BAD_DBI, -30780);
IS(MDBX_PROBLEM, -30779);
IS(MDBX_BUSY, -30778);
IS(MDBX_EMULTIVAL, -30421);
IS(MDBX_EBADSIGN, -30420);
IS(MDBX_WANNA_RECOVERY, -30419);
IS(MDBX_EKEYMISMATCH, -30418);
IS(MDBX_TOO_LARGE, -30417);
IS(MDBX_THREAD_MISMATCH, -30416);
IS(MDBX_TXN_OVERLAPPING, -30415);
IS(MDBX_FIRST_LMDB_ERRCODE, -30799);
IS(MDBX_LAST_LMDB_ERRCODE, -30779);
IS(MDBX_FIRST_ADDED_ERRCODE, -30778);
IS(MDBX_LAST_ADDED_ERRCODE, -30415);
IS(MDBX_ENODATA, ENODATA);
IS(MDBX_EINVAL, EINVAL);
IS(MDBX_EACCESS, EACCES);
IS(MDBX_ENOMEM, ENOMEM);
IS(MDBX_EROFS, EROFS);
IS(MDBX_ENOSYS, ENOSYS);
IS(MDBX_EIO, EIO);
IS(MDBX_EPERM, EPERM);
IS(MDBX_EINTR, EINTR);
IS(MDBX_ENOFILE, ENOENT);
IS(MDBX_EREMOTE, ENOTBLK);
#ifdef HUON_MDBX_H
IS(MDBX_BACKLOG_DEPLETED, -30414);
IS(MDBX_DUPLICATED_CLK, -30413);
IS(MDBX_DUPLICATED_LCK, -30413);
IS(MDBX_DANGLING_DBI, -30412);
IS(MDBX_OUSTED, -30411);
IS(MDBX_MVCC_RETARDED, -30410);
IS(MDBX_LAGGARD_READER, -30409);
IS(MDBX_NODATA, ENODATA);
IS(MDBX_EACCES, EACCES);
IS(MDBX_ENOENT, ENOENT);
IS(MDBX_ENOSPC, ENOSPC);
IS(MDBX_EAGAIN, EAGAIN);
IS(MDBX_EEXIST, EEXIST);
IS(MDBX_EDEADLK, EDEADLK);
IS(MDBX_NOSTICKYTHREADS, MDBX_NOTLS);
#endif

/* What the C++ interface takes from the header. */
LIBMDBX_API MDBX_NOTHROW_PURE_FUNCTION int pure_(int);
MDBX_MAYBE_UNUSED static MDBX_CXX01_CONSTEXPR int constant_(void) { return 1; }
static MDBX_CXX11_CONSTEXPR int eleven_(void) { return constant_() + 10; }
static MDBX_CXX14_CONSTEXPR int fourteen_(void) { return eleven_() + 3; }
int pure_(int add) { return fourteen_() + add + (int)sizeof MDBX_STRINGIFY(MDBX_NOTLS); }
#ifdef __cplusplus
class LIBMDBX_API_TYPE of_the_library_;
#endif

/* All functions: that they are there, and what they take. */
static const char *(*strerror_)(int) = mdbx_strerror;
static const char *(*strerror_r_)(int, char *, size_t) = mdbx_strerror_r;
static const char *(*liberr2str_)(int) = mdbx_liberr2str;
static int (*setup_debug_)(MDBX_log_level_t, MDBX_debug_flags_t,
    MDBX_debug_func *) = mdbx_setup_debug;
static const char *(*dump_val_)(const MDBX_val *, char *, size_t) = mdbx_dump_val;
static void (*panic_)(const char *, ...) = mdbx_panic;
static void (*assert_fail_)(const MDBX_env *, const char *, const char *,
    unsigned) = mdbx_assert_fail;
static intptr_t (*limits_pgsize_min_)(void) = mdbx_limits_pgsize_min;
static intptr_t (*limits_pgsize_max_)(void) = mdbx_limits_pgsize_max;
static intptr_t (*limits_dbsize_min_)(intptr_t) = mdbx_limits_dbsize_min;
static intptr_t (*limits_dbsize_max_)(intptr_t) = mdbx_limits_dbsize_max;
static intptr_t (*limits_keysize_max_)(intptr_t, MDBX_db_flags_t) = mdbx_limits_keysize_max;
static intptr_t (*limits_valsize_max_)(intptr_t, MDBX_db_flags_t) = mdbx_limits_valsize_max;
static intptr_t (*limits_txnsize_max_)(intptr_t) = mdbx_limits_txnsize_max;
static size_t (*default_pagesize_)(void) = mdbx_default_pagesize;
static int (*get_sysraminfo_)(intptr_t *, intptr_t *, intptr_t *) = mdbx_get_sysraminfo;
static int (*is_readahead_reasonable_)(size_t, intptr_t) = mdbx_is_readahead_reasonable;
static MDBX_cmp_func *(*get_keycmp_)(MDBX_db_flags_t) = mdbx_get_keycmp;
static MDBX_cmp_func *(*get_datacmp_)(MDBX_db_flags_t) = mdbx_get_datacmp;
static uint64_t (*key_from_jsonInteger_)(int64_t) = mdbx_key_from_jsonInteger;
static uint64_t (*key_from_double_)(double) = mdbx_key_from_double;
static uint64_t (*key_from_ptrdouble_)(const double *) = mdbx_key_from_ptrdouble;
static uint32_t (*key_from_float_)(float) = mdbx_key_from_float;
static uint32_t (*key_from_ptrfloat_)(const float *) = mdbx_key_from_ptrfloat;
static uint64_t (*key_from_int64_)(int64_t) = mdbx_key_from_int64;
static uint32_t (*key_from_int32_)(int32_t) = mdbx_key_from_int32;
static int64_t (*jsonInteger_from_key_)(MDBX_val) = mdbx_jsonInteger_from_key;
static double (*double_from_key_)(MDBX_val) = mdbx_double_from_key;
static float (*float_from_key_)(MDBX_val) = mdbx_float_from_key;
static int32_t (*int32_from_key_)(MDBX_val) = mdbx_int32_from_key;
static int64_t (*int64_from_key_)(MDBX_val) = mdbx_int64_from_key;
static int (*env_create_)(MDBX_env **) = mdbx_env_create;
static int (*env_set_option_)(MDBX_env *, MDBX_option_t, uint64_t) = mdbx_env_set_option;
static int (*env_get_option_)(const MDBX_env *, MDBX_option_t, uint64_t *) = mdbx_env_get_option;
static int (*env_set_maxdbs_)(MDBX_env *, MDBX_dbi) = mdbx_env_set_maxdbs;
static int (*env_get_maxdbs_)(const MDBX_env *, MDBX_dbi *) = mdbx_env_get_maxdbs;
static int (*env_set_maxreaders_)(MDBX_env *, unsigned) = mdbx_env_set_maxreaders;
static int (*env_get_maxreaders_)(const MDBX_env *, unsigned *) = mdbx_env_get_maxreaders;
static int (*env_set_syncbytes_)(MDBX_env *, size_t) = mdbx_env_set_syncbytes;
static int (*env_get_syncbytes_)(const MDBX_env *, size_t *) = mdbx_env_get_syncbytes;
static int (*env_set_syncperiod_)(MDBX_env *, unsigned) = mdbx_env_set_syncperiod;
static int (*env_get_syncperiod_)(const MDBX_env *, unsigned *) = mdbx_env_get_syncperiod;
static int (*env_open_)(MDBX_env *, const char *, MDBX_env_flags_t, mdbx_mode_t) = mdbx_env_open;
static int (*env_close_ex_)(MDBX_env *, bool) = mdbx_env_close_ex;
static int (*env_close_)(MDBX_env *) = mdbx_env_close;
static int (*env_delete_)(const char *, MDBX_env_delete_mode_t) = mdbx_env_delete;
static int (*env_copy_)(MDBX_env *, const char *, MDBX_copy_flags_t) = mdbx_env_copy;
static int (*env_copy2fd_)(MDBX_env *, mdbx_filehandle_t, MDBX_copy_flags_t) = mdbx_env_copy2fd;
static int (*env_stat_ex_)(const MDBX_env *, const MDBX_txn *, MDBX_stat *,
    size_t) = mdbx_env_stat_ex;
static int (*env_stat_)(const MDBX_env *, MDBX_stat *, size_t) = mdbx_env_stat;
static int (*env_info_ex_)(const MDBX_env *, const MDBX_txn *, MDBX_envinfo *,
    size_t) = mdbx_env_info_ex;
static int (*env_info_)(const MDBX_env *, MDBX_envinfo *, size_t) = mdbx_env_info;
static int (*env_sync_ex_)(MDBX_env *, bool, bool) = mdbx_env_sync_ex;
static int (*env_sync_)(MDBX_env *) = mdbx_env_sync;
static int (*env_sync_poll_)(MDBX_env *) = mdbx_env_sync_poll;
static int (*env_set_flags_)(MDBX_env *, MDBX_env_flags_t, bool) = mdbx_env_set_flags;
static int (*env_get_flags_)(const MDBX_env *, unsigned *) = mdbx_env_get_flags;
static int (*env_get_path_)(const MDBX_env *, const char **) = mdbx_env_get_path;
static int (*env_get_fd_)(const MDBX_env *, mdbx_filehandle_t *) = mdbx_env_get_fd;
static int (*env_set_geometry_)(MDBX_env *, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
    intptr_t) = mdbx_env_set_geometry;
static int (*env_set_mapsize_)(MDBX_env *, size_t) = mdbx_env_set_mapsize;
static int (*env_get_maxkeysize_ex_)(const MDBX_env *,
    MDBX_db_flags_t) = mdbx_env_get_maxkeysize_ex;
static int (*env_get_maxvalsize_ex_)(const MDBX_env *,
    MDBX_db_flags_t) = mdbx_env_get_maxvalsize_ex;
static int (*env_get_maxkeysize_)(const MDBX_env *) = mdbx_env_get_maxkeysize;
static int (*env_set_userctx_)(MDBX_env *, void *) = mdbx_env_set_userctx;
static void *(*env_get_userctx_)(const MDBX_env *) = mdbx_env_get_userctx;
static int (*env_set_assert_)(MDBX_env *, MDBX_assert_func *) = mdbx_env_set_assert;
static int (*env_set_hsr_)(MDBX_env *, MDBX_hsr_func *) = mdbx_env_set_hsr;
static MDBX_hsr_func *(*env_get_hsr_)(const MDBX_env *) = mdbx_env_get_hsr;
static int (*reader_list_)(const MDBX_env *, MDBX_reader_list_func *, void *) = mdbx_reader_list;
static int (*reader_check_)(MDBX_env *, int *) = mdbx_reader_check;
static int (*thread_register_)(const MDBX_env *) = mdbx_thread_register;
static int (*thread_unregister_)(const MDBX_env *) = mdbx_thread_unregister;
static int (*env_open_for_recovery_)(MDBX_env *, const char *, unsigned,
    bool) = mdbx_env_open_for_recovery;
static int (*env_turn_for_recovery_)(MDBX_env *, unsigned) = mdbx_env_turn_for_recovery;
static int (*env_pgwalk_)(MDBX_txn *, MDBX_pgvisitor_func *, void *, bool) = mdbx_env_pgwalk;
static int (*txn_begin_ex_)(MDBX_env *, MDBX_txn *, MDBX_txn_flags_t, MDBX_txn **,
    void *) = mdbx_txn_begin_ex;
static int (*txn_begin_)(MDBX_env *, MDBX_txn *, MDBX_txn_flags_t, MDBX_txn **) = mdbx_txn_begin;
static int (*txn_commit_ex_)(MDBX_txn *, MDBX_commit_latency *) = mdbx_txn_commit_ex;
static int (*txn_commit_)(MDBX_txn *) = mdbx_txn_commit;
static int (*txn_abort_)(MDBX_txn *) = mdbx_txn_abort;
static int (*txn_break_)(MDBX_txn *) = mdbx_txn_break;
static int (*txn_reset_)(MDBX_txn *) = mdbx_txn_reset;
static int (*txn_renew_)(MDBX_txn *) = mdbx_txn_renew;
static int (*txn_info_)(const MDBX_txn *, MDBX_txn_info *, bool) = mdbx_txn_info;
static MDBX_env *(*txn_env_)(const MDBX_txn *) = mdbx_txn_env;
static int (*txn_flags_)(const MDBX_txn *) = mdbx_txn_flags;
static uint64_t (*txn_id_)(const MDBX_txn *) = mdbx_txn_id;
static int (*txn_straggler_)(const MDBX_txn *, int *) = mdbx_txn_straggler;
static int (*txn_set_userctx_)(MDBX_txn *, void *) = mdbx_txn_set_userctx;
static void *(*txn_get_userctx_)(const MDBX_txn *) = mdbx_txn_get_userctx;
static int (*canary_put_)(MDBX_txn *, const MDBX_canary *) = mdbx_canary_put;
static int (*canary_get_)(const MDBX_txn *, MDBX_canary *) = mdbx_canary_get;
static int (*dbi_open_)(MDBX_txn *, const char *, MDBX_db_flags_t, MDBX_dbi *) = mdbx_dbi_open;
static int (*dbi_open_ex_)(MDBX_txn *, const char *, MDBX_db_flags_t, MDBX_dbi *,
    MDBX_cmp_func *, MDBX_cmp_func *) = mdbx_dbi_open_ex;
static int (*dbi_close_)(MDBX_env *, MDBX_dbi) = mdbx_dbi_close;
static int (*dbi_stat_)(MDBX_txn *, MDBX_dbi, MDBX_stat *, size_t) = mdbx_dbi_stat;
static int (*dbi_dupsort_depthmask_)(MDBX_txn *, MDBX_dbi, uint32_t *) = mdbx_dbi_dupsort_depthmask;
static int (*dbi_flags_ex_)(MDBX_txn *, MDBX_dbi, unsigned *, unsigned *) = mdbx_dbi_flags_ex;
static int (*dbi_flags_)(MDBX_txn *, MDBX_dbi, unsigned *) = mdbx_dbi_flags;
static int (*drop_)(MDBX_txn *, MDBX_dbi, bool) = mdbx_drop;
static int (*dbi_sequence_)(MDBX_txn *, MDBX_dbi, uint64_t *, uint64_t) = mdbx_dbi_sequence;
static int (*cmp_)(const MDBX_txn *, MDBX_dbi, const MDBX_val *, const MDBX_val *) = mdbx_cmp;
static int (*dcmp_)(const MDBX_txn *, MDBX_dbi, const MDBX_val *, const MDBX_val *) = mdbx_dcmp;
static int (*get_)(MDBX_txn *, MDBX_dbi, const MDBX_val *, MDBX_val *) = mdbx_get;
static int (*get_ex_)(MDBX_txn *, MDBX_dbi, MDBX_val *, MDBX_val *, size_t *) = mdbx_get_ex;
static int (*get_equal_or_great_)(MDBX_txn *, MDBX_dbi, MDBX_val *,
    MDBX_val *) = mdbx_get_equal_or_great;
static int (*put_)(MDBX_txn *, MDBX_dbi, const MDBX_val *, MDBX_val *, MDBX_put_flags_t) = mdbx_put;
static int (*replace_)(MDBX_txn *, MDBX_dbi, const MDBX_val *, MDBX_val *, MDBX_val *,
    MDBX_put_flags_t) = mdbx_replace;
static int (*replace_ex_)(MDBX_txn *, MDBX_dbi, const MDBX_val *, MDBX_val *, MDBX_val *,
    MDBX_put_flags_t, MDBX_preserve_func, void *) = mdbx_replace_ex;
static int (*del_)(MDBX_txn *, MDBX_dbi, const MDBX_val *, const MDBX_val *) = mdbx_del;
static int (*is_dirty_)(const MDBX_txn *, const void *) = mdbx_is_dirty;
static MDBX_cursor *(*cursor_create_)(void *) = mdbx_cursor_create;
static int (*cursor_open_)(MDBX_txn *, MDBX_dbi, MDBX_cursor **) = mdbx_cursor_open;
static void (*cursor_close_)(MDBX_cursor *) = mdbx_cursor_close;
static int (*cursor_bind_)(MDBX_txn *, MDBX_cursor *, MDBX_dbi) = mdbx_cursor_bind;
static int (*cursor_renew_)(MDBX_txn *, MDBX_cursor *) = mdbx_cursor_renew;
static int (*cursor_copy_)(const MDBX_cursor *, MDBX_cursor *) = mdbx_cursor_copy;
static MDBX_txn *(*cursor_txn_)(const MDBX_cursor *) = mdbx_cursor_txn;
static MDBX_dbi (*cursor_dbi_)(const MDBX_cursor *) = mdbx_cursor_dbi;
static int (*cursor_set_userctx_)(MDBX_cursor *, void *) = mdbx_cursor_set_userctx;
static void *(*cursor_get_userctx_)(const MDBX_cursor *) = mdbx_cursor_get_userctx;
static int (*cursor_get_)(MDBX_cursor *, MDBX_val *, MDBX_val *, MDBX_cursor_op) = mdbx_cursor_get;
static int (*cursor_get_batch_)(MDBX_cursor *, size_t *, MDBX_val *, size_t,
    MDBX_cursor_op) = mdbx_cursor_get_batch;
static int (*cursor_put_)(MDBX_cursor *, const MDBX_val *, MDBX_val *,
    MDBX_put_flags_t) = mdbx_cursor_put;
static int (*cursor_del_)(MDBX_cursor *, MDBX_put_flags_t) = mdbx_cursor_del;
static int (*cursor_count_)(const MDBX_cursor *, size_t *) = mdbx_cursor_count;
static int (*cursor_eof_)(const MDBX_cursor *) = mdbx_cursor_eof;
static int (*cursor_on_first_)(const MDBX_cursor *) = mdbx_cursor_on_first;
static int (*cursor_on_last_)(const MDBX_cursor *) = mdbx_cursor_on_last;
static int (*estimate_distance_)(const MDBX_cursor *, const MDBX_cursor *,
    ptrdiff_t *) = mdbx_estimate_distance;
static int (*estimate_move_)(const MDBX_cursor *, MDBX_val *, MDBX_val *, MDBX_cursor_op,
    ptrdiff_t *) = mdbx_estimate_move;
static int (*estimate_range_)(MDBX_txn *, MDBX_dbi, MDBX_val *, MDBX_val *, MDBX_val *,
    MDBX_val *, ptrdiff_t *) = mdbx_estimate_range;

#ifdef HUON_MDBX_H
/* Those that came later, and two that were never in a header. */
static int (*setup_debug_nofmt_)(MDBX_log_level_t, MDBX_debug_flags_t, MDBX_debug_func_nofmt *,
    char *, size_t) = mdbx_setup_debug_nofmt;
static intptr_t (*limits_keysize_min_)(MDBX_db_flags_t) = mdbx_limits_keysize_min;
static intptr_t (*limits_valsize_min_)(MDBX_db_flags_t) = mdbx_limits_valsize_min;
static intptr_t (*limits_pairsize4page_max_)(intptr_t,
    MDBX_db_flags_t) = mdbx_limits_pairsize4page_max;
static intptr_t (*limits_valsize4page_max_)(intptr_t,
    MDBX_db_flags_t) = mdbx_limits_valsize4page_max;
static int (*preopen_snapinfo_)(const char *, MDBX_envinfo *, size_t) = mdbx_preopen_snapinfo;
static int (*env_get_pairsize4page_max_)(const MDBX_env *,
    MDBX_db_flags_t) = mdbx_env_get_pairsize4page_max;
static int (*env_get_valsize4page_max_)(const MDBX_env *,
    MDBX_db_flags_t) = mdbx_env_get_valsize4page_max;
static int (*txn_copy2pathname_)(MDBX_txn *, const char *,
    MDBX_copy_flags_t) = mdbx_txn_copy2pathname;
static int (*txn_copy2fd_)(MDBX_txn *, mdbx_filehandle_t, MDBX_copy_flags_t) = mdbx_txn_copy2fd;
static int (*txn_park_)(MDBX_txn *, bool) = mdbx_txn_park;
static int (*txn_unpark_)(MDBX_txn *, bool) = mdbx_txn_unpark;
static int (*txn_release_all_cursors_ex_)(const MDBX_txn *, bool,
    size_t *) = mdbx_txn_release_all_cursors_ex;
static int (*txn_release_all_cursors_)(const MDBX_txn *, bool) = mdbx_txn_release_all_cursors;
static int (*dbi_open2_)(MDBX_txn *, const MDBX_val *, MDBX_db_flags_t,
    MDBX_dbi *) = mdbx_dbi_open2;
static int (*dbi_open_ex2_)(MDBX_txn *, const MDBX_val *, MDBX_db_flags_t, MDBX_dbi *,
    MDBX_cmp_func *, MDBX_cmp_func *) = mdbx_dbi_open_ex2;
static int (*set_compare_)(MDBX_txn *, MDBX_dbi, MDBX_cmp_func *) = mdbx_set_compare;
static int (*set_dupsort_)(MDBX_txn *, MDBX_dbi, MDBX_cmp_func *) = mdbx_set_dupsort;
static int (*dbi_rename_)(MDBX_txn *, MDBX_dbi, const char *) = mdbx_dbi_rename;
static int (*dbi_rename2_)(MDBX_txn *, MDBX_dbi, const MDBX_val *) = mdbx_dbi_rename2;
static int (*enumerate_tables_)(const MDBX_txn *, MDBX_table_enum_func *,
    void *) = mdbx_enumerate_tables;
static int (*cursor_unbind_)(MDBX_cursor *) = mdbx_cursor_unbind;
static int (*cursor_reset_)(MDBX_cursor *) = mdbx_cursor_reset;
static int (*cursor_on_first_dup_)(const MDBX_cursor *) = mdbx_cursor_on_first_dup;
static int (*cursor_on_last_dup_)(const MDBX_cursor *) = mdbx_cursor_on_last_dup;
#endif

/* Callbacks and data; never called. */
int callbacks(MDBX_val *a, MDBX_canary *canary);
int callbacks(MDBX_val *a, MDBX_canary *canary)
{
    MDBX_cmp_func *order = mdbx_get_keycmp(MDBX_REVERSEKEY | MDBX_DUPSORT);
    MDBX_debug_func *logger = MDBX_LOGGER_DONTCHANGE;
    MDBX_preserve_func preserve = NULL;
    MDBX_assert_func *broken = NULL;
    MDBX_hsr_func *slow = NULL;
    MDBX_reader_list_func *reader = NULL;
    MDBX_pgvisitor_func *page = NULL;
    const char *names[] = {MDBX_PGWALK_MAIN, MDBX_PGWALK_GC, MDBX_PGWALK_META};
    canary->x += MDBX_MAP_RESIZED == -30785;
    return order(a, MDBX_EPSILON) + (logger || preserve || broken || slow || reader || page) +
           (names[0] == names[1]);
}

int main(void)
{
    const void *all[] = {
        &strerror_, &strerror_r_, &liberr2str_, &setup_debug_, &dump_val_, &panic_,
        &assert_fail_, &limits_pgsize_min_, &limits_pgsize_max_, &limits_dbsize_min_,
        &limits_dbsize_max_, &limits_keysize_max_, &limits_valsize_max_,
        &limits_txnsize_max_, &default_pagesize_, &get_sysraminfo_,
        &is_readahead_reasonable_, &get_keycmp_, &get_datacmp_, &key_from_jsonInteger_,
        &key_from_double_, &key_from_ptrdouble_, &key_from_float_, &key_from_ptrfloat_,
        &key_from_int64_, &key_from_int32_, &jsonInteger_from_key_, &double_from_key_,
        &float_from_key_, &int32_from_key_, &int64_from_key_, &env_create_,
        &env_set_option_, &env_get_option_, &env_set_maxdbs_, &env_get_maxdbs_,
        &env_set_maxreaders_, &env_get_maxreaders_, &env_set_syncbytes_,
        &env_get_syncbytes_, &env_set_syncperiod_, &env_get_syncperiod_, &env_open_,
        &env_close_ex_, &env_close_, &env_delete_, &env_copy_, &env_copy2fd_, &env_stat_ex_,
        &env_stat_, &env_info_ex_, &env_info_, &env_sync_ex_, &env_sync_, &env_sync_poll_,
        &env_set_flags_, &env_get_flags_, &env_get_path_, &env_get_fd_, &env_set_geometry_,
        &env_set_mapsize_, &env_get_maxkeysize_ex_, &env_get_maxvalsize_ex_,
        &env_get_maxkeysize_, &env_set_userctx_, &env_get_userctx_, &env_set_assert_,
        &env_set_hsr_, &env_get_hsr_, &reader_list_, &reader_check_, &thread_register_,
        &thread_unregister_, &env_open_for_recovery_, &env_turn_for_recovery_, &env_pgwalk_,
        &txn_begin_ex_, &txn_begin_, &txn_commit_ex_, &txn_commit_, &txn_abort_,
        &txn_break_, &txn_reset_, &txn_renew_, &txn_info_, &txn_env_, &txn_flags_, &txn_id_,
        &txn_straggler_, &txn_set_userctx_, &txn_get_userctx_, &canary_put_, &canary_get_,
        &dbi_open_, &dbi_open_ex_, &dbi_close_, &dbi_stat_, &dbi_dupsort_depthmask_,
        &dbi_flags_ex_, &dbi_flags_, &drop_, &dbi_sequence_, &cmp_, &dcmp_, &get_, &get_ex_,
        &get_equal_or_great_, &put_, &replace_, &replace_ex_, &del_, &is_dirty_,
        &cursor_create_, &cursor_open_, &cursor_close_, &cursor_bind_, &cursor_renew_,
        &cursor_copy_, &cursor_txn_, &cursor_dbi_, &cursor_set_userctx_,
        &cursor_get_userctx_, &cursor_get_, &cursor_get_batch_, &cursor_put_, &cursor_del_,
        &cursor_count_, &cursor_eof_, &cursor_on_first_, &cursor_on_last_,
        &estimate_distance_, &estimate_move_, &estimate_range_,
#ifdef HUON_MDBX_H
        &setup_debug_nofmt_, &limits_keysize_min_, &limits_valsize_min_,
        &limits_pairsize4page_max_, &limits_valsize4page_max_, &txn_copy2pathname_,
        &txn_copy2fd_, &preopen_snapinfo_, &env_get_pairsize4page_max_,
        &env_get_valsize4page_max_, &txn_park_, &txn_unpark_,
        &txn_release_all_cursors_ex_, &txn_release_all_cursors_, &dbi_open2_,
        &dbi_open_ex2_, &set_compare_, &set_dupsort_, &dbi_rename_, &dbi_rename2_,
        &enumerate_tables_, &cursor_unbind_, &cursor_reset_, &cursor_on_first_dup_,
        &cursor_on_last_dup_,
#endif
    };
    int good = sizeof all / sizeof all[0] == 133
#ifdef HUON_MDBX_H
                                                 + 25
#endif
        ;
    good = good && mdbx_version.major == MDBX_VERSION_MAJOR;
    good = good && mdbx_version.minor == MDBX_VERSION_MINOR && mdbx_build.target != NULL;
    printf("%s numbers_and_layouts\n", good ? "ok" : "FAIL");
    return !good;
}
