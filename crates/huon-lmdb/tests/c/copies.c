/* Copies of an environment: to a path, to a descriptor, plain and compact, beside a writer. */
#include "harness.h"

#include <pthread.h>

/* An environment with 2000 records, a table of many values, and free pages. */
static MDB_env *filled_env(void)
{
    MDB_env *env = env_with(MDB_NOSYNC);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE), many = table(txn, "m", MDB_CREATE | MDB_DUPSORT);
    MDB_val data = filled(1500, 'x'), large = filled(100000, 'y'), key;
    unsigned i;
    for (i = 0; i < 4000; i++) {
        key = numbered("k", i);
        OK(mdb_put(txn, dbi, &key, &data, 0));
    }
    for (i = 0; i < 1000; i++) {
        MDB_val value = numbered("v", i);
        key = numbered("m", i % 3);
        OK(mdb_put(txn, many, &key, &value, 0));
    }
    key = text("large");
    OK(mdb_put(txn, dbi, &key, &large, 0));
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    for (i = 2000; i < 4000; i++) {
        key = numbered("k", i);
        OK(mdb_del(txn, dbi, &key, NULL));
    }
    OK(mdb_txn_commit(txn));
    return env;
}

/* The environment at `path` has what `filled_env` made. */
static void expect_filled(const char *path, unsigned flags)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = text("large"), data;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxdbs(env, 4));
    OK(mdb_env_open(env, path, flags, 0644));
    txn = WRITE(env);
    dbi = table(txn, "t", 0);
    EXPECT_NUM(entries(txn, dbi), 2001);
    OK(mdb_get(txn, dbi, &key, &data));
    EXPECT_NUM(data.mv_size, 100000);
    EXPECT_NUM(entries(txn, table(txn, "m", 0)), 1000);
    OK(put(txn, dbi, "more", "v", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static off_t size_of(const char *path)
{
    struct stat stat_buf;
    EXPECT(stat(path, &stat_buf) == 0);
    return stat_buf.st_size;
}

static void into_a_directory(void)
{
    MDB_env *env = filled_env();
    EXPECT_RC(mdb_env_copy(env, "copy"), ENOENT);
    EXPECT(mkdir("copy", 0755) == 0);
    OK(mdb_env_copy(env, "copy"));
    EXPECT(access("copy/data.mdb", F_OK) == 0);
    EXPECT_RC(mdb_env_copy(env, "copy"), EEXIST);
    mdb_env_close(env);
    expect_filled("copy", 0);
}

static void to_a_file(void)
{
    MDB_env *env;
    MDB_txn *txn;
    OK(mdb_env_create(&env));
    OK(mdb_env_open(env, "one", MDB_NOSUBDIR, 0644));
    txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(txn));
    OK(mdb_env_copy(env, "two"));
    EXPECT_RC(mdb_env_copy2(env, "two", MDB_CP_COMPACT), EEXIST);
    mdb_env_close(env);
    OK(mdb_env_create(&env));
    OK(mdb_env_open(env, "two", MDB_NOSUBDIR, 0644));
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void compact_is_smaller(void)
{
    MDB_env *env = filled_env();
    EXPECT(mkdir("plain", 0755) == 0 && mkdir("compact", 0755) == 0);
    OK(mdb_env_copy2(env, "plain", 0));
    OK(mdb_env_copy2(env, "compact", MDB_CP_COMPACT));
    mdb_env_close(env);
    EXPECT(size_of("compact/data.mdb") < size_of("plain/data.mdb"));
    expect_filled("plain", 0);
    expect_filled("compact", 0);
}

static void to_a_descriptor(void)
{
    MDB_env *env = filled_env();
    int plain = open("plain", O_RDWR | O_CREAT, 0644);
    int compact = open("compact", O_RDWR | O_CREAT, 0644);
    OK(mdb_env_copyfd(env, plain));
    OK(mdb_env_copyfd2(env, compact, MDB_CP_COMPACT));
    close(plain);
    close(compact);
    mdb_env_close(env);
    expect_filled("plain", MDB_NOSUBDIR);
    expect_filled("compact", MDB_NOSUBDIR);
}

struct drain {
    int from;
    const char *path;
};

static void *drain(void *arg)
{
    struct drain *drain = arg;
    char part[10000];
    ssize_t size;
    FILE *file = fopen(drain->path, "w");
    while ((size = read(drain->from, part, sizeof part)) > 0) fwrite(part, 1, size, file);
    fclose(file);
    return NULL;
}

static void through_a_pipe(void)
{
    unsigned flags;
    for (flags = 0; flags <= MDB_CP_COMPACT; flags++) {
        MDB_env *env = filled_env();
        struct drain to;
        pthread_t thread;
        int ends[2];
        EXPECT(pipe(ends) == 0);
        to.from = ends[0];
        to.path = flags ? "compact" : "plain";
        EXPECT(pthread_create(&thread, NULL, drain, &to) == 0);
        OK(mdb_env_copyfd2(env, ends[1], flags));
        close(ends[1]);
        pthread_join(thread, NULL);
        mdb_env_close(env);
        expect_filled(to.path, MDB_NOSUBDIR);
        EXPECT(unlink("data.mdb") == 0 && unlink("lock.mdb") == 0);
    }
}

static void a_reader_that_is_gone(void)
{
    MDB_env *env = filled_env();
    int fd = open("data.mdb", O_RDONLY);
    EXPECT(mdb_env_copyfd(env, fd) != 0); /* not open for writing */
    EXPECT_RC(mdb_env_copyfd(env, -1), EBADF);
    close(fd);
    mdb_env_close(env);
}

static void of_an_empty_environment(void)
{
    MDB_env *env = env_with(0), *copy;
    MDB_txn *txn;
    EXPECT(mkdir("copy", 0755) == 0 && mkdir("compact", 0755) == 0);
    OK(mdb_env_copy(env, "copy"));
    OK(mdb_env_copy2(env, "compact", MDB_CP_COMPACT));
    mdb_env_close(env);
    OK(mdb_env_create(&copy));
    OK(mdb_env_open(copy, "compact", 0, 0644));
    txn = WRITE(copy);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 0);
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(copy);
}

static void beside_a_writer(void)
{
    MDB_env *env = filled_env();
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", 0);
    OK(put(txn, dbi, "not yet", "v", 0));
    EXPECT(mkdir("compact", 0755) == 0);
    OK(mdb_env_copy2(env, "compact", MDB_CP_COMPACT)); /* only this one needs no writer's lock */
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    expect_filled("compact", 0);
}

CASES(CASE(into_a_directory), CASE(to_a_file), CASE(compact_is_smaller), CASE(to_a_descriptor),
      CASE(through_a_pipe), CASE(a_reader_that_is_gone), CASE(of_an_empty_environment),
      CASE(beside_a_writer))
