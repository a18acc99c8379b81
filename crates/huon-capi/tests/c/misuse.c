/* What a program may do wrong is answered with a code, whatever the memory behind it has become. */
#include "harness.h"

#include <pthread.h>

static void handles_that_are_gone(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 10);
    huon_txn *txn = reading(env);
    huon_cursor *cursor;
    huon_pair pair;
    OK(huon_cursor_open(txn, t, NULL, &cursor));
    OK(huon_abort(txn));
    EXPECT_RC(huon_cursor_next(cursor, txn, &pair), HUON_BAD_HANDLE);
    EXPECT_RC(huon_abort(txn), HUON_BAD_HANDLE);
    OK(huon_cursor_close(cursor));
    EXPECT_RC(huon_cursor_close(cursor), HUON_BAD_HANDLE);
    OK(huon_close(env));
    EXPECT_RC(huon_begin_read(env, &txn), HUON_BAD_HANDLE);
    EXPECT_RC(huon_close((huon_env *)&pair), HUON_BAD_HANDLE);
    OK(huon_close(NULL));
}

static void memory_that_was_never_written_is_no_table(void)
{
    huon_env *env = opened();
    huon_txn *txn = reading(env);
    huon_table table;
    memset(&table, 0xa5, sizeof table);
    EXPECT_RC(huon_get(txn, table, text("k"), NULL), HUON_BAD_HANDLE);
    memset(&table, 0, sizeof table);
    EXPECT_RC(huon_get(txn, table, text("k"), NULL), HUON_BAD_HANDLE);
    OK(huon_abort(txn));
    OK(huon_close(env));
}

/* Numbers of snapshots are the same in environments that came about in the same way. */
static void a_cursor_of_another_environment_finds_nothing(void)
{
    huon_env *envs[2];
    huon_table tables[2];
    huon_txn *txns[2];
    huon_cursor *cursor;
    huon_pair pairs[4];
    size_t count;
    int i;
    for (i = 0; i < 2; i++) {
        OK(huon_open(NULL, NULL, &envs[i]));
        tables[i] = filled(envs[i], 10);
        txns[i] = reading(envs[i]);
    }
    OK(huon_cursor_open(txns[0], tables[0], NULL, &cursor));
    OK(huon_cursor_next(cursor, txns[0], pairs));
    EXPECT_RC(huon_cursor_next(cursor, txns[1], pairs), HUON_INVALID);
    OK(huon_cursor_next_many(cursor, txns[0], pairs, 4, &count));
    EXPECT_TEXT(pairs[3].key, "k00004");
    EXPECT_RC(huon_cursor_next_many(cursor, txns[1], pairs, 4, &count), HUON_INVALID);
    EXPECT_RC(huon_cursor_prev_many(cursor, txns[1], pairs, 4, &count), HUON_INVALID);
    OK(huon_cursor_next(cursor, txns[0], pairs));
    EXPECT_TEXT(pairs[0].key, "k00005");
    OK(huon_cursor_close(cursor));
    for (i = 0; i < 2; i++) {
        OK(huon_abort(txns[i]));
        OK(huon_close(envs[i]));
    }
}

struct joined {
    huon_txn *txn;
    huon_table table;
    int refused;
    int found;
};

static int joins(void *context, size_t index, huon_bytes value)
{
    struct joined *joined = context;
    (void)index;
    joined->refused += huon_get(joined->txn, joined->table, value, NULL) == HUON_IN_USE;
    return 0;
}

static int reads(void *context, const huon_progress *progress)
{
    struct joined *joined = context;
    int code = huon_get(joined->txn, joined->table, text("k00001"), NULL);
    (void)progress;
    joined->refused += code == HUON_IN_USE;
    joined->found += code == HUON_OK;
    return 0;
}

/* A call of this thread's own is not waited for: each of these took ten seconds. */
static void a_callback_does_not_use_what_the_call_around_it_uses(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 10);
    huon_txn *txn = writing(env);
    huon_copy_options how;
    huon_multi m;
    huon_bytes keys[2];
    struct joined joined = {NULL, t, 0, 0};
    OK(huon_multi_create(txn, text("m"), NULL, &m));
    OK(huon_multi_put(txn, m, text("a"), text("k00001"), NULL));
    OK(huon_multi_put(txn, m, text("b"), text("k00002"), NULL));
    OK(huon_commit(txn));
    joined.txn = reading(env);
    keys[0] = text("a"), keys[1] = text("b");
    OK(huon_multi_get_many(joined.txn, m, keys, 2, joins, &joined));
    EXPECT_NUM(joined.refused, 2);
    memset(&how, 0, sizeof how);
    how.bytes = sizeof how, how.snapshot = joined.txn, how.progress = reads, how.context = &joined;
    OK(huon_copy(env, "copy.huon", &how, NULL));
    /* A copy does not keep its snapshot from others that read it. */
    EXPECT_NUM(joined.refused, 2);
    EXPECT(joined.found > 0);
    OK(huon_abort(joined.txn));
    OK(huon_close(env));
}

static void *ends(void *txn)
{
    /* One of the threads ends it, the other finds that it has ended. */
    return (void *)(intptr_t)huon_abort(txn);
}

static void two_threads_end_one_transaction(void)
{
    huon_env *env = opened();
    unsigned round;
    for (round = 0; round < scaled(200); round++) {
        huon_txn *txn = writing(env);
        pthread_t threads[2];
        void *codes[2];
        int i, done = 0;
        for (i = 0; i < 2; i++) OK(pthread_create(&threads[i], NULL, ends, txn));
        for (i = 0; i < 2; i++) {
            OK(pthread_join(threads[i], &codes[i]));
            done += codes[i] == NULL;
            EXPECT(codes[i] == NULL || (intptr_t)codes[i] == HUON_BAD_HANDLE ||
                   (intptr_t)codes[i] == HUON_IN_USE);
        }
        EXPECT_NUM(done, 1);
    }
    OK(huon_close(env));
}

static void a_child_leaves_its_parents_transactions_alone(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 10);
    huon_txn *txn = reading(env);
    int status;
    pid_t child;
    if (is_watched()) {
        OK(huon_abort(txn));
        OK(huon_close(env));
        return;
    }
    child = fork();
    if (child == 0) {
        huon_txn *own;
        int so = huon_get(txn, t, text("k00001"), NULL) == HUON_FORKED;
        so &= huon_abort(txn) == HUON_OK;
        so &= huon_begin_read(env, &own) == HUON_OK;
        so &= huon_get(own, t, text("k00001"), NULL) == HUON_OK;
        so &= huon_abort(own) == HUON_OK;
        _exit(so ? 0 : 1);
    }
    EXPECT_NUM(waitpid(child, &status, 0), child);
    EXPECT_NUM(status, 0);
    OK(huon_get(txn, t, text("k00001"), NULL));
    OK(huon_abort(txn));
    OK(huon_close(env));
}

CASES(CASE(handles_that_are_gone), CASE(memory_that_was_never_written_is_no_table),
      CASE(a_cursor_of_another_environment_finds_nothing),
      CASE(a_callback_does_not_use_what_the_call_around_it_uses),
      CASE(two_threads_end_one_transaction), CASE(a_child_leaves_its_parents_transactions_alone))
