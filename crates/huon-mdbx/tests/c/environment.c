/* Environments: open, close, delete, flags, options, geometry, information. */
#include "harness.h"
#include <limits.h>
#include <pthread.h>

/* Puts a record with this number of bytes into the main table. */
static int fill_one(MDBX_env *env, unsigned number, size_t size)
{
    MDBX_txn *txn = WRITE(env);
    MDBX_dbi dbi = table(txn, NULL, 0);
    MDBX_val key = numbered("k", number), data = filled(size, (int)number);
    int rc = mdbx_put(txn, dbi, &key, &data, MDBX_UPSERT);
    free_room(data.iov_base);
    if (rc == MDBX_SUCCESS) return mdbx_txn_commit(txn);
    OK(mdbx_txn_abort(txn));
    return rc;
}

static MDBX_envinfo info_of(MDBX_env *env)
{
    MDBX_envinfo info;
    OK(mdbx_env_info(env, &info, sizeof info));
    return info;
}

static int exists(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0;
}

static void in_a_directory(void)
{
    MDBX_env *env = new_env();
    const char *path = NULL;
    OK(mdbx_env_open(env, "./new", MDBX_ENV_DEFAULTS, 0755)); /* which is made */
    EXPECT(exists("new/mdbx.dat") && exists("new/mdbx.lck"));
    OK(mdbx_env_get_path(env, &path));
    EXPECT(strcmp(path, "./new") == 0 || strstr(path, "new/mdbx.dat"));
    OK(fill_one(env, 1, 10));
    OK(mdbx_env_close(env));
    env = new_env();
    OK(mdbx_env_open(env, "./new", MDBX_ENV_DEFAULTS, 0));
    OK(fill_one(env, 2, 10));
    OK(mdbx_env_close(env));
}

static void in_a_file(void)
{
    MDBX_env *env = new_env();
    OK(mdbx_env_open(env, "./file", MDBX_NOSUBDIR, 0644));
    EXPECT(exists("file") && exists(OURS ? "file-lock" : "file-lck"));
    OK(fill_one(env, 1, 10));
    OK(mdbx_env_close(env));
}

static void what_is_not_there(void)
{
    MDBX_env *env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./none", MDBX_ENV_DEFAULTS, 0), MDBX_ENOFILE);
    OK(mdbx_env_close(env));
    env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./none", MDBX_NOSUBDIR, 0), MDBX_ENOFILE);
    OK(mdbx_env_close(env));
    env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./none", MDBX_RDONLY, 0644), MDBX_ENOFILE);
    OK(mdbx_env_close(env));
    EXPECT(!exists("none"));
}

static void a_file_of_something_else(void)
{
    MDBX_env *env = new_env();
    FILE *file = fopen("other", "w");
    unsigned i;
    for (i = 0; i < 5000; i++) fprintf(file, "This is no environment. ");
    fclose(file);
    EXPECT(mdbx_env_open(env, "./other", MDBX_NOSUBDIR, 0644) != MDBX_SUCCESS);
    OK(mdbx_env_close(env));
    file = fopen("other", "r");
    EXPECT(fgetc(file) == 'T'); /* it stays what it is */
    fclose(file);
}

static void opened_once(void)
{
    MDBX_env *env = env_with(0);
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644), MDBX_EPERM);
    OK(mdbx_env_close(env));
    env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./db", ENV_FLAGS(0x8000), 0644), MDBX_EINVAL);
    OK(mdbx_env_close(env));
    EXPECT_RC(mdbx_env_close(NULL), MDBX_EINVAL);
    if (OURS) EXPECT_RC(mdbx_env_create(NULL), MDBX_EINVAL); /* libmdbx 0.11.8 crashes */
}

