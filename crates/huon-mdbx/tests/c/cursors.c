/* Cursors in tables of one value a key: every step, at every place, and beside changes. */
#include "harness.h"
#include <limits.h>

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    MDBX_cursor *cur;
};

/* A cursor that stands nowhere, in a table of k1 to k5 with the values 1 to 5. */
static struct place five(void)
{
    static const char *keys[] = {"k1", "k2", "k3", "k4", "k5"};
    struct place in;
    int i;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE);
    for (i = 0; i < 5; i++) OK(put(in.txn, in.dbi, keys[i], keys[i] + 1, 0));
    in.cur = cursor(in.txn, in.dbi);
    return in;
}

/* Another cursor instead, which stands nowhere. */
static void anew(struct place *in)
{
    mdbx_cursor_close(in->cur);
    in->cur = cursor(in->txn, in->dbi);
}

static void done(struct place in)
{
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
}

static void from_end_to_end(void)
{
    struct place in = five();
    EXPECT_AT(in.cur, MDBX_FIRST, "k1", "1");
    EXPECT_AT(in.cur, MDBX_NEXT, "k2", "2");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "2");
    EXPECT_AT(in.cur, MDBX_NEXT_NODUP, "k3", "3");
    EXPECT_AT(in.cur, MDBX_LAST, "k5", "5");
    EXPECT_AT(in.cur, MDBX_PREV, "k4", "4");
    EXPECT_AT(in.cur, MDBX_PREV_NODUP, "k3", "3");
    EXPECT(mdbx_cursor_txn(in.cur) == in.txn);
    EXPECT_NUM(mdbx_cursor_dbi(in.cur), in.dbi);
    done(in);
}

static void from_nowhere(void)
{
    struct place in = five();
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_RC(mdbx_cursor_del(in.cur, PUT_FLAGS(0)), MDBX_ENODATA);
    EXPECT_RC(cursor_put(in.cur, "k2", "x", MDBX_CURRENT), MDBX_ENODATA);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_NEXT, "k1", "1");
    anew(&in);
    EXPECT_AT(in.cur, MDBX_PREV, "k5", "5");
    anew(&in);
    EXPECT_AT(in.cur, MDBX_NEXT_NODUP, "k1", "1");
    anew(&in);
    EXPECT_AT(in.cur, MDBX_PREV_NODUP, "k5", "5");
    done(in);
}

static void at_the_ends(void)
{
    struct place in = five();
    EXPECT_AT(in.cur, MDBX_LAST, "k5", "5");
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k5", "5");
    EXPECT_AT(in.cur, MDBX_PREV, "k4", "4");
    EXPECT_AT(in.cur, MDBX_FIRST, "k1", "1");
    EXPECT_STEP(in.cur, MDBX_PREV, MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_PREV, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k1", "1");
    EXPECT_AT(in.cur, MDBX_NEXT, "k2", "2");
    done(in);
}

static void whether_it_is_at_an_end(void)
{
    struct place in = five();
    EXPECT_AT(in.cur, MDBX_FIRST, "k1", "1");
    NO(mdbx_cursor_eof(in.cur));
    YES(mdbx_cursor_on_first(in.cur));
    NO(mdbx_cursor_on_last(in.cur));
    GO(in.cur, "k3");
    NO(mdbx_cursor_eof(in.cur));
    NO(mdbx_cursor_on_first(in.cur));
    NO(mdbx_cursor_on_last(in.cur));
    EXPECT_AT(in.cur, MDBX_LAST, "k5", "5");
    NO(mdbx_cursor_on_first(in.cur));
    YES(mdbx_cursor_on_last(in.cur));
    EXPECT_AT(in.cur, MDBX_PREV, "k4", "4");
    NO(mdbx_cursor_eof(in.cur));
    NO(mdbx_cursor_on_last(in.cur));
    EXPECT_AT(in.cur, MDBX_NEXT, "k5", "5");
    YES(mdbx_cursor_on_last(in.cur));
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_PREV, "k4", "4");
    NO(mdbx_cursor_eof(in.cur));
    done(in);
}

