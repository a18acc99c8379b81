/* Cursors in tables of one value a key: every step, at every place, and beside changes. */
#include "harness.h"

struct place {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cur;
};

/* A cursor that stands nowhere, in a table of k1 to k5 with the values 1 to 5. */
static struct place five(void)
{
    static const char *keys[] = {"k1", "k2", "k3", "k4", "k5"};
    struct place in;
    int i;
    in.env = env_with(MDB_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDB_CREATE);
    for (i = 0; i < 5; i++) OK(put(in.txn, in.dbi, keys[i], keys[i] + 1, 0));
    in.cur = cursor(in.txn, in.dbi);
    return in;
}

static void done(struct place in)
{
    mdb_cursor_close(in.cur);
    OK(mdb_txn_commit(in.txn));
    mdb_env_close(in.env);
}

static void from_end_to_end(void)
{
    struct place in = five();
    EXPECT_AT(in.cur, MDB_FIRST, "k1", "1");
    EXPECT_AT(in.cur, MDB_NEXT, "k2", "2");
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2", "2");
    EXPECT_AT(in.cur, MDB_NEXT_NODUP, "k3", "3");
    EXPECT_AT(in.cur, MDB_LAST, "k5", "5");
    EXPECT_AT(in.cur, MDB_PREV, "k4", "4");
    EXPECT_AT(in.cur, MDB_PREV_NODUP, "k3", "3");
    EXPECT(mdb_cursor_txn(in.cur) == in.txn);
    EXPECT_NUM(mdb_cursor_dbi(in.cur), in.dbi);
    done(in);
}

static void from_nowhere(void)
{
    struct place in = five();
    EXPECT_STEP(in.cur, MDB_GET_CURRENT, EINVAL);
    EXPECT_RC(mdb_cursor_del(in.cur, 0), EINVAL);
    EXPECT_AT(in.cur, MDB_NEXT, "k1", "1");
    mdb_cursor_close(in.cur);
    in.cur = cursor(in.txn, in.dbi);
    EXPECT_AT(in.cur, MDB_PREV, "k5", "5");
    mdb_cursor_close(in.cur);
    in.cur = cursor(in.txn, in.dbi);
    EXPECT_AT(in.cur, MDB_NEXT_NODUP, "k1", "1");
    mdb_cursor_close(in.cur);
    in.cur = cursor(in.txn, in.dbi);
    EXPECT_AT(in.cur, MDB_PREV_NODUP, "k5", "5");
    done(in);
}

static void at_the_ends(void)
{
    struct place in = five();
    EXPECT_AT(in.cur, MDB_LAST, "k5", "5");
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k5", "5");
    EXPECT_AT(in.cur, MDB_PREV, "k4", "4");
    EXPECT_AT(in.cur, MDB_FIRST, "k1", "1");
    EXPECT_STEP(in.cur, MDB_PREV, MDB_NOTFOUND);
    EXPECT_STEP(in.cur, MDB_PREV, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k1", "1");
    EXPECT_AT(in.cur, MDB_NEXT, "k2", "2");
    done(in);
}

static void of_an_empty_table(void)
{
    static const int steps[] = {MDB_FIRST, MDB_LAST, MDB_NEXT, MDB_PREV};
    struct place in = five();
    MDB_val key = text("k"), data;
    unsigned i;
    OK(mdb_drop(in.txn, in.dbi, 0));
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        mdb_cursor_close(in.cur);
        in.cur = cursor(in.txn, in.dbi);
        EXPECT_STEP(in.cur, (MDB_cursor_op)steps[i], MDB_NOTFOUND);
    }
    EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, MDB_SET), MDB_NOTFOUND);
    EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, MDB_SET_RANGE), MDB_NOTFOUND);
    OK(cursor_put(in.cur, "a", "1", 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "a", "1");
    done(in);
}

static void to_a_key(void)
{
    struct place in = five();
    char name[] = "k3";
    MDB_val key = text(name), data;
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_SET));
    EXPECT(key.mv_data == name); /* left as it was */
    EXPECT_TEXT(data, "3");
    OK(mdb_cursor_get(in.cur, &key, NULL, MDB_SET));
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_SET_KEY));
    EXPECT(key.mv_data != name);
    EXPECT_TEXT(key, "k3");
    key = text("k3a");
    EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, MDB_SET), MDB_NOTFOUND);
    key = text("k3a");
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_SET_RANGE));
    EXPECT_TEXT(key, "k4");
    EXPECT_TEXT(data, "4");
    EXPECT_AT(in.cur, MDB_NEXT, "k5", "5");
    key = text("a");
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_SET_RANGE));
    EXPECT_TEXT(key, "k1");
    done(in);
}

