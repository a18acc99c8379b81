/* Transactions: what they see, nest, end, and which of them a thread may have at once. */
#include "harness.h"
#include <pthread.h>

struct place {
    MDBX_env *env;
    MDBX_dbi dbi;
};

/* A table with k: v. */
static struct place in_table(unsigned flags)
{
    struct place in;
    MDBX_txn *txn;
    in.env = env_with(MDBX_UTTERLY_NOSYNC | flags);
    txn = WRITE(in.env);
    in.dbi = table(txn, "t", MDBX_CREATE);
    OK(put(txn, in.dbi, "k", "v", 0));
    OK(mdbx_txn_commit(txn));
    return in;
}

static void done(struct place in)
{
    OK(mdbx_env_close(in.env));
}

static int try_begin(MDBX_env *env, MDBX_txn *parent, unsigned flags)
{
    MDBX_txn *txn = NULL;
    int rc = mdbx_txn_begin(env, parent, (MDBX_txn_flags_t)flags, &txn);
    EXPECT((rc == 0) == (txn != NULL));
    if (rc == 0) OK(mdbx_txn_abort(txn));
    return rc;
}

static void commit_and_abort(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    OK(put(txn, in.dbi, "k", "2", 0));
    EXPECT_GET(txn, in.dbi, "k", "2");
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_GET(txn, in.dbi, "k", "v");
    OK(put(txn, in.dbi, "k", "3", 0));
    OK(mdbx_txn_commit(txn));
    txn = READ(in.env);
    EXPECT_GET(txn, in.dbi, "k", "3");
    OK(mdbx_txn_commit(txn)); /* a reader's end, as well as an abort */
    done(in);
}

static void numbers_of_transactions(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    uint64_t id = mdbx_txn_id(txn);
    EXPECT(mdbx_txn_env(txn) == in.env);
    OK(put(txn, in.dbi, "k", "2", 0));
    OK(mdbx_txn_commit(txn));
    txn = READ(in.env);
    EXPECT_NUM(mdbx_txn_id(txn), id);
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_NUM(mdbx_txn_id(txn), id + 1);
    OK(mdbx_txn_commit(txn)); /* of nothing */
    txn = WRITE(in.env);
    EXPECT_NUM(mdbx_txn_id(txn), id + 1);
    OK(mdbx_txn_abort(txn));
    EXPECT_NUM(mdbx_txn_id(NULL), 0);
    EXPECT(mdbx_txn_env(NULL) == NULL);
    done(in);
}