static void of_an_empty_table(void)
{
    static const int steps[] = {MDBX_FIRST, MDBX_LAST, MDBX_NEXT, MDBX_PREV, MDBX_NEXT_NODUP,
                                MDBX_PREV_NODUP};
    struct place in = five();
    unsigned i;
    OK(mdbx_drop(in.txn, in.dbi, false));
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        anew(&in);
        EXPECT_STEP(in.cur, (MDBX_cursor_op)steps[i], MDBX_NOTFOUND);
        YES(mdbx_cursor_eof(in.cur));
    }
    EXPECT_RC(seek(in.cur, MDBX_SET, "k", NULL), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_SET_RANGE, "k", NULL), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_SET_LOWERBOUND, "k", NULL), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_SET_UPPERBOUND, "k", NULL), MDBX_NOTFOUND);
    OK(cursor_put(in.cur, "a", "1", 0));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "a", "1");
    YES(mdbx_cursor_on_first(in.cur));
    YES(mdbx_cursor_on_last(in.cur));
    done(in);
}

static void to_a_key(void)
{
    struct place in = five();
    char name[] = "k3";
    MDBX_val key = text(name), data;
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_SET));
    EXPECT(key.iov_base == name); /* left as it was */
    EXPECT_TEXT(data, "3");
    OK(mdbx_cursor_get(in.cur, &key, NULL, MDBX_SET));
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_SET_KEY));
    EXPECT(key.iov_base != name);
    EXPECT_TEXT(key, "k3");
    EXPECT_RC(seek(in.cur, MDBX_SET, "k3a", NULL), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_SET_RANGE, "k3a", NULL, MDBX_SUCCESS, "k4", "4");
    EXPECT_AT(in.cur, MDBX_NEXT, "k5", "5");
    EXPECT_GO(in.cur, MDBX_SET_RANGE, "a", NULL, MDBX_SUCCESS, "k1", "1");
    EXPECT_GO(in.cur, MDBX_SET_RANGE, "k2", NULL, MDBX_SUCCESS, "k2", "2");
    EXPECT_GO(in.cur, MDBX_SET_RANGE, "", NULL, MDBX_SUCCESS, "k1", "1");
    done(in);
}

/* A key that was looked for and is not there leaves the cursor where the key would be. */
static void after_a_key_that_is_not_there(void)
{
    struct place in = five();
    GO(in.cur, "k2");
    EXPECT_RC(seek(in.cur, MDBX_SET, "k3a", NULL), MDBX_NOTFOUND);
    NO(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k4", "4");
    EXPECT_AT(in.cur, MDBX_NEXT, "k5", "5");
    EXPECT_RC(seek(in.cur, MDBX_SET, "k3a", NULL), MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_PREV, "k3", "3");
    EXPECT_RC(seek(in.cur, MDBX_SET_KEY, "a", NULL), MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k1", "1");
    EXPECT_RC(seek(in.cur, MDBX_SET, "z", NULL), MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_RC(mdbx_cursor_del(in.cur, PUT_FLAGS(0)), MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_PREV, "k5", "5");
    done(in);
}

static void past_the_end(void)
{
    struct place in = five();
    EXPECT_RC(seek(in.cur, MDBX_SET_RANGE, "z", NULL), MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_PREV, "k5", "5");
    EXPECT_RC(seek(in.cur, MDBX_SET_LOWERBOUND, "z", NULL), MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_AT(in.cur, MDBX_PREV, "k5", "5");
    done(in);
}

static void bounds(void)
{
    struct place in = five();
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "k3", NULL, MDBX_SUCCESS, "k3", "3");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "k2a", NULL, MDBX_RESULT_TRUE, "k3", "3");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "", NULL, MDBX_RESULT_TRUE, "k1", "1");
    EXPECT_AT(in.cur, MDBX_NEXT, "k2", "2");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "k3", NULL, MDBX_SUCCESS, "k4", "4");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "k3a", NULL, MDBX_SUCCESS, "k4", "4");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "", NULL, MDBX_SUCCESS, "k1", "1");
    EXPECT_RC(seek(in.cur, MDBX_SET_UPPERBOUND, "k5", NULL), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_SET_LOWERBOUND, "k6", NULL), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "k5", NULL, MDBX_SUCCESS, "k5", "5");
    done(in);
}

