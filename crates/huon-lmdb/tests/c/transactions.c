/* Transactions: what they see, how they end, nesting, and who may begin one. */
#include "harness.h"

#include <pthread.h>

static void readers_keep_what_they_saw(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *before, *txn = WRITE(env), *after;
    MDB_dbi dbi = table(txn, NULL, 0);
    OK(put(txn, dbi, "k", "one", 0));
    OK(mdb_txn_commit(txn));
    before = READ(env);
    txn = WRITE(env);
    OK(put(txn, dbi, "k", "two", 0));
    OK(put(txn, dbi, "new", "x", 0));
    EXPECT_GET(before, dbi, "k", "one");
    EXPECT_GET(txn, dbi, "k", "two");
    OK(mdb_txn_commit(txn));
    EXPECT_GET(before, dbi, "k", "one");
    EXPECT_RC(get(before, dbi, "new"), MDB_NOTFOUND);
    after = READ(env);
    EXPECT_GET(after, dbi, "k", "two");
    EXPECT(mdb_txn_id(after) == mdb_txn_id(before) + 1);
    EXPECT(mdb_txn_env(after) == env);
    mdb_txn_abort(after);
    OK(mdb_txn_commit(before));
    mdb_env_close(env);
}

static void an_abort_leaves_nothing(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, 0);
    OK(put(txn, dbi, "k", "v", 0));
    mdb_txn_abort(txn);
    txn = READ(env);
    EXPECT_RC(get(txn, 1, "k"), MDB_NOTFOUND);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void ends_without_a_transaction(void)
{
    EXPECT_RC(mdb_txn_commit(NULL), EINVAL);
    mdb_txn_abort(NULL);
    mdb_txn_reset(NULL);
    EXPECT_RC(mdb_txn_renew(NULL), EINVAL);
    EXPECT(mdb_txn_env(NULL) == NULL);
    EXPECT_NUM(mdb_txn_id(NULL), 0);
}