/* Flags of its beginning, and what has become of it. */
static void flags_tell_the_state(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = READ(in.env), *child;
    EXPECT_NUM(mdbx_txn_flags(txn) & (MDBX_TXN_RDONLY | MDBX_TXN_BLOCKED), MDBX_TXN_RDONLY);
    OK(mdbx_txn_reset(txn));
    EXPECT(mdbx_txn_flags(txn) & MDBX_TXN_FINISHED);
    OK(mdbx_txn_renew(txn));
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_NUM(mdbx_txn_flags(txn) & (MDBX_TXN_RDONLY | MDBX_TXN_DIRTY | MDBX_TXN_BLOCKED), 0);
    OK(put(txn, in.dbi, "k", "2", 0));
    EXPECT(mdbx_txn_flags(txn) & MDBX_TXN_DIRTY);
    OK(mdbx_txn_abort(txn));
    EXPECT(mdbx_txn_flags(NULL) < 0);
    if (OURS) EXPECT_NUM(mdbx_txn_flags(NULL), MDBX_TXN_INVALID); /* -1 in libmdbx 0.11.8 */
    OK(mdbx_env_close(in.env));
    in.env = env_with(0); /* nesting */
    txn = WRITE(in.env);
    child = begin(in.env, txn, 0);
    EXPECT(mdbx_txn_flags(txn) & MDBX_TXN_HAS_CHILD);
    OK(mdbx_txn_abort(child));
    EXPECT_NUM(mdbx_txn_flags(txn) & MDBX_TXN_BLOCKED, 0);
    OK(mdbx_txn_break(txn));
    EXPECT(mdbx_txn_flags(txn) & MDBX_TXN_ERROR);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void a_reader_sees_one_snapshot(void)
{
    struct place in = in_table(MDBX_NOTLS);
    MDBX_txn *reader = READ(in.env), *writer;
    unsigned i;
    for (i = 0; i < 5; i++) {
        MDBX_val key = text("k"), data = numbered("v", i);
        writer = WRITE(in.env);
        OK(mdbx_put(writer, in.dbi, &key, &data, MDBX_UPSERT));
        EXPECT_GET(reader, in.dbi, "k", "v");
        OK(mdbx_txn_commit(writer));
        EXPECT_GET(reader, in.dbi, "k", "v");
    }
    OK(mdbx_txn_reset(reader));
    OK(mdbx_txn_renew(reader));
    EXPECT_GET(reader, in.dbi, "k", "v00004");
    OK(mdbx_txn_abort(reader));
    done(in);
}

static void reset_and_renewed(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = READ(in.env), *writer;
    OK(mdbx_txn_renew(txn)); /* it reads already, and goes on */
    OK(mdbx_txn_reset(txn));
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    writer = WRITE(in.env); /* the thread reads nothing now */
    OK(put(writer, in.dbi, "k", "2", 0));
    OK(mdbx_txn_commit(writer));
    OK(mdbx_txn_renew(txn));
    EXPECT_GET(txn, in.dbi, "k", "2");
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_RC(mdbx_txn_reset(txn), MDBX_EINVAL); /* of readers alone */
    EXPECT_RC(mdbx_txn_renew(txn), MDBX_EINVAL);
    OK(mdbx_txn_abort(txn));
    done(in);
}

/* libmdbx 0.11.8 says MDBX_BAD_TXN to all of it, and keeps what it cannot end. */
static void the_end_of_what_was_reset(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = READ(in.env);
    ours_alone();
    OK(mdbx_txn_reset(txn));
    OK(mdbx_txn_reset(txn)); /* twice is fine */
    OK(mdbx_txn_abort(txn));
    txn = READ(in.env);
    OK(mdbx_txn_reset(txn));
    YES(mdbx_txn_commit(txn)); /* there was nothing to be committed */
    OK(try_begin(in.env, NULL, 0));
    done(in);
}

static void prepared_to_read(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = begin(in.env, NULL, MDBX_TXN_RDONLY_PREPARE), *writer;
    EXPECT(mdbx_txn_flags(txn) & MDBX_TXN_FINISHED);
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    writer = WRITE(in.env);
    OK(put(writer, in.dbi, "k", "2", 0));
    OK(mdbx_txn_commit(writer));
    OK(mdbx_txn_renew(txn));
    EXPECT_GET(txn, in.dbi, "k", "2");
    OK(mdbx_txn_abort(txn));
    done(in);
}

/* What a thread may have at once, without MDBX_NOTLS. */
static void one_of_a_thread(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = READ(in.env);
    EXPECT_RC(try_begin(in.env, NULL, MDBX_TXN_RDONLY), MDBX_BAD_RSLOT);
    EXPECT_RC(try_begin(in.env, NULL, 0), MDBX_TXN_OVERLAPPING);
    EXPECT_RC(try_begin(in.env, NULL, MDBX_TXN_TRY), MDBX_TXN_OVERLAPPING);
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_RC(try_begin(in.env, NULL, MDBX_TXN_RDONLY), MDBX_TXN_OVERLAPPING);
    EXPECT_RC(try_begin(in.env, NULL, 0), MDBX_BUSY);
    EXPECT_RC(try_begin(in.env, NULL, MDBX_TXN_TRY), MDBX_BUSY);
    OK(mdbx_txn_abort(txn));
    OK(try_begin(in.env, NULL, 0));
    OK(try_begin(in.env, NULL, MDBX_TXN_RDONLY));
    done(in);
}

static void as_many_as_one_likes(void)
{
    struct place in = in_table(MDBX_NOTLS);
    MDBX_txn *one = READ(in.env), *two = READ(in.env), *writer = WRITE(in.env);
    OK(put(writer, in.dbi, "k", "2", 0));
    /* A writer would keep pages from itself. */
    EXPECT_RC(try_begin(in.env, NULL, MDBX_TXN_RDONLY), MDBX_TXN_OVERLAPPING);
    OK(mdbx_txn_commit(writer));
    EXPECT_GET(one, in.dbi, "k", "v");
    OK(mdbx_txn_abort(one));
    EXPECT_GET(two, in.dbi, "k", "v");
    OK(mdbx_txn_abort(two));
    done(in);
}

static void overlapping_as_of_old(void)
{
    struct place in = in_table(0);
    MDBX_txn *reader, *writer;
    mdbx_setup_debug(MDBX_LOG_DONTCHANGE, MDBX_DBG_LEGACY_OVERLAP, MDBX_LOGGER_DONTCHANGE);
    reader = READ(in.env);
    writer = WRITE(in.env);
    OK(put(writer, in.dbi, "k", "2", 0));
    OK(mdbx_txn_commit(writer));
    EXPECT_GET(reader, in.dbi, "k", "v");
    OK(mdbx_txn_abort(reader));
    writer = WRITE(in.env);
    reader = READ(in.env);
    EXPECT_GET(reader, in.dbi, "k", "2");
    OK(mdbx_txn_abort(reader));
    OK(mdbx_txn_abort(writer));
    done(in);
}

struct other {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    int rcs[8];
};

static void in_a_thread(void *(*work)(void *), struct other *other)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, work, other) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static void *tries_to_write(void *arg)
{
    struct other *other = (struct other *)arg;
    MDBX_txn *txn = NULL;
    other->rcs[0] = mdbx_txn_begin(other->env, NULL, MDBX_TXN_TRY, &txn);
    other->rcs[1] = mdbx_txn_begin(other->env, NULL, MDBX_TXN_RDONLY, &txn);
    if (other->rcs[1] == 0) other->rcs[2] = mdbx_txn_abort(txn);
    return NULL;
}