static void steps_that_need_many_values(void)
{
    static const int steps[] = {
        MDBX_FIRST_DUP,    MDBX_LAST_DUP,      MDBX_GET_BOTH,      MDBX_GET_BOTH_RANGE,
        MDBX_GET_MULTIPLE, MDBX_NEXT_MULTIPLE, MDBX_PREV_MULTIPLE,
    };
    struct place in = five();
    unsigned i;
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        MDBX_val key = text("k2"), data = text("2");
        MDBX_cursor_op op = (MDBX_cursor_op)steps[i];
        GO(in.cur, "k2");
        EXPECT_RC(mdbx_cursor_get(in.cur, &key, &data, op), MDBX_INCOMPATIBLE);
    }
    GO(in.cur, "k2");
    EXPECT_AT(in.cur, MDBX_NEXT_DUP, "k3", "3"); /* these two go on to other keys */
    EXPECT_AT(in.cur, MDBX_PREV_DUP, "k2", "2");
    EXPECT_NUM(count_of(in.cur), 1);
    EXPECT_STEP(in.cur, (MDBX_cursor_op)1000, MDBX_EINVAL);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "2");
    done(in);
}

static void put_stands_on_what_it_put(void)
{
    struct place in = five();
    MDBX_val key = text("k2"), data = text("x");
    OK(cursor_put(in.cur, "k25", "new", 0));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k25", "new");
    EXPECT_AT(in.cur, MDBX_NEXT, "k3", "3");
    OK(cursor_put(in.cur, "k1", "one", 0));
    EXPECT_AT(in.cur, MDBX_NEXT, "k2", "2");
    EXPECT_AT(in.cur, MDBX_FIRST, "k1", "one");
    EXPECT_RC(mdbx_cursor_put(in.cur, &key, &data, MDBX_NOOVERWRITE), MDBX_KEYEXIST);
    EXPECT_TEXT(data, "2");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "2"); /* it stands on what is in its way */
    OK(cursor_put(in.cur, "k9", "9", MDBX_APPEND));
    EXPECT_RC(cursor_put(in.cur, "k7", "7", MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_RC(cursor_put(in.cur, "k9", "7", MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_AT(in.cur, MDBX_LAST, "k9", "9");
    EXPECT_NUM(entries(in.txn, in.dbi), 7);
    done(in);
}

static void the_current_record_is_replaced(void)
{
    struct place in = five();
    GO(in.cur, "k2");
    OK(cursor_put(in.cur, "k2", "two", MDBX_CURRENT));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "two");
    EXPECT_RC(cursor_put(in.cur, "k9", "TWO", MDBX_CURRENT), MDBX_EKEYMISMATCH);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "two");
    OK(cursor_put(in.cur, "k2", "a longer value", MDBX_CURRENT));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2", "a longer value");
    EXPECT_RC(cursor_put(in.cur, "k2", "x", MDBX_CURRENT | MDBX_APPEND), MDBX_EINVAL);
    EXPECT_RC(cursor_put(in.cur, "k2", "x", MDBX_CURRENT | MDBX_NOOVERWRITE), MDBX_EINVAL);
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_AT(in.cur, MDBX_NEXT, "k3", "3");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_RC(cursor_put(in.cur, "k3", "x", MDBX_CURRENT), MDBX_EKEYMISMATCH); /* it is on k4 */
    OK(cursor_put(in.cur, "k4", "four", MDBX_CURRENT));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k4", "four");
    done(in);
}

static void a_loop_that_deletes(void)
{
    struct place in = five();
    int count = 0;
    MDBX_val key, data;
    while (mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT) == 0) {
        OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
        count++;
    }
    EXPECT_NUM(count, 5);
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    done(in);
}