/* A handle that is not open yet answers little. */
static void not_open_yet(void)
{
    MDBX_env *env = new_env();
    MDBX_txn *txn = NULL;
    mdbx_filehandle_t fd;
    const char *path = NULL;
    MDBX_stat stat;
    EXPECT_RC(mdbx_txn_begin(env, NULL, MDBX_TXN_RDONLY, &txn), MDBX_EPERM);
    EXPECT_RC(mdbx_env_get_fd(env, &fd), MDBX_EPERM);
    EXPECT_RC(mdbx_env_get_path(env, &path), MDBX_EPERM);
    EXPECT_RC(mdbx_env_sync(env), MDBX_EPERM);
    EXPECT_RC(mdbx_env_stat(env, &stat, sizeof stat), MDBX_EPERM);
    OK(mdbx_env_close(env));
}

static void reading_alone(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn = NULL;
    unsigned flags = 0;
    OK(fill_one(env, 1, 10));
    OK(mdbx_env_close(env));
    env = new_env();
    OK(mdbx_env_open(env, "./db", MDBX_RDONLY, 0));
    OK(mdbx_env_get_flags(env, &flags));
    EXPECT(flags & MDBX_RDONLY);
    EXPECT_RC(mdbx_txn_begin(env, NULL, MDBX_TXN_READWRITE, &txn), MDBX_EACCESS);
    EXPECT_RC(mdbx_env_sync(env), MDBX_EACCESS);
    EXPECT_RC(mdbx_env_set_geometry(env, -1, -1, 128 << 20, -1, -1, -1), MDBX_EACCESS);
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 1);
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

static void deleted(void)
{
    MDBX_env *env = env_with(0);
    OK(fill_one(env, 1, 10));
    OK(mdbx_env_close(env));
    OK(mdbx_env_delete("./db", MDBX_ENV_ENSURE_UNUSED));
    EXPECT(!exists("db/mdbx.dat") && !exists("db/mdbx.lck"));
    YES(mdbx_env_delete("./db", MDBX_ENV_JUST_DELETE)); /* there was nothing */
    env = env_with(0);
    OK(mdbx_env_close(env));
    OK(mdbx_env_delete("./db", MDBX_ENV_JUST_DELETE));
    EXPECT_RC(mdbx_env_delete("./db", (MDBX_env_delete_mode_t)9), MDBX_EINVAL);
}

static int flags_in_force(MDBX_env *env)
{
    unsigned flags = 0;
    OK(mdbx_env_get_flags(env, &flags));
    return (int)flags;
}

static void flags_before_and_after(void)
{
    MDBX_env *env = new_env();
    OK(mdbx_env_set_flags(env, MDBX_NOMETASYNC, true));
    EXPECT(flags_in_force(env) & MDBX_NOMETASYNC);
    OK(mdbx_env_set_flags(env, MDBX_NOMETASYNC, false));
    OK(mdbx_env_open(env, "./db", ENV_FLAGS(MDBX_LIFORECLAIM | MDBX_NORDAHEAD), 0644));
    EXPECT_NUM(flags_in_force(env) & (MDBX_LIFORECLAIM | MDBX_NORDAHEAD | MDBX_NOMETASYNC),
               MDBX_LIFORECLAIM | MDBX_NORDAHEAD);
    OK(mdbx_env_set_flags(env, MDBX_SAFE_NOSYNC, true));
    EXPECT_NUM(flags_in_force(env) & MDBX_UTTERLY_NOSYNC, MDBX_SAFE_NOSYNC);
    OK(mdbx_env_set_flags(env, MDBX_UTTERLY_NOSYNC, true));
    EXPECT_NUM(flags_in_force(env) & MDBX_UTTERLY_NOSYNC, MDBX_UTTERLY_NOSYNC);
    OK(mdbx_env_set_flags(env, MDBX_UTTERLY_NOSYNC, false));
    EXPECT_NUM(flags_in_force(env) & MDBX_UTTERLY_NOSYNC, 0);
    OK(mdbx_env_set_flags(env, ENV_FLAGS(MDBX_NOMEMINIT | MDBX_NOMETASYNC), true));
    EXPECT_RC(mdbx_env_set_flags(env, MDBX_WRITEMAP, true), MDBX_EPERM);
    EXPECT_RC(mdbx_env_set_flags(env, MDBX_NOTLS, true), MDBX_EPERM);
    EXPECT_RC(mdbx_env_set_flags(env, ENV_FLAGS(0x8000), true), MDBX_EPERM);
    EXPECT_RC(mdbx_env_get_flags(env, NULL), MDBX_EINVAL);
    OK(fill_one(env, 1, 100));
    OK(mdbx_env_close(env));
}