static void who_reads_changes_nothing(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, 0), other;
    MDB_cursor *cur;
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    txn = READ(env);
    EXPECT_RC(put(txn, dbi, "a", "b", 0), EACCES);
    EXPECT_RC(del(txn, dbi, "k", NULL), EACCES);
    EXPECT_RC(mdb_drop(txn, dbi, 0), EACCES);
    EXPECT_RC(mdb_dbi_open(txn, "t", MDB_CREATE, &other), EACCES);
    EXPECT_RC(mdb_dbi_open(txn, "t", 0, &other), MDB_NOTFOUND);
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "k", "v");
    EXPECT_RC(cursor_put(cur, "a", "b", 0), EACCES);
    EXPECT_RC(mdb_cursor_del(cur, 0), EACCES);
    EXPECT_GET(txn, dbi, "k", "v"); /* none of it spoils the transaction */
    mdb_cursor_close(cur);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void reset_and_renewed(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env), *reader;
    MDB_dbi dbi = table(txn, NULL, 0);
    MDB_val key = text("k"), data;
    OK(put(txn, dbi, "k", "one", 0));
    OK(mdb_txn_commit(txn));
    reader = READ(env);
    EXPECT_RC(mdb_txn_renew(reader), EINVAL);
    EXPECT_GET(reader, dbi, "k", "one");
    mdb_txn_reset(reader);
    EXPECT_RC(mdb_get(reader, dbi, &key, &data), EINVAL);
    mdb_txn_reset(reader);
    txn = WRITE(env);
    OK(put(txn, dbi, "k", "two", 0));
    OK(mdb_txn_commit(txn));
    OK(mdb_txn_renew(reader));
    EXPECT_GET(reader, dbi, "k", "two");
    mdb_txn_reset(reader);
    mdb_txn_abort(reader);
    txn = WRITE(env);
    EXPECT_RC(mdb_txn_renew(txn), EINVAL);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void one_reader_for_each_thread(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *first, *second;
    OK(mdb_txn_commit(WRITE(env)));
    first = READ(env);
    EXPECT_RC(mdb_txn_begin(env, NULL, MDB_RDONLY, &second), MDB_BAD_RSLOT);
    second = WRITE(env); /* writing beside it is allowed */
    OK(put(second, table(second, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(second));
    mdb_txn_reset(first);
    second = READ(env); /* the first reads nothing now */
    mdb_txn_abort(second);
    mdb_txn_abort(first);
    mdb_env_close(env);
}

static void many_readers_of_no_thread(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txns[126], *one_more;
    int i;
    for (i = 0; i < 126; i++) txns[i] = READ(env);
    EXPECT_RC(mdb_txn_begin(env, NULL, MDB_RDONLY, &one_more), MDB_READERS_FULL);
    mdb_txn_abort(txns[60]);
    txns[60] = READ(env);
    for (i = 0; i < 126; i++) mdb_txn_abort(txns[i]);
    mdb_env_close(env);
}

static void children_and_their_parent(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *parent = WRITE(env), *child, *grandchild;
    MDB_dbi dbi = table(parent, NULL, 0);
    MDB_val key = text("k"), data;
    OK(put(parent, dbi, "k", "parent", 0));
    child = begin(env, parent, 0);
    EXPECT(mdb_txn_id(child) == mdb_txn_id(parent));
    EXPECT_GET(child, dbi, "k", "parent");
    EXPECT_RC(mdb_get(parent, dbi, &key, &data), MDB_BAD_TXN);
    EXPECT_RC(put(parent, dbi, "k", "x", 0), MDB_BAD_TXN);
    EXPECT_RC(mdb_txn_begin(env, parent, 0, &grandchild), MDB_BAD_TXN);
    OK(put(child, dbi, "k", "child", 0));
    grandchild = begin(env, child, 0);
    OK(put(grandchild, dbi, "g", "grandchild", 0));
    OK(mdb_txn_commit(grandchild));
    EXPECT_GET(child, dbi, "g", "grandchild");
    mdb_txn_abort(child);
    EXPECT_GET(parent, dbi, "k", "parent");
    EXPECT_RC(get(parent, dbi, "g"), MDB_NOTFOUND);
    child = begin(env, parent, 0);
    OK(put(child, dbi, "k", "second", 0));
    OK(mdb_txn_commit(child));
    EXPECT_GET(parent, dbi, "k", "second");
    OK(mdb_txn_commit(parent));
    parent = READ(env);
    EXPECT_GET(parent, dbi, "k", "second");
    mdb_txn_abort(parent);
    mdb_env_close(env);
}

static void the_end_of_a_parent_ends_its_child(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *parent = WRITE(env), *child;
    MDB_dbi dbi = table(parent, NULL, 0);
    child = begin(env, parent, 0);
    OK(put(child, dbi, "k", "v", 0));
    OK(mdb_txn_commit(parent)); /* commits the child first */
    parent = WRITE(env);
    EXPECT_GET(parent, dbi, "k", "v");
    child = begin(env, parent, 0);
    OK(put(child, dbi, "k", "w", 0));
    mdb_txn_abort(parent);
    parent = READ(env);
    EXPECT_GET(parent, dbi, "k", "v");
    mdb_txn_abort(parent);
    mdb_env_close(env);
}

static void children_that_cannot_be(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn, *child;
    int rc;
    OK(mdb_txn_commit(WRITE(env)));
    txn = WRITE(env);
    if (!OURS) {
        rc = mdb_txn_begin(env, txn, MDB_RDONLY, &child);
        EXPECT(rc == MDB_BAD_TXN || rc == EINVAL);
    }
    mdb_txn_abort(txn);
    txn = READ(env);
    rc = mdb_txn_begin(env, txn, 0, &child);
    EXPECT(rc == MDB_BAD_TXN || rc == EINVAL);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    env = env_with(MDB_WRITEMAP);
    txn = WRITE(env);
    EXPECT_RC(mdb_txn_begin(env, txn, 0, &child), MDB_BAD_TXN);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void cursors_of_a_parent_move_with_its_child(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *parent = WRITE(env), *child;
    MDB_dbi dbi = table(parent, NULL, 0);
    MDB_cursor *cur;
    OK(put(parent, dbi, "a", "1", 0));
    OK(put(parent, dbi, "b", "2", 0));
    OK(put(parent, dbi, "c", "3", 0));
    cur = cursor(parent, dbi);
    GO(cur, "b");
    child = begin(env, parent, 0);
    OK(put(child, dbi, "aa", "x", 0));
    OK(put(child, dbi, "b", "changed", 0));
    mdb_txn_abort(child);
    EXPECT_AT(cur, MDB_GET_CURRENT, "b", "2");
    child = begin(env, parent, 0);
    OK(put(child, dbi, "aa", "x", 0));
    OK(put(child, dbi, "b", "changed", 0));
    OK(mdb_txn_commit(child));
    EXPECT_AT(cur, MDB_GET_CURRENT, "b", "changed");
    EXPECT_AT(cur, MDB_PREV, "aa", "x");
    OK(mdb_txn_commit(parent));
    mdb_env_close(env);
}

static void cursors_of_readers_live_on(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn = WRITE(env), *second;
    MDB_dbi dbi = table(txn, NULL, 0);
    MDB_cursor *cur = cursor(txn, dbi);
    OK(cursor_put(cur, "k", "one", 0));
    EXPECT_RC(mdb_cursor_renew(txn, cur), EINVAL);
    OK(mdb_txn_commit(txn)); /* closes the cursor */
    txn = READ(env);
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "k", "one");
    mdb_txn_abort(txn);
    txn = WRITE(env);
    OK(put(txn, dbi, "k", "two", 0));
    OK(mdb_txn_commit(txn));
    second = READ(env);
    OK(mdb_cursor_renew(second, cur));
    EXPECT(mdb_cursor_txn(cur) == second);
    EXPECT_NUM(mdb_cursor_dbi(cur), dbi);
    EXPECT_STEP(cur, MDB_GET_CURRENT, EINVAL);
    EXPECT_AT(cur, MDB_FIRST, "k", "two");
    mdb_txn_abort(second);
    mdb_cursor_close(cur);
    mdb_env_close(env);
}

struct waiting {
    MDB_env *env;
    int began;
};

static void *write_after(void *arg)
{
    struct waiting *waiting = arg;
    MDB_txn *txn = WRITE(waiting->env);
    __atomic_store_n(&waiting->began, 1, __ATOMIC_SEQ_CST);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "first");
    OK(put(txn, table(txn, NULL, 0), "k", "second", 0));
    OK(mdb_txn_commit(txn));
    return NULL;
}

static void writers_wait_for_each_other(void)
{
    struct waiting waiting = {env_with(0), 0};
    MDB_txn *txn = WRITE(waiting.env);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, write_after, &waiting) == 0);
    usleep(100000);
    EXPECT(!__atomic_load_n(&waiting.began, __ATOMIC_SEQ_CST));
    OK(put(txn, table(txn, NULL, 0), "k", "first", 0));
    OK(mdb_txn_commit(txn));
    pthread_join(thread, NULL);
    txn = READ(waiting.env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "second");
    mdb_txn_abort(txn);
    mdb_env_close(waiting.env);
}