static void a_loop_that_deletes_backwards(void)
{
    struct place in = five();
    int count = 0;
    MDBX_val key, data;
    while (mdbx_cursor_get(in.cur, &key, &data, MDBX_PREV) == 0) {
        OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
        count++;
    }
    EXPECT_NUM(count, 5);
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    done(in);
}

static void after_a_deletion(void)
{
    struct place in = five();
    GO(in.cur, "k2");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_NEXT, "k3", "3"); /* the one after, once */
    EXPECT_AT(in.cur, MDBX_NEXT, "k4", "4");
    GO(in.cur, "k3");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k4", "4"); /* which ends that */
    EXPECT_AT(in.cur, MDBX_NEXT, "k5", "5");
    GO(in.cur, "k4");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_PREV, "k1", "1");
    done(in);
}

static void after_the_last_is_deleted(void)
{
    struct place in = five();
    GO(in.cur, "k5");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_LAST, "k4", "4");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_PREV, "k3", "3");
    done(in);
}

static void two_deletions_without_a_step(void)
{
    struct place in = five();
    GO(in.cur, "k2");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0))); /* the one after */
    EXPECT_RC(get(in.txn, in.dbi, "k3"), MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_NEXT, "k4", "4");
    done(in);
}

static void another_cursor_on_what_is_deleted(void)
{
    struct place in = five();
    MDBX_cursor *other = cursor(in.txn, in.dbi), *third = cursor(in.txn, in.dbi);
    GO(in.cur, "k2");
    GO(other, "k2");
    GO(third, "k4");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(third, MDBX_GET_CURRENT, "k4", "4");
    EXPECT_AT(other, MDBX_NEXT, "k3", "3");
    EXPECT_AT(other, MDBX_NEXT, "k4", "4");
    EXPECT_AT(third, MDBX_PREV, "k3", "3");
    OK(del(in.txn, in.dbi, "k3", NULL)); /* by key, under two cursors */
    EXPECT_AT(third, MDBX_NEXT, "k4", "4");
    EXPECT_AT(in.cur, MDBX_NEXT, "k4", "4");
    mdbx_cursor_close(other);
    mdbx_cursor_close(third);
    done(in);
}

static void another_cursor_beside_a_put(void)
{
    struct place in = five();
    GO(in.cur, "k3");
    OK(put(in.txn, in.dbi, "k2a", "x", 0));
    OK(put(in.txn, in.dbi, "k3a", "y", 0));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k3", "3");
    EXPECT_AT(in.cur, MDBX_NEXT, "k3a", "y");
    EXPECT_AT(in.cur, MDBX_PREV, "k3", "3");
    EXPECT_AT(in.cur, MDBX_PREV, "k2a", "x");
    OK(put(in.txn, in.dbi, "k2a", "changed", 0));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k2a", "changed");
    done(in);
}

/* A cursor stays on its record while pages around it split and go. */
static void through_splits_and_merges(void)
{
    const unsigned count = scaled(4000);
    struct place in = five();
    MDBX_val data = filled(60, 'x');
    unsigned i;
    OK(put(in.txn, in.dbi, "m", "middle", 0));
    GO(in.cur, "m");
    for (i = 0; i < count; i++) {
        MDBX_val key = numbered(i % 2 ? "l" : "n", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
        if (i % 97 == 0) EXPECT_AT(in.cur, MDBX_GET_CURRENT, "m", "middle");
    }
    for (i = 0; i < count; i++) {
        MDBX_val key = numbered(i % 2 ? "l" : "n", i);
        OK(mdbx_del(in.txn, in.dbi, &key, NULL));
        if (i % 97 == 0) EXPECT_AT(in.cur, MDBX_GET_CURRENT, "m", "middle");
    }
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "m", "middle");
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_PREV, "k5", "5");
    done(in);
}

static void fill(struct place *in, unsigned count, unsigned step)
{
    unsigned i;
    OK(mdbx_drop(in->txn, in->dbi, false));
    for (i = 0; i < count; i++) {
        MDBX_val key = numbered("k", i * step % count);
        OK(mdbx_put(in->txn, in->dbi, &key, &key, MDBX_UPSERT));
    }
}