static void a_pointer_of_the_programs(void)
{
    MDBX_env *env = new_env();
    int mine;
    EXPECT(mdbx_env_get_userctx(env) == NULL);
    OK(mdbx_env_set_userctx(env, &mine));
    EXPECT(mdbx_env_get_userctx(env) == &mine);
    OK(mdbx_env_close(env));
    EXPECT(mdbx_env_get_userctx(NULL) == NULL);
}

static uint64_t option(MDBX_env *env, MDBX_option_t which)
{
    uint64_t value = 99;
    OK(mdbx_env_get_option(env, which, &value));
    return value;
}

static void options(void)
{
    MDBX_env *env = NULL;
    MDBX_dbi dbs = 9;
    unsigned readers = 0;
    uint64_t value;
    OK(mdbx_env_create(&env));
    EXPECT_NUM(option(env, MDBX_opt_max_db), 0);
    OK(mdbx_env_set_option(env, MDBX_opt_max_db, 7));
    OK(mdbx_env_get_maxdbs(env, &dbs));
    EXPECT_NUM(dbs, 7);
    OK(mdbx_env_set_maxreaders(env, 200));
    EXPECT(option(env, MDBX_opt_max_readers) >= 200);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_max_readers, 0), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_max_readers, 40000), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_max_db, MDBX_MAX_DBI + 1), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_sync_bytes, 1 << 20), MDBX_EPERM);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_sync_period, 65536), MDBX_EPERM);
    EXPECT_RC(mdbx_env_set_option(env, (MDBX_option_t)1000, 1), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_get_option(env, (MDBX_option_t)1000, &value), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_get_option(env, MDBX_opt_max_db, NULL), MDBX_EINVAL);
    OK(mdbx_env_open(env, "./db", MDBX_SAFE_NOSYNC, 0644));
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_max_db, 9), MDBX_EPERM);
    EXPECT_RC(mdbx_env_set_maxreaders(env, 300), MDBX_EPERM);
    OK(mdbx_env_get_maxreaders(env, &readers));
    EXPECT(readers >= 200);
    OK(mdbx_env_set_syncbytes(env, 1 << 20));
    EXPECT_NUM(option(env, MDBX_opt_sync_bytes), 1 << 20);
    OK(mdbx_env_set_syncperiod(env, 3 * 65536));
    EXPECT_NUM(option(env, MDBX_opt_sync_period), 3 * 65536);
    OK(mdbx_env_close(env));
}

/* Those that are details of libmdbx are kept, within their bounds. */
static void options_that_are_kept(void)
{
    MDBX_env *env = env_with(0);
    OK(mdbx_env_set_option(env, MDBX_opt_loose_limit, 100));
    EXPECT_NUM(option(env, MDBX_opt_loose_limit), 100);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_loose_limit, 256), MDBX_EINVAL);
    OK(mdbx_env_set_option(env, MDBX_opt_dp_reserve_limit, 2000));
    EXPECT_NUM(option(env, MDBX_opt_dp_reserve_limit), 2000);
    OK(mdbx_env_set_option(env, MDBX_opt_rp_augment_limit, 100000));
    EXPECT_NUM(option(env, MDBX_opt_rp_augment_limit), 100000);
    OK(mdbx_env_set_option(env, MDBX_opt_txn_dp_limit, 10000));
    EXPECT_NUM(option(env, MDBX_opt_txn_dp_limit), 10000);
    OK(mdbx_env_set_option(env, MDBX_opt_txn_dp_initial, 1024));
    EXPECT_NUM(option(env, MDBX_opt_txn_dp_initial), 1024);
    OK(mdbx_env_set_option(env, MDBX_opt_spill_max_denominator, 4));
    EXPECT_NUM(option(env, MDBX_opt_spill_max_denominator), 4);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_spill_max_denominator, 256), MDBX_EINVAL);
    OK(mdbx_env_set_option(env, MDBX_opt_spill_min_denominator, 16));
    EXPECT_NUM(option(env, MDBX_opt_spill_min_denominator), 16);
    OK(mdbx_env_set_option(env, MDBX_opt_spill_parent4child_denominator, 2));
    EXPECT_NUM(option(env, MDBX_opt_spill_parent4child_denominator), 2);
    OK(mdbx_env_set_option(env, MDBX_opt_merge_threshold_16dot16_percent, 20000));
    EXPECT_NUM(option(env, MDBX_opt_merge_threshold_16dot16_percent), 20000);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_merge_threshold_16dot16_percent, 8000),
              MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_option(env, MDBX_opt_merge_threshold_16dot16_percent, 33000),
              MDBX_EINVAL);
    OK(mdbx_env_close(env));
}

