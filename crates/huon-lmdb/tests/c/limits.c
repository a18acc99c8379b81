/* Limits of a process: how many addresses it has, how long its files may be, one writer a file. */
#include "harness.h"
#include <resources.h>

static MDB_env *opened(const char *path, size_t map_size)
{
    MDB_env *env = NULL;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxdbs(env, 4));
    OK(mdb_env_set_mapsize(env, map_size));
    OK(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOSYNC, 0644));
    return env;
}

static int put_once(MDB_env *env, const char *key)
{
    MDB_txn *txn = WRITE(env);
    int rc = put(txn, table(txn, NULL, 0), key, "value", 0);
    if (rc == 0) return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

/* More than the system has addresses for. */
static void many_large_environments(void)
{
    enum { COUNT = 200 };
    static MDB_env *envs[COUNT];
    char path[32];
    unsigned i;
    for (i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, "./%u", i);
        envs[i] = opened(path, (size_t)500 << 30);
    }
    for (i = 0; i < COUNT; i++) {
        MDB_txn *txn;
        MDB_envinfo info;
        OK(put_once(envs[i], "key"));
        txn = READ(envs[i]);
        EXPECT_GET(txn, table(txn, NULL, 0), "key", "value");
        mdb_txn_abort(txn);
        OK(mdb_env_info(envs[i], &info));
        EXPECT(info.me_mapsize == (size_t)500 << 30);
    }
    expect_room();
    for (i = 0; i < COUNT; i++) mdb_env_close(envs[i]);
}

/* Puts transactions of 100 records until one does not fit, and says how many did. */
static unsigned fill(MDB_env *env, int *rc)
{
    MDB_val data = filled(1000, 'x');
    unsigned round, i;
    for (round = 0; round < 10000; round++) {
        MDB_txn *txn = WRITE(env);
        MDB_dbi dbi = table(txn, NULL, 0);
        *rc = 0;
        for (i = 0; i < 100 && *rc == 0; i++) {
            MDB_val key = numbered("k", 100 * round + i);
            *rc = mdb_put(txn, dbi, &key, &data, 0);
        }
        if (*rc == 0) *rc = mdb_txn_commit(txn);
        else mdb_txn_abort(txn);
        if (*rc != 0) break;
    }
    return round;
}

/* The signal of a file that is too long would end this process: nothing here catches it. */
static void a_limit_of_file_sizes(void)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_stat stat;
    unsigned rounds, more;
    int rc;
    limit_files(4 << 20);
    env = opened("./db", 1 << 30);
    rounds = fill(env, &rc);
    EXPECT_RC(rc, EFBIG);
    EXPECT(rounds > 10);
    EXPECT(size_of("./db") <= 4 << 20);
    txn = READ(env);
    OK(mdb_stat(txn, table(txn, NULL, 0), &stat));
    EXPECT_NUM(stat.ms_entries, 100 * rounds);
    mdb_txn_abort(txn);
    /* What fits goes on, and where the limit is gone everything does. */
    txn = WRITE(env);
    OK(mdb_drop(txn, table(txn, NULL, 0), 0));
    OK(mdb_txn_commit(txn));
    OK(put_once(env, "small"));
    limit_files(RLIM_INFINITY);
    txn = WRITE(env);
    OK(mdb_drop(txn, table(txn, NULL, 0), 0));
    OK(mdb_txn_commit(txn));
    limit_files(8 << 20);
    more = fill(env, &rc);
    EXPECT_RC(rc, EFBIG);
    EXPECT(more > rounds);
    mdb_env_close(env);
    env = opened("./db", 1 << 30);
    txn = READ(env);
    OK(mdb_stat(txn, table(txn, NULL, 0), &stat));
    EXPECT_NUM(stat.ms_entries, 100 * more);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

/* A new environment that has no room leaves nothing behind. */
static void no_room_for_an_environment(void)
{
    MDB_env *env = NULL;
    rlim_t bytes;
    OK(mdb_env_create(&env));
    mdb_env_close(env);
    for (bytes = 0; bytes < 16384; bytes += 4096) {
        limit_files(bytes);
        OK(mdb_env_create(&env));
        EXPECT_RC(mdb_env_open(env, "./db", MDB_NOSUBDIR, 0644), EFBIG);
        mdb_env_close(env);
        limit_files(RLIM_INFINITY);
        EXPECT(access("./db", F_OK) != 0);
    }
    env = opened("./db", 1 << 20);
    OK(put_once(env, "key"));
    mdb_env_close(env);
}

/* A copy without room is an error, to a path and to a descriptor, whatever its offset. */
static void copies_without_room(void)
{
    static const unsigned ways[] = {0, MDB_CP_COMPACT};
    MDB_env *env = opened("./db", 1 << 30);
    MDB_txn *txn = WRITE(env);
    MDB_val data = filled(300000, 'x'), key = text("large");
    unsigned i;
    OK(mdb_put(txn, table(txn, NULL, 0), &key, &data, 0));
    OK(mdb_txn_commit(txn));
    for (i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int fd = open("./fd", O_RDWR | O_CREAT | O_TRUNC, 0644), ends[2];
        limit_files(100000);
        EXPECT_RC(mdb_env_copy2(env, "./copy", ways[i]), EFBIG);
        EXPECT(access("./copy", F_OK) != 0);
        EXPECT_RC(mdb_env_copyfd2(env, fd, ways[i]), EFBIG);
        EXPECT(size_of("./fd") <= 100000);
        /* Behind the limit nothing can be written at all. */
        EXPECT(lseek(fd, 200000, SEEK_SET) == 200000);
        EXPECT_RC(mdb_env_copyfd2(env, fd, ways[i]), EFBIG);
        EXPECT(size_of("./fd") <= 100000);
        close(fd);
        limit_files(RLIM_INFINITY);
        /* The reader of a pipe has gone. */
        EXPECT(pipe(ends) == 0);
        close(ends[0]);
        EXPECT_RC(mdb_env_copyfd2(env, ends[1], ways[i]), EPIPE);
        close(ends[1]);
    }
    OK(mdb_env_copy2(env, "./copy", 0));
    mdb_env_close(env);
}

/* Two environments of one file: the thread would wait for itself. */
static void a_second_writer_in_the_thread(void)
{
    MDB_env *one = opened("./db", 1 << 20), *two = opened("./db", 1 << 20);
    MDB_txn *txn = WRITE(one), *second = NULL;
    EXPECT_RC(mdb_txn_begin(two, NULL, 0, &second), EDEADLK);
    EXPECT(second == NULL);
    OK(put(txn, table(txn, NULL, 0), "key", "value", 0));
    OK(mdb_txn_commit(txn));
    second = WRITE(two);
    EXPECT_GET(second, table(second, NULL, 0), "key", "value");
    EXPECT_RC(mdb_txn_begin(one, NULL, 0, &txn), EDEADLK);
    mdb_txn_abort(second);
    OK(put_once(one, "more"));
    mdb_env_close(one);
    mdb_env_close(two);
}

CASES(CASE(many_large_environments), CASE(a_limit_of_file_sizes), CASE(no_room_for_an_environment),
      CASE(copies_without_room), CASE(a_second_writer_in_the_thread))