static void a_long_way_in_both_directions(void)
{
    enum { COUNT = 3000 };
    struct place in = five();
    MDBX_val key, data;
    unsigned i;
    fill(&in, COUNT, 1009);
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    in.cur = cursor(in.txn, in.dbi);
    for (i = 0; i < COUNT; i++) {
        MDBX_val wanted = numbered("k", i);
        OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT));
        EXPECT_TEXT(key, (char *)wanted.iov_base);
    }
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    for (i = COUNT - 1; i > 0; i--) {
        MDBX_val wanted = numbered("k", i - 1);
        OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_PREV));
        EXPECT_TEXT(key, (char *)wanted.iov_base);
    }
    EXPECT_STEP(in.cur, MDBX_PREV, MDBX_NOTFOUND);
    done(in);
}

static void half_is_deleted_on_the_way(void)
{
    enum { COUNT = 3000 };
    struct place in = five();
    MDBX_val key, data;
    unsigned met = 0;
    fill(&in, COUNT, 1);
    while (mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT) == 0) {
        if (met++ % 2) OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    }
    EXPECT_NUM(met, COUNT);
    EXPECT_NUM(entries(in.txn, in.dbi), COUNT / 2);
    done(in);
}

/* Many records with one call, a page at a time. */
static void in_batches(void)
{
    enum { COUNT = 3000 };
    struct place in = five();
    MDBX_val pairs[64], wanted;
    size_t count = 0, i;
    unsigned met = 0;
    int rc;
    fill(&in, COUNT, 1);
    rc = mdbx_cursor_get_batch(in.cur, &count, pairs, 64, MDBX_FIRST);
    while (rc == MDBX_SUCCESS || rc == MDBX_RESULT_TRUE) {
        EXPECT(count > 0 && count <= 64 && count % 2 == 0);
        for (i = 0; i < count; i += 2, met++) {
            wanted = numbered("k", met);
            EXPECT_TEXT(pairs[i], (char *)wanted.iov_base);
            EXPECT_TEXT(pairs[i + 1], (char *)wanted.iov_base);
        }
        /* What was left of a page is where the cursor stands. */
        rc = mdbx_cursor_get_batch(in.cur, &count, pairs, 64,
                                   rc == MDBX_RESULT_TRUE ? MDBX_GET_CURRENT : MDBX_NEXT);
    }
    EXPECT_RC(rc, MDBX_NOTFOUND);
    EXPECT_NUM(count, 0);
    EXPECT_NUM(met, COUNT);
    GO(in.cur, "k00007");
    rc = mdbx_cursor_get_batch(in.cur, &count, pairs, 4, MDBX_GET_CURRENT);
    YES(rc); /* there is more in the page */
    EXPECT_NUM(count, 4);
    EXPECT_TEXT(pairs[0], "k00007");
    EXPECT_TEXT(pairs[2], "k00008");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k00009", "k00009");
    EXPECT_RC(mdbx_cursor_get_batch(in.cur, &count, pairs, 3, MDBX_FIRST), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_get_batch(in.cur, &count, pairs, 4, MDBX_LAST), MDBX_EINVAL);
    done(in);
}

static void batches_are_of_plain_tables(void)
{
    struct place in = five();
    MDBX_dbi many = table(in.txn, "many", MDBX_CREATE | MDBX_DUPSORT);
    MDBX_cursor *cur = cursor(in.txn, many);
    MDBX_val pairs[8];
    size_t count;
    OK(put(in.txn, many, "k", "1", 0));
    EXPECT_RC(mdbx_cursor_get_batch(cur, &count, pairs, 8, MDBX_FIRST), MDBX_INCOMPATIBLE);
    mdbx_cursor_close(cur);
    done(in);
}