static void the_geometry_of_a_new_file(void)
{
    MDBX_env *env = NULL;
    MDBX_envinfo info;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_geometry(env, 1 << 20, 2 << 20, 64 << 20, 1 << 20, 2 << 20, 8192));
    info = info_of(env); /* told before it is open */
    EXPECT_NUM(info.mi_geo.upper, 64 << 20);
    OK(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644));
    info = info_of(env);
    EXPECT_NUM(info.mi_geo.lower, 1 << 20);
    EXPECT_NUM(info.mi_geo.current, 2 << 20);
    EXPECT_NUM(info.mi_geo.upper, 64 << 20);
    EXPECT_NUM(info.mi_geo.grow, 1 << 20);
    EXPECT_NUM(info.mi_geo.shrink, 2 << 20);
    EXPECT_NUM(info.mi_dxb_pagesize, 8192);
    EXPECT_NUM(info.mi_sys_pagesize, sysconf(_SC_PAGESIZE));
    EXPECT_NUM(mdbx_env_get_maxkeysize_ex(env, MDBX_DB_DEFAULTS),
               mdbx_limits_keysize_max(8192, MDBX_DB_DEFAULTS));
    EXPECT_NUM(mdbx_env_get_maxvalsize_ex(env, MDBX_DUPSORT),
               mdbx_limits_valsize_max(8192, MDBX_DUPSORT));
    EXPECT_NUM(mdbx_env_get_maxkeysize(env), mdbx_env_get_maxkeysize_ex(env, MDBX_DUPSORT));
    OK(mdbx_env_close(env));
}

static void a_geometry_that_contradicts_itself(void)
{
    MDBX_env *env = NULL;
    OK(mdbx_env_create(&env));
    EXPECT_RC(mdbx_env_set_geometry(env, 64 << 20, -1, 1 << 20, -1, -1, -1), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_geometry(env, -1, -1, -1, -1, -1, 5000), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_geometry(env, -1, -1, -1, -1, -1, 128), MDBX_EINVAL);
    OK(mdbx_env_set_geometry(env, 0, 0, 1 << 20, 0, 0, 0)); /* the least of each */
    OK(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644));
    EXPECT_NUM(info_of(env).mi_dxb_pagesize, MDBX_MIN_PAGESIZE);
    EXPECT_RC(mdbx_env_set_geometry(env, -1, -1, -1, -1, -1, 4096), MDBX_EINVAL);
    OK(mdbx_env_close(env));
}

static void the_upper_bound(void)
{
    MDBX_env *env = NULL;
    unsigned i;
    int rc = 0;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_geometry(env, -1, -1, 1 << 20, -1, -1, 4096));
    OK(mdbx_env_open(env, "./db", MDBX_UTTERLY_NOSYNC, 0644));
    for (i = 0; rc == 0 && i < 1000; i++) rc = fill_one(env, i, 10000);
    EXPECT_RC(rc, MDBX_MAP_FULL);
    EXPECT(i > 50 && i < 110);
    EXPECT_RC(mdbx_env_set_geometry(env, -1, -1, 256 << 10, -1, -1, -1), MDBX_MAP_FULL);
    OK(mdbx_env_set_geometry(env, -1, -1, 8 << 20, -1, -1, -1));
    EXPECT_NUM(info_of(env).mi_geo.upper, 8 << 20);
    for (i = 200; i < 300; i++) OK(fill_one(env, i, 10000));
    OK(mdbx_env_close(env));
}