static void past_the_end(void)
{
    struct place in = five();
    MDB_val key = text("z"), data;
    EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, MDB_SET_RANGE), MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_PREV, "k5", "5");
    key = text("z");
    EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, MDB_SET), MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_PREV, "k5", "5");
    done(in);
}

static void steps_that_need_many_values(void)
{
    static const int steps[] = {
        MDB_FIRST_DUP,    MDB_LAST_DUP,      MDB_GET_BOTH,      MDB_GET_BOTH_RANGE,
        MDB_GET_MULTIPLE, MDB_NEXT_MULTIPLE, MDB_PREV_MULTIPLE,
    };
    struct place in = five();
    size_t count;
    unsigned i;
    for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        MDB_val key = text("k2"), data = text("2");
        MDB_cursor_op op = (MDB_cursor_op)steps[i];
        GO(in.cur, "k2");
        EXPECT_RC(mdb_cursor_get(in.cur, &key, &data, op), MDB_INCOMPATIBLE);
    }
    GO(in.cur, "k2");
    EXPECT_AT(in.cur, MDB_NEXT_DUP, "k3", "3"); /* these two go on to other keys */
    EXPECT_AT(in.cur, MDB_PREV_DUP, "k2", "2");
    EXPECT_RC(mdb_cursor_count(in.cur, &count), MDB_INCOMPATIBLE);
    EXPECT_STEP(in.cur, (MDB_cursor_op)19, EINVAL);
    EXPECT_STEP(in.cur, (MDB_cursor_op)1000, EINVAL);
    done(in);
}

static void put_stands_on_what_it_put(void)
{
    struct place in = five();
    MDB_val key = text("k2"), data = text("x");
    OK(cursor_put(in.cur, "k25", "new", 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k25", "new");
    EXPECT_AT(in.cur, MDB_NEXT, "k3", "3");
    OK(cursor_put(in.cur, "k1", "one", 0));
    EXPECT_AT(in.cur, MDB_NEXT, "k2", "2");
    EXPECT_AT(in.cur, MDB_FIRST, "k1", "one");
    EXPECT_RC(mdb_cursor_put(in.cur, &key, &data, MDB_NOOVERWRITE), MDB_KEYEXIST);
    EXPECT_TEXT(data, "2");
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2", "2"); /* it stands on what is in its way */
    OK(cursor_put(in.cur, "k9", "9", MDB_APPEND));
    EXPECT_RC(cursor_put(in.cur, "k7", "7", MDB_APPEND), MDB_KEYEXIST);
    EXPECT_AT(in.cur, MDB_LAST, "k9", "9");
    done(in);
}

static void the_current_record_is_replaced(void)
{
    struct place in = five();
    EXPECT_RC(cursor_put(in.cur, "k2", "x", MDB_CURRENT), EINVAL); /* it stands nowhere */
    GO(in.cur, "k2");
    OK(cursor_put(in.cur, "k2", "two", MDB_CURRENT));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2", "two");
    OK(cursor_put(in.cur, "k9", "TWO", MDB_CURRENT)); /* the key is not looked at */
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2", "TWO");
    OK(cursor_put(in.cur, "k2", "a longer value", MDB_CURRENT));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2", "a longer value");
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_AT(in.cur, MDB_NEXT, "k3", "3");
    done(in);
}

static void a_loop_that_deletes(void)
{
    struct place in = five();
    int count = 0;
    MDB_val key, data;
    while (mdb_cursor_get(in.cur, &key, &data, MDB_NEXT) == 0) {
        OK(mdb_cursor_del(in.cur, 0));
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
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_NEXT, "k3", "3"); /* the one after, once */
    EXPECT_AT(in.cur, MDB_NEXT, "k4", "4");
    GO(in.cur, "k3");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k4", "4"); /* which ends that */
    EXPECT_AT(in.cur, MDB_NEXT, "k5", "5");
    GO(in.cur, "k4");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_PREV, "k1", "1");
    done(in);
}

static void after_the_last_is_deleted(void)
{
    struct place in = five();
    GO(in.cur, "k5");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_LAST, "k4", "4");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_PREV, "k3", "3");
    done(in);
}

static void two_deletions_without_a_step(void)
{
    struct place in = five();
    GO(in.cur, "k2");
    OK(mdb_cursor_del(in.cur, 0));
    OK(mdb_cursor_del(in.cur, 0)); /* the one after */
    EXPECT_RC(get(in.txn, in.dbi, "k3"), MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_NEXT, "k4", "4");
    done(in);
}