static void copies_stand_where_the_original_does(void)
{
    struct place in = five();
    MDBX_cursor *copy = mdbx_cursor_create(NULL);
    GO(in.cur, "k3");
    OK(mdbx_cursor_copy(in.cur, copy));
    EXPECT(mdbx_cursor_txn(copy) == in.txn);
    EXPECT_NUM(mdbx_cursor_dbi(copy), in.dbi);
    EXPECT_AT(copy, MDBX_GET_CURRENT, "k3", "3");
    EXPECT_AT(copy, MDBX_NEXT, "k4", "4");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k3", "3");
    OK(mdbx_cursor_copy(copy, in.cur));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k4", "4");
    mdbx_cursor_close(copy);
    done(in);
}

static void of_nothing_at_first(void)
{
    struct place in = five();
    int mine, other;
    MDBX_cursor *cur = mdbx_cursor_create(&mine);
    MDBX_val key, data;
    size_t count;
    EXPECT(cur != NULL);
    EXPECT(mdbx_cursor_get_userctx(cur) == &mine);
    OK(mdbx_cursor_set_userctx(cur, &other));
    EXPECT(mdbx_cursor_get_userctx(cur) == &other);
    EXPECT(mdbx_cursor_txn(cur) == NULL);
    EXPECT_NUM(mdbx_cursor_dbi(cur), UINT_MAX);
    EXPECT_RC(mdbx_cursor_get(cur, &key, &data, MDBX_FIRST), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_count(cur, &count), MDBX_EINVAL);
    EXPECT_RC(mdbx_cursor_renew(in.txn, cur), MDBX_BAD_DBI); /* it has no table */
    OK(mdbx_cursor_bind(in.txn, cur, in.dbi));
    EXPECT(mdbx_cursor_get_userctx(cur) == &other);
    EXPECT_AT(cur, MDBX_FIRST, "k1", "1");
    OK(mdbx_cursor_bind(in.txn, cur, in.dbi)); /* it stands nowhere again */
    EXPECT_STEP(cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    mdbx_cursor_close(cur);
    mdbx_cursor_close(NULL);
    cur = mdbx_cursor_create(NULL);
    mdbx_cursor_close(cur); /* it never was of anything */
    done(in);
}

static void bound_to_another_table(void)
{
    struct place in = five();
    MDBX_dbi other = table(in.txn, "other", MDBX_CREATE | MDBX_DUPSORT);
    OK(put(in.txn, other, "x", "1", 0));
    OK(put(in.txn, other, "x", "2", 0));
    GO(in.cur, "k3");
    OK(mdbx_cursor_bind(in.txn, in.cur, other));
    EXPECT_NUM(mdbx_cursor_dbi(in.cur), other);
    EXPECT_AT(in.cur, MDBX_LAST, "x", "2");
    OK(mdbx_cursor_bind(in.txn, in.cur, in.dbi));
    EXPECT_AT(in.cur, MDBX_LAST, "k5", "5");
    EXPECT_RC(mdbx_cursor_bind(in.txn, in.cur, 99), MDBX_BAD_DBI);
    done(in);
}

/* A cursor is its owner's: the end of its transaction takes it out of that, and no more. */
static void it_outlives_its_transaction(void)
{
    struct place in = five();
    MDBX_val key, data;
    GO(in.cur, "k3");
    OK(mdbx_txn_commit(in.txn));
    EXPECT(mdbx_cursor_txn(in.cur) == NULL);
    EXPECT_RC(mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT), MDBX_EINVAL);
    in.txn = READ(in.env);
    OK(mdbx_cursor_renew(in.txn, in.cur));
    EXPECT(mdbx_cursor_txn(in.cur) == in.txn);
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_AT(in.cur, MDBX_NEXT, "k1", "1");
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    OK(mdbx_cursor_bind(in.txn, in.cur, in.dbi));
    OK(cursor_put(in.cur, "k6", "6", 0));
    OK(mdbx_txn_abort(in.txn));
    mdbx_cursor_close(in.cur); /* after the end */
    in.txn = READ(in.env);
    in.cur = cursor(in.txn, in.dbi);
    EXPECT_AT(in.cur, MDBX_LAST, "k5", "5");
    done(in);
}