/* In a transaction it is a part of that. */
static void a_geometry_within_a_transaction(void)
{
    MDBX_env *env = env_with(MDBX_SAFE_NOSYNC);
    MDBX_txn *txn = WRITE(env);
    OK(mdbx_env_set_geometry(env, -1, -1, 32 << 20, -1, -1, -1));
    OK(mdbx_txn_abort(txn));
    EXPECT_NUM(info_of(env).mi_geo.upper, 64 << 20);
    txn = WRITE(env);
    OK(mdbx_env_set_geometry(env, -1, -1, 32 << 20, -1, -1, -1));
    OK(mdbx_txn_commit(txn));
    EXPECT_NUM(info_of(env).mi_geo.upper, 32 << 20);
    OK(mdbx_env_close(env));
}

static void the_geometry_of_an_old_file(void)
{
    MDBX_env *env = env_with(0);
    OK(fill_one(env, 1, 100));
    OK(mdbx_env_close(env));
    OK(mdbx_env_create(&env));
    OK(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644)); /* what it has */
    EXPECT_NUM(info_of(env).mi_geo.upper, 64 << 20);
    OK(mdbx_env_close(env));
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_geometry(env, -1, -1, 32 << 20, -1, -1, 16384));
    OK(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644));
    EXPECT_NUM(info_of(env).mi_geo.upper, 32 << 20);
    EXPECT_NUM(info_of(env).mi_dxb_pagesize, 4096); /* its pages stay as they are */
    OK(mdbx_env_close(env));
}

static void a_size_that_stays(void)
{
    MDBX_env *env = NULL;
    MDBX_envinfo info;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_mapsize(env, 4 << 20));
    OK(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644));
    info = info_of(env);
    EXPECT_NUM(info.mi_geo.lower, 4 << 20);
    EXPECT_NUM(info.mi_geo.upper, 4 << 20);
    EXPECT_NUM(info.mi_geo.current, 4 << 20);
    OK(mdbx_env_close(env));
}

