/* What no caller should do. libmdbx checks some of it; the rest is of Huon's library alone. */
#include "harness.h"
#include <limits.h>
#include <pthread.h>

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    MDBX_cursor *cur;
};

static struct place in_table(unsigned flags)
{
    struct place in;
    in.env = env_with(MDBX_SAFE_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE | flags);
    in.cur = cursor(in.txn, in.dbi);
    OK(put(in.txn, in.dbi, "k", "vvvv", 0));
    return in;
}

static void done(struct place in)
{
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
}

static void nothing_instead_of_something(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data = nothing();
    MDBX_cursor *cur = NULL;
    size_t count = 0;
    EXPECT_RC(mdbx_get(NULL, in.dbi, &key, &data), MDBX_EINVAL);
    EXPECT_RC(mdbx_get(in.txn, in.dbi, NULL, &data), MDBX_EINVAL);
    EXPECT_RC(mdbx_get(in.txn, in.dbi, &key, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_get_ex(in.txn, in.dbi, NULL, &data, &count), MDBX_EINVAL);
    EXPECT_RC(mdbx_get_equal_or_great(in.txn, in.dbi, &key, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_put(NULL, in.dbi, &key, &key, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, NULL, &key, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, NULL, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_del(NULL, in.dbi, &key, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_del(in.txn, in.dbi, NULL, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_get(NULL, &key, &data, MDBX_FIRST), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_count(NULL, &count), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_open(in.txn, in.dbi, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_open(NULL, in.dbi, &cur), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_put(NULL, &key, &data, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_del(NULL, MDBX_CURRENT), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_renew(in.txn, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_bind(in.txn, NULL, in.dbi), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_copy(in.cur, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_eof(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_drop(NULL, in.dbi, false), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_reset(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_renew(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_txn_break(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_sync(NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_env_set_userctx(NULL, NULL), MDBX_EINVAL);
    EXPECT(mdbx_cursor_txn(NULL) == NULL);
    EXPECT_NUM(mdbx_cursor_dbi(NULL), UINT_MAX);
    EXPECT_GET(in.txn, in.dbi, "k", "vvvv");
    done(in);
}

/* A value without bytes of which it says that they are there. */
static void lengths_of_nothing(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), lie = bytes(NULL, 5), huge = bytes("x", SIZE_MAX);
    ours_alone();
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &lie, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &lie, &key, MDBX_UPSERT), MDBX_EINVAL);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &huge, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &huge, &key, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_GET(in.txn, in.dbi, "k", "vvvv");
    done(in);
}

static void handles_that_were_closed(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data = nothing();
    MDBX_txn *txn = NULL;
    ours_alone();
    mdbx_cursor_close(in.cur);
    mdbx_cursor_close(in.cur);
    EXPECT_RC(mdbx_cursor_get(in.cur, &key, &data, MDBX_FIRST), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_cursor_bind(in.txn, in.cur, in.dbi), MDBX_EBADSIGN);
    OK(mdbx_txn_commit(in.txn));
    EXPECT_RC(mdbx_txn_commit(in.txn), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_txn_abort(in.txn), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_get(in.txn, in.dbi, &key, &data), MDBX_EBADSIGN);
    EXPECT_NUM(mdbx_txn_id(in.txn), 0);
    OK(mdbx_env_close(in.env));
    EXPECT_RC(mdbx_env_close(in.env), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_txn_begin(in.env, NULL, MDBX_TXN_RDONLY, &txn), MDBX_EBADSIGN);
}

static void handles_of_something_else(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data = nothing();
    int memory[64] = {0};
    ours_alone();
    EXPECT_RC(mdbx_get((MDBX_txn *)in.env, in.dbi, &key, &data), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_get((MDBX_txn *)in.cur, in.dbi, &key, &data), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_get((MDBX_txn *)memory, in.dbi, &key, &data), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_env_sync((MDBX_env *)in.txn), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_cursor_get((MDBX_cursor *)17, &key, &data, MDBX_FIRST), MDBX_EBADSIGN);
    EXPECT_RC(mdbx_cursor_copy(in.cur, (MDBX_cursor *)in.txn), MDBX_EBADSIGN);
    done(in);
}

/* Of two environments, where one is meant. */
static void of_another_environment(void)
{
    struct place in = in_table(0);
    MDBX_env *env = new_env();
    MDBX_txn *txn;
    MDBX_cursor *cur;
    ours_alone();
    OK(mdbx_env_open(env, "./other", MDBX_ENV_DEFAULTS, 0644));
    txn = WRITE(env);
    EXPECT_RC(get(txn, in.dbi, "k"), MDBX_BAD_DBI);
    cur = cursor(txn, table(txn, NULL, 0));
    EXPECT_RC(mdbx_cursor_copy(in.cur, cur), MDBX_EINVAL);
    mdbx_cursor_close(cur);
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
    done(in);
}

/* What is left open when its environment is closed. */
static void an_environment_is_closed_too_early(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data = nothing();
    ours_alone();
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    OK(mdbx_cursor_renew(in.txn, in.cur));
    OK(mdbx_env_close(in.env));
    EXPECT(mdbx_get(in.txn, in.dbi, &key, &data) != MDBX_SUCCESS);
    EXPECT(mdbx_cursor_get(in.cur, &key, &data, MDBX_FIRST) != MDBX_SUCCESS);
    mdbx_cursor_close(in.cur);
    mdbx_txn_abort(in.txn);
    in.env = env_with(MDBX_SAFE_NOSYNC);
    in.txn = WRITE(in.env);
    EXPECT_GET(in.txn, table(in.txn, "t", 0), "k", "vvvv");
    OK(mdbx_txn_abort(in.txn));
    OK(mdbx_env_close(in.env));
}

static void in_a_child_of_fork(void)
{
    struct place in = in_table(0);
    int status = 0;
    pid_t child;
    ours_alone();
    OK(put(in.txn, in.dbi, "k", "parent's", 0));
    child = fork();
    if (child == 0) {
        MDBX_txn *txn = NULL;
        EXPECT_RC(get(in.txn, in.dbi, "k"), MDBX_PANIC);
        EXPECT_RC(put(in.txn, in.dbi, "k", "child's", 0), MDBX_PANIC);
        EXPECT_RC(mdbx_txn_commit(in.txn), MDBX_PANIC);
        /* The environment is its own. */
        OK(mdbx_txn_begin(in.env, NULL, MDBX_TXN_RDONLY, &txn));
        EXPECT_RC(mdbx_dbi_open(txn, "t", MDBX_DB_DEFAULTS, &in.dbi), MDBX_NOTFOUND);
        OK(mdbx_txn_abort(txn));
        OK(mdbx_env_close(in.env));
        in.env = env_with(MDBX_SAFE_NOSYNC | MDBX_ACCEDE);
        in.txn = READ(in.env);
        EXPECT_RC(mdbx_dbi_open(in.txn, "t", MDBX_DB_DEFAULTS, &in.dbi), MDBX_NOTFOUND);
        OK(mdbx_txn_abort(in.txn));
        OK(mdbx_env_close(in.env));
        leave();
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT_NUM(status, 0);
    EXPECT_GET(in.txn, in.dbi, "k", "parent's");
    done(in);
}

/* libmdbx refuses this, unless MDBX_DBG_LEGACY_MULTIOPEN is set. */
static void open_twice_in_a_process(void)
{
    struct place in = in_table(0);
    MDBX_env *again;
    MDBX_txn *txn;
    ours_alone();
    OK(mdbx_txn_commit(in.txn));
    again = env_with(MDBX_SAFE_NOSYNC);
    txn = WRITE(again);
    OK(put(txn, table(txn, "t", 0), "k", "other", 0));
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(again));
    in.txn = WRITE(in.env);
    EXPECT_GET(in.txn, in.dbi, "k", "other");
    OK(mdbx_cursor_renew(in.txn, in.cur));
    done(in);
}

static MDBX_txn *of_comparator;
static MDBX_dbi its_table;
static int rc_within;

static int meddles(const MDBX_val *a, const MDBX_val *b)
{
    int order = memcmp(a->iov_base, b->iov_base, a->iov_len < b->iov_len ? a->iov_len : b->iov_len);
    if (of_comparator) rc_within = put(of_comparator, its_table, "within", "v", 0);
    return order ? order : (int)a->iov_len - (int)b->iov_len;
}

/* A comparator that uses the transaction that calls it. */
static void from_within_a_comparator(void)
{
    struct place in = in_table(0);
    MDBX_dbi dbi = 0;
    ours_alone();
    OK(mdbx_dbi_open_ex(in.txn, "mine", MDBX_CREATE, &dbi, meddles, NULL));
    OK(put(in.txn, dbi, "a", "1", 0));
    of_comparator = in.txn;
    its_table = in.dbi;
    OK(put(in.txn, dbi, "b", "2", 0));
    of_comparator = NULL;
    EXPECT_RC(rc_within, MDBX_BAD_TXN);
    EXPECT_GET(in.txn, dbi, "b", "2");
    done(in);
}

struct racing {
    MDBX_txn *txn;
    MDBX_dbi dbi;
};

static void *reads(void *arg)
{
    struct racing *racing = (struct racing *)arg;
    unsigned i;
    for (i = 0; i < 20000; i++) {
        int rc = get(racing->txn, racing->dbi, "k");
        EXPECT(rc == MDBX_SUCCESS || rc == MDBX_BAD_TXN || rc == MDBX_EBADSIGN);
    }
    return NULL;
}

/* A reader of no thread that two use at once, until one of them ends it. */
static void two_threads_at_once(void)
{
    MDBX_env *env = env_with(MDBX_NOTLS);
    MDBX_txn *txn = WRITE(env);
    struct racing racing;
    pthread_t threads[2];
    ours_alone();
    racing.dbi = table(txn, "t", MDBX_CREATE);
    OK(put(txn, racing.dbi, "k", "v", 0));
    OK(mdbx_txn_commit(txn));
    racing.txn = READ(env);
    EXPECT(pthread_create(&threads[0], NULL, reads, &racing) == 0);
    EXPECT(pthread_create(&threads[1], NULL, reads, &racing) == 0);
    usleep(2000);
    while (mdbx_txn_abort(racing.txn) == MDBX_BAD_TXN) usleep(10);
    EXPECT(pthread_join(threads[0], NULL) == 0);
    EXPECT(pthread_join(threads[1], NULL) == 0);
    OK(mdbx_env_close(env));
}

CASES(CASE(nothing_instead_of_something), CASE(lengths_of_nothing),
      CASE(handles_that_were_closed), CASE(handles_of_something_else),
      CASE(of_another_environment), CASE(an_environment_is_closed_too_early),
      CASE(in_a_child_of_fork), CASE(open_twice_in_a_process), CASE(from_within_a_comparator),
      CASE(two_threads_at_once))