static void renewed_after_a_reset(void)
{
    struct place in = five();
    MDBX_txn *writer;
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    in.cur = cursor(in.txn, in.dbi);
    GO(in.cur, "k3");
    OK(mdbx_txn_reset(in.txn));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_EINVAL); /* it was taken out */
    writer = WRITE(in.env);
    OK(put(writer, in.dbi, "k9", "9", 0));
    OK(mdbx_txn_commit(writer));
    OK(mdbx_txn_renew(in.txn));
    OK(mdbx_cursor_renew(in.txn, in.cur));
    EXPECT_AT(in.cur, MDBX_LAST, "k9", "9");
    done(in);
}

static void reading_changes_nothing(void)
{
    struct place in = five();
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    OK(mdbx_cursor_renew(in.txn, in.cur));
    GO(in.cur, "k3");
    EXPECT_RC(mdbx_cursor_del(in.cur, PUT_FLAGS(0)), MDBX_EACCESS);
    EXPECT_RC(cursor_put(in.cur, "k3", "x", 0), MDBX_EACCESS);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k3", "3");
    done(in);
}

#if OURS
/* Of what came to the interface later. */
static void taken_out_and_put_nowhere(void)
{
    struct place in = five();
    GO(in.cur, "k3");
    YES(mdbx_cursor_on_first_dup(in.cur));
    YES(mdbx_cursor_on_last_dup(in.cur));
    OK(mdbx_cursor_reset(in.cur));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT(mdbx_cursor_txn(in.cur) == in.txn);
    GO(in.cur, "k3");
    OK(mdbx_cursor_unbind(in.cur));
    EXPECT(mdbx_cursor_txn(in.cur) == NULL);
    OK(mdbx_cursor_bind(in.txn, in.cur, in.dbi));
    EXPECT_AT(in.cur, MDBX_NEXT, "k1", "1");
    done(in);
}

static void all_of_a_transaction(void)
{
    struct place in = five();
    MDBX_cursor *other = cursor(in.txn, in.dbi);
    size_t count = 0;
    OK(mdbx_txn_release_all_cursors_ex(in.txn, true, &count));
    EXPECT_NUM(count, 2);
    EXPECT(mdbx_cursor_txn(other) == NULL);
    mdbx_cursor_close(other);
    OK(mdbx_cursor_bind(in.txn, in.cur, in.dbi));
    OK(mdbx_txn_release_all_cursors(in.txn, false));
    EXPECT_RC(mdbx_cursor_bind(in.txn, in.cur, in.dbi), MDBX_EBADSIGN);
    in.cur = NULL;
    done(in);
}
#else
static void taken_out_and_put_nowhere(void)
{
    ours_alone();
}

static void all_of_a_transaction(void)
{
    ours_alone();
}
#endif

CASES(CASE(from_end_to_end), CASE(from_nowhere), CASE(at_the_ends), CASE(whether_it_is_at_an_end),
      CASE(of_an_empty_table), CASE(to_a_key), CASE(after_a_key_that_is_not_there),
      CASE(past_the_end), CASE(bounds), CASE(steps_that_need_many_values),
      CASE(put_stands_on_what_it_put), CASE(the_current_record_is_replaced),
      CASE(a_loop_that_deletes), CASE(a_loop_that_deletes_backwards), CASE(after_a_deletion),
      CASE(after_the_last_is_deleted), CASE(two_deletions_without_a_step),
      CASE(another_cursor_on_what_is_deleted), CASE(another_cursor_beside_a_put),
      CASE(through_splits_and_merges), CASE(a_long_way_in_both_directions),
      CASE(half_is_deleted_on_the_way), CASE(in_batches), CASE(batches_are_of_plain_tables),
      CASE(copies_stand_where_the_original_does), CASE(of_nothing_at_first),
      CASE(bound_to_another_table), CASE(it_outlives_its_transaction),
      CASE(renewed_after_a_reset), CASE(reading_changes_nothing),
      CASE(taken_out_and_put_nowhere), CASE(all_of_a_transaction))