static void what_is_known(void)
{
    MDBX_env *env = env_with(MDBX_SAFE_NOSYNC);
    MDBX_envinfo info, before = info_of(env);
    MDBX_txn *txn;
    OK(fill_one(env, 1, 5000));
    info = info_of(env);
    EXPECT_NUM(info.mi_recent_txnid, before.mi_recent_txnid + 1);
    EXPECT(info.mi_last_pgno > before.mi_last_pgno);
    EXPECT(info.mi_mapsize >= info.mi_geo.current);
    EXPECT_NUM(info.mi_latter_reader_txnid, info.mi_recent_txnid);
    EXPECT(info.mi_maxreaders > 0 && info.mi_numreaders <= info.mi_maxreaders);
    EXPECT(info.mi_bootid.current.x || info.mi_bootid.current.y);
    EXPECT(info.mi_unsync_volume > 0); /* nothing flushed it */
    EXPECT(info.mi_mode & MDBX_SAFE_NOSYNC);
    OK(mdbx_env_sync(env));
    EXPECT_NUM(info_of(env).mi_unsync_volume, 0);
    txn = READ(env);
    OK(mdbx_env_info_ex(env, txn, &info, sizeof info));
    EXPECT_NUM(info.mi_recent_txnid, mdbx_txn_id(txn));
    EXPECT_NUM(info.mi_self_latter_reader_txnid, mdbx_txn_id(txn));
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

static void information_of_older_sizes(void)
{
    MDBX_env *env = env_with(0);
    MDBX_envinfo info;
    memset(&info, 0xff, sizeof info);
    OK(mdbx_env_info(env, &info, offsetof(MDBX_envinfo, mi_pgop_stat)));
    EXPECT_NUM(info.mi_dxb_pagesize, 4096);
    EXPECT(info.mi_pgop_stat.newly == UINT64_MAX); /* nothing was written behind the end */
    memset(&info, 0xff, sizeof info);
    OK(mdbx_env_info(env, &info, offsetof(MDBX_envinfo, mi_bootid)));
    EXPECT_NUM(info.mi_dxb_pagesize, 4096);
    EXPECT(info.mi_bootid.current.x == UINT64_MAX);
    EXPECT_RC(mdbx_env_info(env, &info, 17), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_info(env, NULL, sizeof info), MDBX_EINVAL);
    OK(mdbx_env_close(env));
}

static void flushed(void)
{
    MDBX_env *env = env_with(MDBX_SAFE_NOSYNC);
    OK(fill_one(env, 1, 5000));
    OK(mdbx_env_sync_ex(env, true, false));
    YES(mdbx_env_sync_ex(env, true, false)); /* there is nothing more */
    OK(fill_one(env, 2, 5000));
    OK(mdbx_env_sync_poll(env)); /* no limit is passed */
    EXPECT(info_of(env).mi_unsync_volume > 0);
    OK(mdbx_env_set_syncbytes(env, 1));
    OK(fill_one(env, 3, 5000));
    EXPECT_NUM(info_of(env).mi_unsync_volume, 0); /* the commit did it */
    OK(mdbx_env_close_ex(env, true));
}

struct other {
    MDBX_env *env;
    pthread_barrier_t barrier;
};

static void *writes(void *arg)
{
    struct other *other = (struct other *)arg;
    MDBX_txn *txn = WRITE(other->env);
    pthread_barrier_wait(&other->barrier);
    pthread_barrier_wait(&other->barrier);
    OK(mdbx_txn_abort(txn));
    return NULL;
}

static void not_closed_while_another_writes(void)
{
    struct other other;
    pthread_t thread;
    other.env = env_with(0);
    pthread_barrier_init(&other.barrier, NULL, 2);
    EXPECT(pthread_create(&thread, NULL, writes, &other) == 0);
    pthread_barrier_wait(&other.barrier);
    EXPECT_RC(mdbx_env_close(other.env), MDBX_BUSY);
    pthread_barrier_wait(&other.barrier);
    EXPECT(pthread_join(thread, NULL) == 0);
    OK(mdbx_env_close(other.env));
}

static void tells(const MDBX_env *env, const char *msg, const char *function, unsigned line)
{
    FILE *log = fopen("told", "w");
    fprintf(log, "%s %s %u %d", msg, function, line, env != NULL);
    fclose(log);
}

static void told_of_a_broken_rule(void)
{
    MDBX_env *env = env_with(0);
    char told[100];
    int status = 0;
    FILE *log;
    pid_t child;
    ours_alone(); /* libmdbx has this where it was built for it */
    OK(mdbx_env_set_assert(env, tells));
    OK(mdbx_env_close(env));
    child = fork();
    if (child == 0) {
        env = env_with(0);
        OK(mdbx_env_set_assert(env, tells));
        mdbx_assert_fail(env, "1 < 0", "somewhere", 42);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status));
    log = fopen("told", "r");
    EXPECT(log != NULL);
    told[fread(told, 1, sizeof told - 1, log)] = 0;
    fclose(log);
    EXPECT(strcmp(told, "1 < 0 somewhere 42 1") == 0);
}