static void processes_write_in_turn(void)
{
    enum { PROCESSES = 4, ROUNDS = 25 };
    int i, round, status;
    MDB_env *env;
    MDB_txn *txn;
    for (i = 0; i < PROCESSES; i++) {
        if (fork() != 0) continue;
        env = env_with(MDB_NOSYNC);
        for (round = 0; round < ROUNDS; round++) {
            unsigned count = 0;
            MDB_val key = text("count"), data;
            txn = WRITE(env);
            if (mdb_get(txn, table(txn, NULL, 0), &key, &data) == 0)
                memcpy(&count, data.mv_data, sizeof count);
            count++;
            data = bytes(&count, sizeof count);
            OK(mdb_put(txn, table(txn, NULL, 0), &key, &data, 0));
            OK(mdb_txn_commit(txn));
        }
        mdb_env_close(env);
        _exit(0);
    }
    for (i = 0; i < PROCESSES; i++) {
        wait(&status);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    env = env_with(0);
    txn = READ(env);
    {
        unsigned count = 0;
        MDB_val key = text("count"), data;
        OK(mdb_get(txn, table(txn, NULL, 0), &key, &data));
        memcpy(&count, data.mv_data, sizeof count);
        EXPECT_NUM(count, PROCESSES * ROUNDS);
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void a_writer_that_dies(void)
{
    int status;
    MDB_env *env;
    MDB_txn *txn;
    if (fork() == 0) {
        env = env_with(0);
        txn = WRITE(env);
        OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
        OK(mdb_txn_commit(txn));
        txn = WRITE(env);
        OK(put(txn, table(txn, NULL, 0), "k", "lost", 0));
        leave();
    }
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    env = env_with(0);
    txn = WRITE(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
    OK(put(txn, table(txn, NULL, 0), "k", "w", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void large_transactions(void)
{
    const unsigned count = scaled(40000);
    MDB_env *env = env_with(MDB_NOSYNC);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, 0);
    MDB_val data = filled(100, 'x');
    unsigned i;
    for (i = 0; i < count; i++) {
        /* A step that has no factor in common visits all numbers out of order. */
        MDB_val key = numbered("k", i * 7919u % count);
        OK(mdb_put(txn, dbi, &key, &data, 0));
    }
    EXPECT_NUM(entries(txn, dbi), count);
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    for (i = 0; i < count; i += 2) {
        MDB_val key = numbered("k", i);
        OK(mdb_del(txn, dbi, &key, NULL));
    }
    EXPECT_NUM(entries(txn, dbi), (count + 1) / 2);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

struct within {
    MDB_txn *txn;
    MDB_dbi dbi;
    unsigned met;
};

static void *reads_within(void *arg)
{
    struct within *own = arg;
    MDB_cursor *cur = cursor(own->txn, own->dbi);
    MDB_val key, data;
    while (mdb_cursor_get(cur, &key, &data, MDB_NEXT) == 0) own->met++;
    mdb_cursor_close(cur);
    return NULL;
}

/* LMDB's master line has it, and 0.9 not. */
static void readers_within_a_writer(void)
{
    enum { READERS = 4, COUNT = 1000 };
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env), *child, *none;
    MDB_dbi dbi = table(txn, "t", MDB_CREATE), again;
    MDB_cursor *cur;
    struct within within[READERS];
    pthread_t threads[READERS];
    unsigned i;
    if (!OURS) skip("not in LMDB 0.9");
    for (i = 0; i < COUNT; i++) {
        MDB_val key = numbered("k", i), data = text("v");
        OK(mdb_put(txn, dbi, &key, &data, 0));
    }
    for (i = 0; i < READERS; i++) {
        within[i].txn = begin(env, txn, MDB_RDONLY);
        within[i].dbi = dbi;
        within[i].met = 0;
        EXPECT_NUM(mdb_txn_id(within[i].txn), mdb_txn_id(txn));
        EXPECT(mdb_txn_env(within[i].txn) == env);
    }
    /* The parent rests as long as there are some, and they change nothing. */
    EXPECT_RC(get(txn, dbi, "k00000"), MDB_BAD_TXN);
    EXPECT_RC(put(txn, dbi, "k", "v", 0), MDB_BAD_TXN);
    EXPECT_RC(mdb_txn_begin(env, txn, 0, &none), MDB_BAD_TXN);
    EXPECT_RC(mdb_txn_begin(env, within[0].txn, MDB_RDONLY, &none), EINVAL);
    EXPECT_RC(put(within[0].txn, dbi, "k", "v", 0), EACCES);
    EXPECT_RC(del(within[0].txn, dbi, "k00000", NULL), EACCES);
    EXPECT_RC(mdb_drop(within[0].txn, dbi, 0), EACCES);
    EXPECT_RC(mdb_dbi_open(within[0].txn, "new", MDB_CREATE, &again), EACCES);
    EXPECT_RC(mdb_txn_renew(within[0].txn), EINVAL);
    OK(mdb_dbi_open(within[0].txn, "t", 0, &again));
    EXPECT_NUM(again, dbi);
    for (i = 0; i < READERS; i++)
        EXPECT(!pthread_create(&threads[i], NULL, reads_within, &within[i]));
    for (i = 0; i < READERS; i++) {
        EXPECT(!pthread_join(threads[i], NULL));
        EXPECT_NUM(within[i].met, COUNT);
        if (i % 2) mdb_txn_abort(within[i].txn);
        else OK(mdb_txn_commit(within[i].txn));
    }
    EXPECT_RC(get(within[0].txn, dbi, "k00000"), EINVAL);
    /* Now it goes on, and one that is left ends with it. */
    OK(put(txn, dbi, "k", "v", 0));
    child = begin(env, txn, 0);
    OK(put(child, dbi, "inner", "v", 0));
    none = begin(env, child, MDB_RDONLY);
    EXPECT_GET(none, dbi, "inner", "v");
    cur = cursor(none, dbi);
    EXPECT_AT(cur, MDB_FIRST, "inner", "v");
    mdb_txn_abort(child);
    EXPECT_RC(get(none, dbi, "inner"), EINVAL);
    EXPECT_STEP(cur, MDB_NEXT, MDB_BAD_TXN);
    mdb_cursor_close(cur);
    EXPECT_RC(get(txn, dbi, "inner"), MDB_NOTFOUND);
    none = begin(env, txn, MDB_RDONLY);
    OK(mdb_txn_commit(txn));
    EXPECT_RC(get(none, dbi, "k"), EINVAL);
    mdb_env_close(env);
    env = env_with(MDB_WRITEMAP);
    txn = WRITE(env);
    none = begin(env, txn, MDB_RDONLY);
    mdb_txn_abort(none);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

/* One that was reset has the number that it had. */
static void the_number_of_what_was_reset(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn = WRITE(env), *reader;
    MDB_dbi dbi = table(txn, NULL, 0), again;
    unsigned flags;
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    reader = READ(env);
    EXPECT_NUM(mdb_txn_id(reader), 1);
    mdb_txn_reset(reader);
    EXPECT_NUM(mdb_txn_id(reader), 1);
    EXPECT_RC(mdb_dbi_open(reader, NULL, 0, &again), MDB_BAD_TXN);
    EXPECT_RC(mdb_dbi_flags(reader, dbi, &flags), EINVAL);
    EXPECT_RC(get(reader, dbi, "k"), EINVAL);
    OK(mdb_txn_renew(reader));
    EXPECT_GET(reader, dbi, "k", "v");
    mdb_txn_abort(reader);
    mdb_env_close(env);
}

CASES(CASE(readers_keep_what_they_saw), CASE(an_abort_leaves_nothing),
      CASE(ends_without_a_transaction), CASE(who_reads_changes_nothing), CASE(reset_and_renewed),
      CASE(one_reader_for_each_thread), CASE(many_readers_of_no_thread),
      CASE(children_and_their_parent), CASE(the_end_of_a_parent_ends_its_child),
      CASE(children_that_cannot_be), CASE(cursors_of_a_parent_move_with_its_child),
      CASE(cursors_of_readers_live_on), CASE(writers_wait_for_each_other),
      CASE(processes_write_in_turn), CASE(a_writer_that_dies), CASE(large_transactions),
      CASE(readers_within_a_writer), CASE(the_number_of_what_was_reset))