static void another_cursor_on_what_is_deleted(void)
{
    struct place in = five();
    MDB_cursor *other = cursor(in.txn, in.dbi), *third = cursor(in.txn, in.dbi);
    GO(in.cur, "k2");
    GO(other, "k2");
    GO(third, "k4");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(third, MDB_GET_CURRENT, "k4", "4");
    EXPECT_AT(other, MDB_NEXT, "k3", "3");
    EXPECT_AT(other, MDB_NEXT, "k4", "4");
    EXPECT_AT(third, MDB_PREV, "k3", "3");
    OK(del(in.txn, in.dbi, "k3", NULL)); /* by key, under two cursors */
    EXPECT_AT(third, MDB_NEXT, "k4", "4");
    mdb_cursor_close(other);
    mdb_cursor_close(third);
    done(in);
}

static void another_cursor_beside_a_put(void)
{
    struct place in = five();
    GO(in.cur, "k3");
    OK(put(in.txn, in.dbi, "k2a", "x", 0));
    OK(put(in.txn, in.dbi, "k3a", "y", 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k3", "3");
    EXPECT_AT(in.cur, MDB_NEXT, "k3a", "y");
    EXPECT_AT(in.cur, MDB_PREV, "k3", "3");
    EXPECT_AT(in.cur, MDB_PREV, "k2a", "x");
    OK(put(in.txn, in.dbi, "k2a", "changed", 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "k2a", "changed");
    done(in);
}

/* A cursor stays on its record while pages around it split and go. */
static void through_splits_and_merges(void)
{
    const unsigned count = scaled(4000);
    struct place in = five();
    MDB_val data = filled(60, 'x');
    unsigned i;
    OK(put(in.txn, in.dbi, "m", "middle", 0));
    GO(in.cur, "m");
    for (i = 0; i < count; i++) {
        MDB_val key = numbered(i % 2 ? "l" : "n", i);
        OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
        if (i % 97 == 0) EXPECT_AT(in.cur, MDB_GET_CURRENT, "m", "middle");
    }
    for (i = 0; i < count; i++) {
        MDB_val key = numbered(i % 2 ? "l" : "n", i);
        OK(mdb_del(in.txn, in.dbi, &key, NULL));
        if (i % 97 == 0) EXPECT_AT(in.cur, MDB_GET_CURRENT, "m", "middle");
    }
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_PREV, "k5", "5");
    done(in);
}

static void a_long_way_in_both_directions(void)
{
    enum { COUNT = 3000 };
    struct place in = five();
    MDB_val key, data;
    unsigned i;
    OK(mdb_drop(in.txn, in.dbi, 0));
    for (i = 0; i < COUNT; i++) {
        key = numbered("k", i * 1009 % COUNT);
        OK(mdb_put(in.txn, in.dbi, &key, &key, 0));
    }
    OK(mdb_txn_commit(in.txn));
    in.txn = READ(in.env);
    in.cur = cursor(in.txn, in.dbi);
    for (i = 0; i < COUNT; i++) {
        MDB_val wanted = numbered("k", i);
        OK(mdb_cursor_get(in.cur, &key, &data, MDB_NEXT));
        EXPECT_TEXT(key, (char *)wanted.mv_data);
    }
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    for (i = COUNT - 1; i > 0; i--) {
        MDB_val wanted = numbered("k", i - 1);
        OK(mdb_cursor_get(in.cur, &key, &data, MDB_PREV));
        EXPECT_TEXT(key, (char *)wanted.mv_data);
    }
    EXPECT_STEP(in.cur, MDB_PREV, MDB_NOTFOUND);
    done(in);
}

static void half_is_deleted_on_the_way(void)
{
    enum { COUNT = 3000 };
    struct place in = five();
    MDB_val key, data;
    unsigned i, met = 0;
    OK(mdb_drop(in.txn, in.dbi, 0));
    for (i = 0; i < COUNT; i++) {
        key = numbered("k", i);
        OK(mdb_put(in.txn, in.dbi, &key, &key, 0));
    }
    while (mdb_cursor_get(in.cur, &key, &data, MDB_NEXT) == 0) {
        if (met++ % 2) OK(mdb_cursor_del(in.cur, 0));
    }
    EXPECT_NUM(met, COUNT);
    EXPECT_NUM(entries(in.txn, in.dbi), COUNT / 2);
    done(in);
}

CASES(CASE(from_end_to_end), CASE(from_nowhere), CASE(at_the_ends), CASE(of_an_empty_table),
      CASE(to_a_key), CASE(past_the_end), CASE(steps_that_need_many_values),
      CASE(put_stands_on_what_it_put), CASE(the_current_record_is_replaced),
      CASE(a_loop_that_deletes), CASE(after_a_deletion), CASE(after_the_last_is_deleted),
      CASE(two_deletions_without_a_step), CASE(another_cursor_on_what_is_deleted),
      CASE(another_cursor_beside_a_put), CASE(through_splits_and_merges),
      CASE(a_long_way_in_both_directions), CASE(half_is_deleted_on_the_way))