static void the_lengths_that_fit(void)
{
    MDBX_env *env = env_with(0);
    EXPECT_NUM(mdbx_env_get_maxkeysize_ex(env, MDBX_DB_DEFAULTS), 2022);
    EXPECT_NUM(mdbx_env_get_maxkeysize_ex(env, MDBX_INTEGERKEY), 8);
    EXPECT_NUM(mdbx_env_get_maxvalsize_ex(env, MDBX_DUPSORT), 2022);
    EXPECT_NUM(mdbx_env_get_maxvalsize_ex(env, MDBX_DB_DEFAULTS), 0x7ff00000);
    EXPECT_NUM(mdbx_env_get_maxkeysize_ex(NULL, MDBX_DB_DEFAULTS), -1);
#if OURS
    EXPECT_NUM(mdbx_env_get_pairsize4page_max(env, MDBX_DB_DEFAULTS),
               mdbx_limits_pairsize4page_max(4096, MDBX_DB_DEFAULTS));
    EXPECT_NUM(mdbx_env_get_valsize4page_max(env, MDBX_DB_DEFAULTS),
               mdbx_limits_valsize4page_max(4096, MDBX_DB_DEFAULTS));
#endif
    OK(mdbx_env_close(env));
}

/* Structures of libmdbx 0.12, 0.13 and 0.14, which are longer, and have numbers elsewhere. */
static void information_of_later_sizes(void)
{
    static const struct {
        size_t size, last_pgno, metas, step, max_readers, boot, mode, ops;
    } later[] = {
        {336, 48, 80, 16, 128, 144, 236, 240},
        {352, 48, 80, 8, 128, 144, 236, 240},
        {376, 64, 96, 8, 144, 168, 260, 264},
    };
    MDBX_env *env = env_with(MDBX_SAFE_NOSYNC);
    MDBX_envinfo known;
    unsigned char room[400];
    unsigned i, meta;
    if (!OURS) skip("for Huon's library alone");
    OK(fill_one(env, 100, 100));
    OK(mdbx_env_info_ex(env, NULL, &known, sizeof known));
    for (i = 0; i < 3; i++) {
        memset(room, 0xa5, sizeof room);
        OK(mdbx_env_info_ex(env, NULL, (MDBX_envinfo *)room, later[i].size));
        EXPECT(room[later[i].size] == 0xa5);
        EXPECT(memcmp(room, &known, 48) == 0);
        EXPECT(memcmp(room + later[i].last_pgno, &known.mi_last_pgno, 32) == 0);
        for (meta = 0; meta < 3; meta++) {
            const uint64_t *own = &known.mi_meta0_txnid + 2 * meta;
            const unsigned char *at = room + later[i].metas + later[i].step * meta;
            EXPECT(memcmp(at, own, 8) == 0);
            EXPECT(memcmp(at + (i == 0 ? 8 : 24), own + 1, 8) == 0);
        }
        EXPECT(memcmp(room + later[i].max_readers, &known.mi_maxreaders, 16) == 0);
        EXPECT(memcmp(room + later[i].boot, &known.mi_bootid, 64) == 0);
        EXPECT(memcmp(room + later[i].mode, &known.mi_mode, 4) == 0);
        EXPECT(memcmp(room + later[i].ops + 16, &known.mi_pgop_stat.clone, 48) == 0);
    }
    EXPECT(memcmp(room + 48, &known.mi_geo.current, 8) == 0); /* the file's length */
    EXPECT_RC(mdbx_env_info_ex(env, NULL, (MDBX_envinfo *)room, 360), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_info_ex(env, NULL, (MDBX_envinfo *)room, 384), MDBX_EINVAL);
    OK(mdbx_env_close(env));
}

CASES(CASE(in_a_directory), CASE(in_a_file), CASE(what_is_not_there),
      CASE(a_file_of_something_else), CASE(opened_once), CASE(not_open_yet), CASE(reading_alone),
      CASE(deleted), CASE(flags_before_and_after), CASE(a_pointer_of_the_programs), CASE(options),
      CASE(options_that_are_kept), CASE(the_geometry_of_a_new_file),
      CASE(a_geometry_that_contradicts_itself), CASE(the_upper_bound),
      CASE(a_geometry_within_a_transaction), CASE(the_geometry_of_an_old_file),
      CASE(a_size_that_stays), CASE(what_is_known), CASE(information_of_older_sizes),
      CASE(flushed), CASE(not_closed_while_another_writes),
      CASE(told_of_a_broken_rule), CASE(the_lengths_that_fit),
      CASE(information_of_later_sizes))
