/* Readers: their list, their slots, those that have died, and those that keep space. */
#include "harness.h"
#include <pthread.h>
#include <signal.h>

struct row {
    int num, slot;
    mdbx_pid_t pid;
    uint64_t txnid, lag;
    size_t bytes_used, bytes_retained;
};

struct rows {
    int count, answer;
    struct row all[8];
};

static int take(void *ctx, int num, int slot, mdbx_pid_t pid, mdbx_tid_t thread, uint64_t txnid,
                uint64_t lag, size_t bytes_used, size_t bytes_retained)
{
    struct rows *rows = (struct rows *)ctx;
    struct row row = {num, slot, pid, txnid, lag, bytes_used, bytes_retained};
    (void)thread;
    EXPECT(rows->count < 8);
    rows->all[rows->count++] = row;
    return rows->answer;
}

static void change(MDBX_env *env, unsigned number, size_t size)
{
    MDBX_txn *txn = WRITE(env);
    MDBX_val key = numbered("k", number), data = filled(size, 'x');
    OK(mdbx_put(txn, table(txn, NULL, 0), &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_commit(txn));
    free_room(data.iov_base);
}

static void listed(void)
{
    MDBX_env *env = env_with(MDBX_UTTERLY_NOSYNC | MDBX_NOTLS);
    struct rows rows = {0, 0, {{0, 0, 0, 0, 0, 0, 0}}};
    MDBX_txn *one, *two;
    YES(mdbx_reader_list(env, take, &rows)); /* there are none */
    EXPECT_NUM(rows.count, 0);
    change(env, 1, 10);
    one = READ(env);
    change(env, 1, 20000);
    change(env, 1, 20000);
    two = READ(env);
    OK(mdbx_reader_list(env, take, &rows));
    EXPECT_NUM(rows.count, 2);
    EXPECT(rows.all[0].num != rows.all[1].num);
    EXPECT_NUM(rows.all[0].pid, getpid());
    EXPECT_NUM(rows.all[0].txnid, mdbx_txn_id(one));
    EXPECT(rows.all[0].lag == 2 || (!OURS && rows.all[0].lag == 1));
    EXPECT(rows.all[0].bytes_used > 0);
    EXPECT(rows.all[0].bytes_retained > 0);
    EXPECT_NUM(rows.all[1].txnid, mdbx_txn_id(two));
    EXPECT_NUM(rows.all[1].lag, 0);
    rows.count = 0;
    rows.answer = 123;
    EXPECT_RC(mdbx_reader_list(env, take, &rows), 123); /* which ends the list */
    EXPECT_NUM(rows.count, 1);
    EXPECT_RC(mdbx_reader_list(env, NULL, NULL), MDBX_EINVAL);
    OK(mdbx_txn_abort(one));
    OK(mdbx_txn_abort(two));
    OK(mdbx_env_close(env));
}

static void as_many_as_were_allowed_for(void)
{
    MDBX_env *env = new_env();
    MDBX_txn *txns[1000], *more = NULL;
    unsigned limit = 0, i;
    int rc = 0;
    OK(mdbx_env_set_maxreaders(env, 3));
    OK(mdbx_env_open(env, "./db", MDBX_NOTLS, 0644));
    OK(mdbx_env_get_maxreaders(env, &limit));
    EXPECT(limit >= 3 && limit < 1000);
    for (i = 0; i < limit && rc == 0; i++) {
        rc = mdbx_txn_begin(env, NULL, MDBX_TXN_RDONLY, &txns[i]);
        OK(rc);
    }
    EXPECT_RC(mdbx_txn_begin(env, NULL, MDBX_TXN_RDONLY, &more), MDBX_READERS_FULL);
    OK(mdbx_txn_abort(txns[0]));
    OK(mdbx_txn_begin(env, NULL, MDBX_TXN_RDONLY, &txns[0]));
    for (i = 0; i < limit; i++) OK(mdbx_txn_abort(txns[i]));
    OK(mdbx_env_close(env));
}

static void slots_ahead_of_time(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn;
    OK(mdbx_thread_register(env));
    YES(mdbx_thread_register(env)); /* it has one */
    txn = READ(env);
    EXPECT_RC(mdbx_thread_unregister(env), MDBX_BUSY);
    OK(mdbx_txn_abort(txn));
    OK(mdbx_thread_unregister(env));
    YES(mdbx_thread_unregister(env));
    OK(mdbx_env_close(env));
    env = env_with(MDBX_NOTLS);
    EXPECT_RC(mdbx_thread_register(env), MDBX_EINVAL);
    YES(mdbx_thread_unregister(env));
    OK(mdbx_env_close(env));
}

/* A process that opens the environment, reads, and is killed; `ready` is written when it reads. */
static pid_t reader_that_waits(void)
{
    int pipe_ends[2];
    char byte = 0;
    pid_t child;
    EXPECT(pipe(pipe_ends) == 0);
    child = fork();
    if (child == 0) {
        MDBX_env *env = env_with(MDBX_UTTERLY_NOSYNC | MDBX_ACCEDE);
        READ(env);
        EXPECT(write(pipe_ends[1], "r", 1) == 1);
        for (;;) pause();
    }
    close(pipe_ends[1]);
    EXPECT(read(pipe_ends[0], &byte, 1) == 1);
    close(pipe_ends[0]);
    return child;
}

static void those_that_died(void)
{
    struct rows rows = {0, 0, {{0, 0, 0, 0, 0, 0, 0}}};
    MDBX_env *env = env_with(MDBX_UTTERLY_NOSYNC);
    int dead = 99;
    pid_t child;
    change(env, 1, 100);
    NO(mdbx_reader_check(env, &dead));
    EXPECT_NUM(dead, 0);
    OK(mdbx_env_close(env));
    child = reader_that_waits();
    env = env_with(MDBX_UTTERLY_NOSYNC);
    OK(mdbx_reader_list(env, take, &rows));
    EXPECT_NUM(rows.count, 1);
    EXPECT_NUM(rows.all[0].pid, child);
    NO(mdbx_reader_check(env, &dead)); /* it lives */
    kill(child, SIGKILL);
    EXPECT(waitpid(child, NULL, 0) == child);
    OK(mdbx_reader_check(env, &dead));
    EXPECT_NUM(dead, 1);
    NO(mdbx_reader_check(env, NULL));
    YES(mdbx_reader_list(env, take, &rows));
    OK(mdbx_env_close(env));
}

static int calls, last_retry, seen_lag;
static MDBX_txn *slow;

static int let_it_grow(const MDBX_env *env, const MDBX_txn *txn, mdbx_pid_t pid, mdbx_tid_t tid,
                       uint64_t laggard, unsigned gap, size_t space, int retry)
{
    (void)env, (void)tid, (void)space;
    calls++;
    last_retry = retry;
    if (retry >= 0) {
        EXPECT(txn != NULL && pid == getpid() && gap > 0);
        EXPECT_NUM(laggard, mdbx_txn_id(slow));
        seen_lag = (int)gap;
    }
    return -1;
}

static int end_it(const MDBX_env *env, const MDBX_txn *txn, mdbx_pid_t pid, mdbx_tid_t tid,
                  uint64_t laggard, unsigned gap, size_t space, int retry)
{
    (void)env, (void)txn, (void)pid, (void)tid, (void)laggard, (void)gap, (void)space;
    calls++;
    last_retry = retry;
    if (retry >= 0 && slow) {
        OK(mdbx_txn_reset(slow));
        slow = NULL;
    }
    return 0;
}

/* Half of what is free without readers: Huon keeps one copy for a reader, libmdbx all since. */
#define LARGE (OURS ? 700000 : 50000)

/* Changes until the file cannot grow, or so often. */
static int change_until_full(MDBX_env *env, unsigned times)
{
    unsigned i;
    for (i = 0; i < times; i++) {
        MDBX_txn *txn = WRITE(env);
        MDBX_val key = text("k"), data = filled(LARGE, (int)i);
        int rc = mdbx_put(txn, table(txn, NULL, 0), &key, &data, MDBX_UPSERT);
        free_room(data.iov_base);
        if (rc == MDBX_SUCCESS) rc = mdbx_txn_commit(txn);
        else OK(mdbx_txn_abort(txn));
        if (rc != MDBX_SUCCESS) return rc;
    }
    return MDBX_SUCCESS;
}

static MDBX_env *small_env(void)
{
    MDBX_env *env = NULL;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_geometry(env, -1, -1, 2 << 20, -1, -1, 4096));
    OK(mdbx_env_open(env, "./db", ENV_FLAGS(MDBX_UTTERLY_NOSYNC | MDBX_NOTLS), 0644));
    return env;
}

