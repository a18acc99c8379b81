/* Limits of a process: how many addresses it has, how long its files may be, one writer a file. */
#include "harness.h"
#include <resources.h>

static MDBX_env *opened(const char *path, intptr_t upper)
{
    MDBX_env *env = NULL;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_maxdbs(env, 4));
    OK(mdbx_env_set_geometry(env, -1, -1, upper, -1, -1, 4096));
    OK(mdbx_env_open(env, path, ENV_FLAGS(MDBX_NOSUBDIR | MDBX_SAFE_NOSYNC), 0644));
    return env;
}

static int put_once(MDBX_env *env, const char *key)
{
    MDBX_txn *txn = WRITE(env);
    int rc = put(txn, table(txn, NULL, 0), key, "value", 0);
    if (rc == 0) return mdbx_txn_commit(txn);
    OK(mdbx_txn_abort(txn));
    return rc;
}

/* More than the system has addresses for. */
static void many_large_environments(void)
{
    enum { COUNT = 200 };
    static MDBX_env *envs[COUNT];
    char path[32];
    unsigned i;
    for (i = 0; i < COUNT; i++) {
        snprintf(path, sizeof path, "./%u", i);
        envs[i] = opened(path, (intptr_t)500 << 30);
    }
    for (i = 0; i < COUNT; i++) {
        MDBX_txn *txn;
        MDBX_envinfo info;
        OK(put_once(envs[i], "key"));
        txn = READ(envs[i]);
        EXPECT_GET(txn, table(txn, NULL, 0), "key", "value");
        OK(mdbx_txn_abort(txn));
        OK(mdbx_env_info_ex(envs[i], NULL, &info, sizeof info));
        EXPECT(info.mi_geo.upper == (uint64_t)500 << 30);
    }
    expect_room();
    for (i = 0; i < COUNT; i++) OK(mdbx_env_close(envs[i]));
}

/* Puts transactions of 100 records until one does not fit, and says how many did. */
static unsigned fill(MDBX_env *env, int *rc)
{
    MDBX_val data = filled(1000, 'x');
    unsigned round, i;
    for (round = 0; round < 10000; round++) {
        MDBX_txn *txn = WRITE(env);
        MDBX_dbi dbi = table(txn, NULL, 0);
        *rc = 0;
        for (i = 0; i < 100 && *rc == 0; i++) {
            MDBX_val key = numbered("k", 100 * round + i);
            *rc = mdbx_put(txn, dbi, &key, &data, MDBX_UPSERT);
        }
        if (*rc == 0) *rc = mdbx_txn_commit(txn);
        else OK(mdbx_txn_abort(txn));
        if (*rc != 0) break;
    }
    return round;
}

/* The signal of a file that is too long would end this process: nothing here catches it. */
static void a_limit_of_file_sizes(void)
{
    MDBX_env *env;
    MDBX_txn *txn;
    unsigned rounds, more;
    int rc;
    limit_files(4 << 20);
    env = opened("./db", 1 << 30);
    rounds = fill(env, &rc);
    EXPECT_RC(rc, EFBIG);
    EXPECT(rounds > 10);
    EXPECT(size_of("./db") <= 4 << 20);
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 100 * rounds);
    OK(mdbx_txn_abort(txn));
    /* What fits goes on, and where the limit is gone everything does. */
    txn = WRITE(env);
    OK(mdbx_drop(txn, table(txn, NULL, 0), false));
    OK(mdbx_txn_commit(txn));
    OK(put_once(env, "small"));
    limit_files(RLIM_INFINITY);
    txn = WRITE(env);
    OK(mdbx_drop(txn, table(txn, NULL, 0), false));
    OK(mdbx_txn_commit(txn));
    limit_files(8 << 20);
    more = fill(env, &rc);
    EXPECT_RC(rc, EFBIG);
    EXPECT(more > rounds);
    OK(mdbx_env_close(env));
    env = opened("./db", 1 << 30);
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 100 * more);
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

/* A new environment that has no room leaves nothing behind. */
static void no_room_for_an_environment(void)
{
    MDBX_env *env = NULL;
    rlim_t bytes;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_close(env));
    for (bytes = 0; bytes < 16384; bytes += 4096) {
        limit_files(bytes);
        OK(mdbx_env_create(&env));
        EXPECT_RC(mdbx_env_open(env, "./db", MDBX_NOSUBDIR, 0644), EFBIG);
        OK(mdbx_env_close(env));
        limit_files(RLIM_INFINITY);
        EXPECT(access("./db", F_OK) != 0);
    }
    env = opened("./db", 1 << 20);
    OK(put_once(env, "key"));
    OK(mdbx_env_close(env));
}

/* A copy without room is an error, to a path and to a descriptor, whatever its offset. */
static void copies_without_room(void)
{
    static const MDBX_copy_flags_t ways[] = {MDBX_CP_DEFAULTS, MDBX_CP_COMPACT};
    MDBX_env *env = opened("./db", 1 << 30);
    MDBX_txn *txn = WRITE(env);
    MDBX_val data = filled(300000, 'x'), key = text("large");
    unsigned i;
    OK(mdbx_put(txn, table(txn, NULL, 0), &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_commit(txn));
    for (i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int fd = open("./fd", O_RDWR | O_CREAT | O_TRUNC, 0644), ends[2];
        limit_files(100000);
        EXPECT_RC(mdbx_env_copy(env, "./copy", ways[i]), EFBIG);
        EXPECT(access("./copy", F_OK) != 0);
        EXPECT_RC(mdbx_env_copy2fd(env, fd, ways[i]), EFBIG);
        EXPECT(size_of("./fd") <= 100000);
        /* Behind the limit nothing can be written at all. */
        EXPECT(lseek(fd, 200000, SEEK_SET) == 200000);
        EXPECT_RC(mdbx_env_copy2fd(env, fd, ways[i]), EFBIG);
        EXPECT(size_of("./fd") <= 100000);
        close(fd);
        limit_files(RLIM_INFINITY);
        /* The reader of a pipe has gone. */
        EXPECT(pipe(ends) == 0);
        close(ends[0]);
        EXPECT_RC(mdbx_env_copy2fd(env, ends[1], ways[i]), EPIPE);
        close(ends[1]);
    }
    OK(mdbx_env_copy(env, "./copy", MDBX_CP_DEFAULTS));
    OK(mdbx_env_close(env));
}

/* Two environments of one file: the thread would wait for itself. */
static void a_second_writer_in_the_thread(void)
{
    MDBX_env *one = opened("./db", 1 << 20), *two = opened("./db", 1 << 20);
    MDBX_txn *txn = WRITE(one), *second = NULL;
    EXPECT_RC(mdbx_txn_begin(two, NULL, MDBX_TXN_READWRITE, &second), MDBX_BUSY);
    EXPECT(second == NULL);
    OK(put(txn, table(txn, NULL, 0), "key", "value", 0));
    OK(mdbx_txn_commit(txn));
    second = WRITE(two);
    EXPECT_GET(second, table(second, NULL, 0), "key", "value");
    EXPECT_RC(mdbx_txn_begin(one, NULL, MDBX_TXN_READWRITE, &txn), MDBX_BUSY);
    OK(mdbx_txn_abort(second));
    OK(put_once(one, "more"));
    OK(mdbx_env_close(one));
    OK(mdbx_env_close(two));
}

CASES(CASE(many_large_environments), CASE(a_limit_of_file_sizes), CASE(no_room_for_an_environment),
      CASE(copies_without_room), CASE(a_second_writer_in_the_thread))