static void one_writer_among_threads(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    struct other other = {in.env, txn, in.dbi, {0}};
    in_a_thread(tries_to_write, &other);
    EXPECT_RC(other.rcs[0], MDBX_BUSY);
    OK(other.rcs[1]);
    OK(other.rcs[2]);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void *uses_what_is_not_its(void *arg)
{
    struct other *other = (struct other *)arg;
    other->rcs[0] = get(other->txn, other->dbi, "k");
    other->rcs[1] = put(other->txn, other->dbi, "k", "x", 0);
    other->rcs[2] = mdbx_txn_commit(other->txn);
    other->rcs[3] = mdbx_txn_abort(other->txn);
    return NULL;
}

static void a_transaction_is_of_its_thread(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    struct other other = {in.env, txn, in.dbi, {0}};
    int i;
    in_a_thread(uses_what_is_not_its, &other);
    for (i = 0; i < 4; i++) EXPECT_RC(other.rcs[i], MDBX_THREAD_MISMATCH);
    OK(put(txn, in.dbi, "k", "mine", 0));
    OK(mdbx_txn_commit(txn));
    txn = READ(in.env);
    other.txn = txn;
    in_a_thread(uses_what_is_not_its, &other);
    EXPECT_RC(other.rcs[0], MDBX_THREAD_MISMATCH);
    EXPECT_RC(other.rcs[2], MDBX_THREAD_MISMATCH);
    EXPECT_RC(other.rcs[3], MDBX_THREAD_MISMATCH);
    EXPECT_GET(txn, in.dbi, "k", "mine");
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void *reads_on(void *arg)
{
    struct other *other = (struct other *)arg;
    other->rcs[0] = get(other->txn, other->dbi, "k");
    other->rcs[1] = mdbx_txn_abort(other->txn);
    return NULL;
}

static void a_reader_of_no_thread(void)
{
    struct place in = in_table(MDBX_NOTLS);
    struct other other = {in.env, READ(in.env), in.dbi, {0}};
    in_a_thread(reads_on, &other);
    OK(other.rcs[0]);
    OK(other.rcs[1]);
    done(in);
}

/* A table in an environment in which transactions can be nested. */
static struct place nesting(void)
{
    struct place in;
    MDBX_txn *txn;
    in.env = env_with(MDBX_SAFE_NOSYNC);
    txn = WRITE(in.env);
    in.dbi = table(txn, "t", MDBX_CREATE);
    OK(put(txn, in.dbi, "k", "v", 0));
    OK(mdbx_txn_commit(txn));
    return in;
}

static void children(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child, *grandchild;
    OK(put(txn, in.dbi, "a", "1", 0));
    child = begin(in.env, txn, 0);
    EXPECT_GET(child, in.dbi, "a", "1");
    OK(put(child, in.dbi, "a", "2", 0));
    OK(put(child, in.dbi, "b", "2", 0));
    OK(mdbx_txn_abort(child));
    EXPECT_GET(txn, in.dbi, "a", "1");
    EXPECT_RC(get(txn, in.dbi, "b"), MDBX_NOTFOUND);
    child = begin(in.env, txn, 0);
    OK(put(child, in.dbi, "b", "3", 0));
    grandchild = begin(in.env, child, 0);
    OK(put(grandchild, in.dbi, "c", "4", 0));
    OK(del(grandchild, in.dbi, "k", NULL));
    OK(mdbx_txn_commit(grandchild));
    OK(mdbx_txn_commit(child));
    EXPECT_GET(txn, in.dbi, "b", "3");
    EXPECT_GET(txn, in.dbi, "c", "4");
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_NOTFOUND);
    OK(mdbx_txn_commit(txn));
    txn = READ(in.env);
    EXPECT_GET(txn, in.dbi, "c", "4");
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void a_parent_waits_for_its_child(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child = begin(in.env, txn, 0);
    MDBX_cursor *cur = NULL;
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    EXPECT_RC(put(txn, in.dbi, "k", "x", 0), MDBX_BAD_TXN);
    EXPECT_RC(try_begin(in.env, txn, 0), MDBX_BAD_TXN); /* one child at a time */
    EXPECT_RC(mdbx_cursor_open(txn, in.dbi, &cur), MDBX_BAD_TXN);
    EXPECT_RC(mdbx_canary_put(txn, NULL), MDBX_BAD_TXN);
    OK(mdbx_txn_abort(child));
    OK(put(txn, in.dbi, "k", "x", 0));
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void the_end_of_a_parent_is_that_of_its_child(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child = begin(in.env, txn, 0);
    OK(put(child, in.dbi, "k", "child's", 0));
    OK(mdbx_txn_commit(txn));
    txn = WRITE(in.env);
    EXPECT_GET(txn, in.dbi, "k", "child's");
    child = begin(in.env, txn, 0);
    OK(put(child, in.dbi, "k", "dropped", 0));
    OK(mdbx_txn_abort(txn));
    txn = READ(in.env);
    EXPECT_GET(txn, in.dbi, "k", "child's");
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void who_can_have_no_child(void)
{
    struct place in = nesting();
    MDBX_txn *txn = READ(in.env);
    EXPECT_RC(try_begin(in.env, txn, 0), MDBX_BAD_TXN);
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    if (OURS) EXPECT_RC(try_begin(in.env, txn, MDBX_TXN_RDONLY), MDBX_EINVAL); /* or a crash */
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(in.env));
    in.env = env_with(MDBX_WRITEMAP);
    txn = WRITE(in.env);
    EXPECT_RC(try_begin(in.env, txn, 0), MDBX_BAD_TXN);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void a_childs_tables(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child = begin(in.env, txn, 0);
    MDBX_dbi other = table(child, "gone", MDBX_CREATE);
    OK(put(child, other, "x", "1", 0));
    OK(mdbx_txn_abort(child));
    EXPECT_RC(mdbx_dbi_open(txn, "gone", MDBX_DB_DEFAULTS, &other), MDBX_NOTFOUND);
    child = begin(in.env, txn, 0);
    other = table(child, "other", MDBX_CREATE);
    OK(put(child, other, "x", "2", 0));
    OK(mdbx_drop(child, in.dbi, false));
    OK(mdbx_txn_commit(child));
    EXPECT_GET(txn, other, "x", "2");
    EXPECT_NUM(entries(txn, in.dbi), 0);
    OK(mdbx_txn_commit(txn));
    done(in);
}

static void a_parents_cursor_in_its_child(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child;
    MDBX_cursor *cur = cursor(txn, in.dbi);
    OK(put(txn, in.dbi, "a", "1", 0));
    OK(put(txn, in.dbi, "z", "26", 0));
    GO(cur, "k");
    child = begin(in.env, txn, 0);
    OK(put(child, in.dbi, "b", "2", 0));
    OK(del(child, in.dbi, "z", NULL));
    OK(mdbx_txn_abort(child));
    EXPECT_AT(cur, MDBX_GET_CURRENT, "k", "v"); /* as if nothing had been */
    EXPECT_AT(cur, MDBX_NEXT, "z", "26");
    GO(cur, "k");
    child = begin(in.env, txn, 0);
    OK(put(child, in.dbi, "b", "2", 0));
    OK(mdbx_txn_commit(child));
    EXPECT_AT(cur, MDBX_GET_CURRENT, "k", "v");
    EXPECT_AT(cur, MDBX_PREV, "b", "2");
    mdbx_cursor_close(cur);
    OK(mdbx_txn_commit(txn));
    done(in);
}

static void a_childs_cursor_is_taken_out_at_its_end(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child = begin(in.env, txn, 0);
    MDBX_cursor *cur = cursor(child, in.dbi);
    GO(cur, "k");
    OK(mdbx_txn_commit(child));
    EXPECT(mdbx_cursor_txn(cur) == NULL);
    EXPECT_STEP(cur, MDBX_GET_CURRENT, MDBX_EINVAL);
    OK(mdbx_cursor_bind(txn, cur, in.dbi));
    EXPECT_AT(cur, MDBX_FIRST, "k", "v");
    mdbx_cursor_close(cur);
    OK(mdbx_txn_commit(txn));
    done(in);
}

/* libmdbx 0.11.8 ends the process. */
static void a_parents_cursor_is_closed_in_its_child(void)
{
    struct place in = nesting();
    MDBX_txn *txn = WRITE(in.env), *child;
    MDBX_cursor *cur = cursor(txn, in.dbi);
    ours_alone();
    GO(cur, "k");
    child = begin(in.env, txn, 0);
    mdbx_cursor_close(cur);
    OK(put(child, in.dbi, "k", "child's", 0));
    OK(mdbx_txn_commit(child));
    EXPECT_GET(txn, in.dbi, "k", "child's");
    OK(mdbx_txn_commit(txn));
    done(in);
}

static void no_room_breaks_it(void)
{
    MDBX_env *env = NULL;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    unsigned i;
    int rc = 0;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_geometry(env, -1, -1, 1 << 20, -1, -1, 4096));
    OK(mdbx_env_open(env, "./db", MDBX_UTTERLY_NOSYNC, 0644));
    txn = WRITE(env);
    dbi = table(txn, NULL, 0);
    for (i = 0; rc == 0 && i < 1000; i++) {
        MDBX_val key = numbered("k", i), data = filled(5000, 'x');
        rc = mdbx_put(txn, dbi, &key, &data, MDBX_UPSERT);
    }
    EXPECT_RC(rc, MDBX_MAP_FULL);
    EXPECT_RC(get(txn, dbi, "k00001"), MDBX_BAD_TXN);
    EXPECT_RC(put(txn, dbi, "a", "b", 0), MDBX_BAD_TXN);
    YES(mdbx_txn_commit(txn)); /* it was aborted instead */
    txn = WRITE(env);
    EXPECT_NUM(entries(txn, dbi), 0);
    OK(put(txn, dbi, "a", "b", 0));
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
}

/* What is refused for what it is, is not. */
static void what_is_refused_breaks_nothing(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    MDBX_dbi many = table(txn, "many", MDBX_CREATE | MDBX_DUPSORT);
    MDBX_val key = text("k"), longer = filled(5000, 'x');
    EXPECT_RC(mdbx_put(txn, many, &key, &longer, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_put(txn, in.dbi, &longer, &key, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_RC(put(txn, in.dbi, "k", "x", MDBX_NOOVERWRITE), MDBX_KEYEXIST);
    EXPECT_RC(put(txn, in.dbi, "a", "x", MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_RC(put(txn, in.dbi, "none", "x", MDBX_CURRENT), MDBX_NOTFOUND);
    EXPECT_RC(put(txn, many, "k", "x", MDBX_RESERVE), MDBX_INCOMPATIBLE);
    EXPECT_RC(del(txn, in.dbi, "none", NULL), MDBX_NOTFOUND);
    EXPECT_NUM(mdbx_txn_flags(txn) & MDBX_TXN_ERROR, 0);
    OK(put(txn, many, "k", "v", 0));
    OK(mdbx_txn_commit(txn));
    done(in);
}

static void broken_on_purpose(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    OK(put(txn, in.dbi, "k", "x", 0));
    OK(mdbx_txn_break(txn));
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    EXPECT_RC(put(txn, in.dbi, "k", "y", 0), MDBX_BAD_TXN);
    EXPECT_RC(try_begin(in.env, txn, 0), MDBX_BAD_TXN);
    EXPECT(mdbx_txn_id(txn) > 0);
    YES(mdbx_txn_commit(txn)); /* it was aborted instead */
    txn = READ(in.env);
    EXPECT_GET(txn, in.dbi, "k", "v");
    OK(mdbx_txn_break(txn));
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void what_a_reader_is_told(void)
{
    struct place in = in_table(MDBX_NOTLS);
    MDBX_txn *reader = READ(in.env), *writer;
    MDBX_txn_info info;
    int percent = -1;
    unsigned i;
    OK(mdbx_txn_info(reader, &info, true));
    EXPECT_NUM(info.txn_id, mdbx_txn_id(reader));
    EXPECT_NUM(info.txn_reader_lag, 0);
    EXPECT_NUM(info.txn_space_retired, 0);
    EXPECT(info.txn_space_used > 0 && info.txn_space_used <= info.txn_space_limit_soft);
    EXPECT(info.txn_space_limit_soft <= info.txn_space_limit_hard);
    EXPECT_NUM(mdbx_txn_straggler(reader, NULL), 0);
    for (i = 0; i < 3; i++) {
        MDBX_val key = numbered("k", i), data = filled(9000, 'x');
        writer = WRITE(in.env);
        OK(mdbx_put(writer, in.dbi, &key, &data, MDBX_UPSERT));
        OK(mdbx_txn_commit(writer));
    }
    OK(mdbx_txn_info(reader, &info, true));
    EXPECT_NUM(info.txn_reader_lag, 3);
    EXPECT(info.txn_space_retired > 0); /* what was replaced since */
    EXPECT_NUM(mdbx_txn_straggler(reader, &percent), 3);
    EXPECT(percent >= 0 && percent <= 100);
    OK(mdbx_txn_abort(reader));
    done(in);
}

static void what_a_writer_is_told(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    MDBX_txn_info info;
    MDBX_val key = text("big"), data = filled(100000, 'x');
    uint64_t dirty, leftover;
    OK(mdbx_txn_info(txn, &info, false));
    EXPECT_NUM(info.txn_id, mdbx_txn_id(txn));
    dirty = info.txn_space_dirty;
    leftover = info.txn_space_leftover;
    OK(mdbx_put(txn, in.dbi, &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_info(txn, &info, true));
    EXPECT(info.txn_space_dirty > dirty);
    EXPECT(info.txn_space_leftover < leftover);
    EXPECT_NUM(info.txn_reader_lag, 0);
    EXPECT(info.txn_space_used > 100000);
    EXPECT_NUM(info.txn_space_limit_hard, 64 << 20);
    EXPECT_RC(mdbx_txn_info(txn, NULL, false), MDBX_EINVAL);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void what_a_commit_took(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    MDBX_commit_latency latency;
    memset(&latency, 0xff, sizeof latency);
    OK(put(txn, in.dbi, "k", "x", 0));
    OK(mdbx_txn_commit_ex(txn, &latency));
    EXPECT(latency.whole < 60 * 65536);
    EXPECT(latency.preparation <= latency.whole && latency.write <= latency.whole);
    EXPECT(latency.sync <= latency.whole && latency.ending <= latency.whole);
    txn = READ(in.env);
    OK(mdbx_txn_commit_ex(txn, &latency));
    done(in);
}

static void three_numbers_of_the_programs(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    MDBX_canary canary = {1, 2, 3, 99}, found;
    uint64_t id = mdbx_txn_id(txn);
    OK(mdbx_canary_get(txn, &found));
    EXPECT(found.x == 0 && found.y == 0 && found.z == 0);
    OK(mdbx_canary_put(txn, &canary));
    OK(mdbx_canary_get(txn, &found));
    EXPECT(found.x == 1 && found.y == 2 && found.z == 3);
    EXPECT_NUM(found.v, id); /* the transaction, not what was given */
    OK(mdbx_txn_commit(txn));
    txn = WRITE(in.env);
    OK(mdbx_canary_put(txn, &canary)); /* as it is already: nothing changes */
    OK(mdbx_canary_get(txn, &found));
    EXPECT_NUM(found.v, id);
    OK(mdbx_canary_put(txn, NULL));
    OK(mdbx_canary_get(txn, &found));
    EXPECT_NUM(found.v, mdbx_txn_id(txn));
    EXPECT_NUM(found.x, 1);
    OK(mdbx_txn_abort(txn));
    txn = READ(in.env);
    OK(mdbx_canary_get(txn, &found));
    EXPECT_NUM(found.v, id);
    EXPECT_RC(mdbx_canary_put(txn, &canary), MDBX_EACCESS);
    EXPECT_RC(mdbx_canary_get(txn, NULL), MDBX_EINVAL);
    OK(mdbx_txn_abort(txn));
    done(in);
}

static void a_pointer_of_the_programs(void)
{
    struct place in = in_table(0);
    int mine, other;
    MDBX_txn *txn = NULL;
    OK(mdbx_txn_begin_ex(in.env, NULL, MDBX_TXN_READWRITE, &txn, &mine));
    EXPECT(mdbx_txn_get_userctx(txn) == &mine);
    OK(mdbx_txn_set_userctx(txn, &other));
    EXPECT(mdbx_txn_get_userctx(txn) == &other);
    OK(mdbx_txn_abort(txn));
    EXPECT(mdbx_txn_get_userctx(NULL) == NULL);
    done(in);
}

static void flags_of_a_beginning(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn;
    EXPECT_RC(try_begin(in.env, NULL, 0x40000000), MDBX_EINVAL);
    EXPECT_RC(try_begin(in.env, NULL, 0x01), MDBX_EINVAL);
    txn = begin(in.env, NULL, MDBX_TXN_TRY | MDBX_TXN_NOSYNC | MDBX_TXN_NOMETASYNC);
    OK(put(txn, in.dbi, "k", "x", 0));
    OK(mdbx_txn_commit(txn));
    EXPECT_RC(mdbx_txn_begin(in.env, NULL, MDBX_TXN_READWRITE, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_begin(NULL, NULL, MDBX_TXN_READWRITE, &txn), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_commit(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_abort(NULL), MDBX_EINVAL);
    done(in);
}

static void nothing_is_left_after_an_abort(void)
{
    const unsigned count = scaled(3000);
    struct place in = in_table(0);
    MDBX_txn *txn = WRITE(in.env);
    MDBX_val data = filled(100, 'x');
    unsigned i;
    for (i = 0; i < count; i++) {
        MDBX_val key = numbered("n", i);
        OK(mdbx_put(txn, in.dbi, &key, &data, MDBX_UPSERT));
    }
    OK(mdbx_txn_abort(txn));
    txn = READ(in.env);
    EXPECT_NUM(entries(txn, in.dbi), 1);
    OK(mdbx_txn_abort(txn));
    done(in);
}

#if OURS
/* Of what came to the interface later. */
static void parked_readers(void)
{
    struct place in = in_table(0);
    MDBX_txn *txn = READ(in.env);
    OK(mdbx_txn_park(txn, false));
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_TXN);
    OK(mdbx_txn_unpark(txn, false));
    EXPECT_GET(txn, in.dbi, "k", "v");
    OK(mdbx_txn_park(txn, true));
    EXPECT_GET(txn, in.dbi, "k", "v"); /* which comes back to work */
    OK(mdbx_txn_abort(txn));
    txn = WRITE(in.env);
    EXPECT_RC(mdbx_txn_park(txn, false), MDBX_BAD_TXN);
    OK(mdbx_txn_abort(txn));
    done(in);
}
#else
static void parked_readers(void)
{
    ours_alone();
}
#endif

static void *goes_on_to_write(void *arg)
{
    struct other *other = (struct other *)arg;
    MDBX_txn *child = NULL;
    MDBX_cursor *cur = NULL;
    MDBX_val key, data;
    other->rcs[0] = put(other->txn, other->dbi, "k", "moved", 0);
    other->rcs[1] = mdbx_txn_begin(other->env, other->txn, MDBX_TXN_READWRITE, &child);
    other->rcs[2] = mdbx_txn_commit(child);
    other->rcs[3] = mdbx_cursor_open(other->txn, other->dbi, &cur);
    other->rcs[4] = mdbx_cursor_get(cur, &key, &data, MDBX_FIRST);
    mdbx_cursor_close(cur);
    other->rcs[5] = mdbx_txn_begin(other->env, NULL, MDBX_TXN_TRY, &child);
    other->rcs[6] = mdbx_txn_commit(other->txn);
    return NULL;
}

/* Since libmdbx 0.13, but that there the thread ends it that began. */
static void a_writer_of_no_thread(void)
{
    struct place in = in_table(MDBX_NOTLS);
    MDBX_txn *reader;
    struct other other = {in.env, WRITE(in.env), in.dbi, {0}};
    int i;
    if (!OURS) skip("for Huon's library alone");
    in_a_thread(goes_on_to_write, &other);
    for (i = 0; i < 7; i++) EXPECT_RC(other.rcs[i], i == 5 ? MDBX_BUSY : 0);
    /* This thread has none any more. */
    reader = READ(in.env);
    EXPECT_GET(reader, in.dbi, "k", "moved");
    OK(mdbx_txn_abort(reader));
    OK(mdbx_txn_abort(WRITE(in.env)));
    done(in);
}

/* One that was reset has the number that it had. */
static void the_number_of_what_was_reset(void)
{
    struct place in = in_table(MDBX_NOTLS);
    MDBX_txn *reader = READ(in.env), *writer = WRITE(in.env);
    uint64_t id = mdbx_txn_id(reader);
    EXPECT(id > 0);
    OK(put(writer, in.dbi, "k", "newer", 0));
    OK(mdbx_txn_commit(writer));
    OK(mdbx_txn_reset(reader));
    EXPECT_NUM(mdbx_txn_id(reader), id);
    OK(mdbx_txn_renew(reader));
    EXPECT_NUM(mdbx_txn_id(reader), id + 1);
    OK(mdbx_txn_abort(reader));
    done(in);
}

CASES(CASE(commit_and_abort), CASE(numbers_of_transactions), CASE(flags_tell_the_state),
      CASE(a_reader_sees_one_snapshot), CASE(reset_and_renewed), CASE(the_end_of_what_was_reset),
      CASE(prepared_to_read), CASE(one_of_a_thread), CASE(as_many_as_one_likes),
      CASE(overlapping_as_of_old), CASE(one_writer_among_threads),
      CASE(a_transaction_is_of_its_thread), CASE(a_reader_of_no_thread), CASE(children),
      CASE(a_parent_waits_for_its_child), CASE(the_end_of_a_parent_is_that_of_its_child),
      CASE(who_can_have_no_child), CASE(a_childs_tables), CASE(a_parents_cursor_in_its_child),
      CASE(a_childs_cursor_is_taken_out_at_its_end),
      CASE(a_parents_cursor_is_closed_in_its_child), CASE(no_room_breaks_it),
      CASE(what_is_refused_breaks_nothing), CASE(broken_on_purpose), CASE(what_a_reader_is_told),
      CASE(what_a_writer_is_told), CASE(what_a_commit_took), CASE(three_numbers_of_the_programs),
      CASE(a_pointer_of_the_programs), CASE(flags_of_a_beginning),
      CASE(nothing_is_left_after_an_abort), CASE(parked_readers),
      CASE(a_writer_of_no_thread), CASE(the_number_of_what_was_reset))