static void asked_about_a_slow_reader(void)
{
    MDBX_env *env = small_env();
    EXPECT(mdbx_env_get_hsr(env) == NULL);
    OK(mdbx_env_set_hsr(env, let_it_grow));
    EXPECT(mdbx_env_get_hsr(env) == let_it_grow);
    OK(change_until_full(env, 200)); /* nothing is kept */
    EXPECT_NUM(calls, 0);
    slow = READ(env);
    EXPECT_RC(change_until_full(env, 200), MDBX_MAP_FULL);
    EXPECT(calls > 0 && seen_lag > 0);
    OK(mdbx_txn_abort(slow));
    OK(change_until_full(env, 200));
    OK(mdbx_env_set_hsr(env, NULL));
    EXPECT(mdbx_env_get_hsr(env) == NULL);
    OK(mdbx_env_close(env));
}

static void a_slow_reader_is_ended(void)
{
    MDBX_env *env = small_env();
    MDBX_txn *txn;
    OK(mdbx_env_set_hsr(env, end_it));
    OK(change_until_full(env, 20));
    slow = txn = READ(env);
    OK(change_until_full(env, 200));
    EXPECT(slow == NULL && calls >= 1);
    OK(mdbx_txn_renew(txn));
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

CASES(CASE(listed), CASE(as_many_as_were_allowed_for), CASE(slots_ahead_of_time),
      CASE(those_that_died), CASE(asked_about_a_slow_reader), CASE(a_slow_reader_is_ended))
