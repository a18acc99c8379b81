/* Tables of many values a key: puts, steps, counts, deletions, values of one length. */
#include "harness.h"

struct place {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cur;
};

static struct place multi(unsigned flags)
{
    struct place in;
    in.env = env_with(MDB_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDB_CREATE | MDB_DUPSORT | flags);
    in.cur = cursor(in.txn, in.dbi);
    return in;
}

/* a: 1; b: 1 2 3; c: 5 */
static struct place few(void)
{
    struct place in = multi(0);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    OK(put(in.txn, in.dbi, "b", "3", 0));
    OK(put(in.txn, in.dbi, "b", "1", 0));
    OK(put(in.txn, in.dbi, "b", "2", 0));
    OK(put(in.txn, in.dbi, "c", "5", 0));
    return in;
}

static void done(struct place in)
{
    mdb_cursor_close(in.cur);
    OK(mdb_txn_commit(in.txn));
    mdb_env_close(in.env);
}

static size_t count_of(MDB_cursor *cur)
{
    size_t count = 0;
    OK(mdb_cursor_count(cur, &count));
    return count;
}

static void values_in_order(void)
{
    struct place in = few();
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_GET(in.txn, in.dbi, "b", "1");
    EXPECT_AT(in.cur, MDB_FIRST, "a", "1");
    EXPECT_NUM(count_of(in.cur), 1);
    EXPECT_AT(in.cur, MDB_NEXT, "b", "1");
    EXPECT_NUM(count_of(in.cur), 3);
    EXPECT_AT(in.cur, MDB_NEXT, "b", "2");
    EXPECT_AT(in.cur, MDB_NEXT, "b", "3");
    EXPECT_AT(in.cur, MDB_NEXT, "c", "5");
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_PREV, "b", "3");
    EXPECT_AT(in.cur, MDB_PREV, "b", "2");
    EXPECT_AT(in.cur, MDB_LAST, "c", "5");
    done(in);
}

static void steps_within_a_key(void)
{
    struct place in = few();
    MDB_val data;
    GO(in.cur, "b");
    EXPECT_AT(in.cur, MDB_NEXT_DUP, "b", "2");
    EXPECT_AT(in.cur, MDB_NEXT_DUP, "b", "3");
    EXPECT_STEP(in.cur, MDB_NEXT_DUP, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "3");
    EXPECT_AT(in.cur, MDB_PREV_DUP, "b", "2");
    EXPECT_AT(in.cur, MDB_PREV_DUP, "b", "1");
    EXPECT_STEP(in.cur, MDB_PREV_DUP, MDB_NOTFOUND);
    OK(mdb_cursor_get(in.cur, NULL, &data, MDB_LAST_DUP));
    EXPECT_TEXT(data, "3");
    OK(mdb_cursor_get(in.cur, NULL, &data, MDB_FIRST_DUP));
    EXPECT_TEXT(data, "1");
    EXPECT_RC(mdb_cursor_get(in.cur, NULL, NULL, MDB_FIRST_DUP), EINVAL);
    EXPECT_RC(mdb_cursor_get(in.cur, NULL, NULL, MDB_LAST_DUP), EINVAL);
    done(in);
}

static void steps_between_keys(void)
{
    struct place in = few();
    EXPECT_AT(in.cur, MDB_FIRST, "a", "1");
    EXPECT_AT(in.cur, MDB_NEXT_NODUP, "b", "1");
    EXPECT_AT(in.cur, MDB_NEXT_NODUP, "c", "5");
    EXPECT_STEP(in.cur, MDB_NEXT_NODUP, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_PREV_NODUP, "b", "3"); /* from behind: the last value */
    EXPECT_AT(in.cur, MDB_PREV, "b", "2");
    EXPECT_AT(in.cur, MDB_PREV_NODUP, "a", "1");
    EXPECT_STEP(in.cur, MDB_PREV_NODUP, MDB_NOTFOUND);
    done(in);
}

static int both(MDB_cursor *cur, const char *key, const char *data, MDB_cursor_op op,
                const char *wanted)
{
    MDB_val k = text(key), d = text(data);
    int rc = mdb_cursor_get(cur, &k, &d, op);
    if (rc == 0) EXPECT_TEXT(d, wanted);
    return rc;
}

static void to_a_key_and_value(void)
{
    struct place in = few();
    OK(both(in.cur, "b", "2", MDB_GET_BOTH, "2"));
    EXPECT_AT(in.cur, MDB_NEXT, "b", "3");
    EXPECT_RC(both(in.cur, "b", "21", MDB_GET_BOTH, ""), MDB_NOTFOUND);
    EXPECT_RC(both(in.cur, "bb", "2", MDB_GET_BOTH, ""), MDB_NOTFOUND);
    OK(both(in.cur, "a", "1", MDB_GET_BOTH, "1"));
    EXPECT_RC(both(in.cur, "a", "2", MDB_GET_BOTH, ""), MDB_NOTFOUND);
    OK(both(in.cur, "b", "11", MDB_GET_BOTH_RANGE, "2"));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "2");
    OK(both(in.cur, "b", "0", MDB_GET_BOTH_RANGE, "1"));
    EXPECT_RC(both(in.cur, "b", "4", MDB_GET_BOTH_RANGE, ""), MDB_NOTFOUND);
    OK(both(in.cur, "a", "0", MDB_GET_BOTH_RANGE, "1"));
    EXPECT_RC(both(in.cur, "a", "2", MDB_GET_BOTH_RANGE, ""), MDB_NOTFOUND);
    EXPECT_RC(both(in.cur, "bb", "1", MDB_GET_BOTH_RANGE, ""), MDB_NOTFOUND);
    done(in);
}

static void equal_values_are_one(void)
{
    struct place in = few();
    OK(put(in.txn, in.dbi, "b", "2", 0)); /* is there, and changes nothing */
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_RC(put(in.txn, in.dbi, "b", "2", MDB_NODUPDATA), MDB_KEYEXIST);
    EXPECT_RC(put(in.txn, in.dbi, "a", "1", MDB_NODUPDATA), MDB_KEYEXIST);
    EXPECT_RC(cursor_put(in.cur, "b", "3", MDB_NODUPDATA), MDB_KEYEXIST);
    OK(put(in.txn, in.dbi, "b", "4", MDB_NODUPDATA));
    EXPECT_NUM(entries(in.txn, in.dbi), 6);
    {
        MDB_val key = text("b"), data = text("9");
        EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &data, MDB_NOOVERWRITE), MDB_KEYEXIST);
        EXPECT_TEXT(data, "1");
    }
    EXPECT_NUM(entries(in.txn, in.dbi), 6);
    done(in);
}

static void lengths_of_values(void)
{
    struct place in = multi(0);
    int value_max = mdb_env_get_maxkeysize(in.env);
    MDB_val key = text("k"), none = text(""), longest = filled(value_max, 'x');
    MDB_val longer = filled(value_max + 1, 'x');
    EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &longer, 0), MDB_BAD_VALSIZE);
    if (since(36)) EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &none, 0), MDB_BAD_VALSIZE);
    OK(mdb_put(in.txn, in.dbi, &key, &longest, 0));
    OK(put(in.txn, in.dbi, "k", "short", 0));
    EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &longer, 0), MDB_BAD_VALSIZE);
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    done(in);
}

static void values_are_deleted(void)
{
    struct place in = few();
    OK(del(in.txn, in.dbi, "b", "2"));
    EXPECT_RC(del(in.txn, in.dbi, "b", "2"), MDB_NOTFOUND);
    EXPECT_RC(del(in.txn, in.dbi, "a", "9"), MDB_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    OK(del(in.txn, in.dbi, "b", NULL)); /* all of them */
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    OK(del(in.txn, in.dbi, "a", "1"));
    EXPECT_RC(get(in.txn, in.dbi, "a"), MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_FIRST, "c", "5");
    done(in);
}

static void deleted_by_a_cursor(void)
{
    struct place in = few();
    OK(both(in.cur, "b", "1", MDB_GET_BOTH, "1"));
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_NEXT, "b", "2"); /* the one after, once */
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "3");
    EXPECT_NUM(count_of(in.cur), 1);
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_NEXT, "c", "5");
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    done(in);
}

static void all_of_a_key_by_a_cursor(void)
{
    struct place in = few();
    OK(both(in.cur, "b", "2", MDB_GET_BOTH, "2"));
    OK(mdb_cursor_del(in.cur, MDB_NODUPDATA));
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    EXPECT_AT(in.cur, MDB_NEXT, "c", "5");
    done(in);
}

static void the_last_value_of_a_key_is_deleted(void)
{
    struct place in = few();
    OK(both(in.cur, "b", "3", MDB_GET_BOTH, "3"));
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_AT(in.cur, MDB_NEXT, "c", "5");
    EXPECT_AT(in.cur, MDB_PREV, "b", "2");
    done(in);
}

static void the_current_value_is_replaced(void)
{
    struct place in = few();
    OK(both(in.cur, "b", "2", MDB_GET_BOTH, "2"));
    OK(cursor_put(in.cur, "b", "2", MDB_CURRENT));
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    if (!since(31)) skip("another length is right since 0.9.31");
    OK(cursor_put(in.cur, "b", "25", MDB_CURRENT));
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "25");
    EXPECT_RC(both(in.cur, "b", "2", MDB_GET_BOTH, ""), MDB_NOTFOUND);
    GO(in.cur, "a");
    OK(cursor_put(in.cur, "a", "one", MDB_CURRENT));
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "a", "one");
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    done(in);
}

static void appended_values(void)
{
    struct place in = multi(0);
    unsigned i;
    for (i = 0; i < 2000; i++) {
        MDB_val key = numbered("k", i / 500), data = numbered("v", i);
        OK(mdb_put(in.txn, in.dbi, &key, &data, MDB_APPENDDUP));
    }
    EXPECT_RC(put(in.txn, in.dbi, "k00003", "v00001", MDB_APPENDDUP), MDB_KEYEXIST);
    EXPECT_NUM(entries(in.txn, in.dbi), 2000);
    GO(in.cur, "k00002");
    EXPECT_NUM(count_of(in.cur), 500);
    done(in);
}

/* Values of a key from one to thousands and back, and another cursor on one of them. */
static void sets_that_grow_and_shrink(void)
{
    enum { COUNT = 3000 };
    struct place in = few();
    MDB_val key = text("b"), data;
    unsigned i;
    OK(both(in.cur, "b", "2", MDB_GET_BOTH, "2"));
    for (i = 0; i < COUNT; i++) {
        data = numbered(i % 2 ? "1x" : "2x", i);
        OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
        if (i % 101 == 0) EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "2");
    }
    if (OURS) EXPECT_NUM(count_of(in.cur), COUNT + 3); /* LMDB's cursor has an old number */
    EXPECT_NUM(entries(in.txn, in.dbi), COUNT + 5);
    OK(mdb_txn_commit(in.txn));
    in.txn = WRITE(in.env);
    in.cur = cursor(in.txn, in.dbi);
    OK(both(in.cur, "b", "2", MDB_GET_BOTH, "2"));
    for (i = 0; i < COUNT; i++) {
        data = numbered(i % 2 ? "1x" : "2x", i);
        OK(mdb_del(in.txn, in.dbi, &key, &data));
        if (i % 101 == 0) EXPECT_AT(in.cur, MDB_GET_CURRENT, "b", "2");
    }
    EXPECT_AT(in.cur, MDB_PREV, "b", "1");
    EXPECT_AT(in.cur, MDB_NEXT, "b", "2");
    EXPECT_AT(in.cur, MDB_NEXT, "b", "3");
    EXPECT_AT(in.cur, MDB_NEXT, "c", "5");
    done(in);
}

static void values_backwards_and_as_numbers(void)
{
    struct place in = multi(MDB_REVERSEDUP);
    MDB_dbi numbers =
        table(in.txn, "n", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
    MDB_cursor *cur = cursor(in.txn, numbers);
    MDB_val key = text("k"), data;
    unsigned i, found;
    OK(put(in.txn, in.dbi, "k", "az", 0));
    OK(put(in.txn, in.dbi, "k", "ba", 0));
    EXPECT_AT(in.cur, MDB_FIRST, "k", "ba");
    EXPECT_AT(in.cur, MDB_NEXT, "k", "az");
    for (i = 0; i < 3000; i++) {
        unsigned number = i * 257 % 3000;
        data = bytes(&number, sizeof number);
        OK(mdb_put(in.txn, numbers, &key, &data, 0));
    }
    for (i = 0; i < 3000; i++) {
        OK(mdb_cursor_get(cur, &key, &data, MDB_NEXT));
        memcpy(&found, data.mv_data, sizeof found);
        EXPECT_NUM(found, i);
    }
    mdb_cursor_close(cur);
    done(in);
}

static void many_at_once(void)
{
    enum { COUNT = 5000 };
    static uint64_t numbers[COUNT];
    struct place in = multi(MDB_DUPFIXED | MDB_INTEGERDUP);
    MDB_val key = text("k"), both_vals[2], data;
    uint64_t wanted = 0;
    unsigned i;
    int rc;
    for (i = 0; i < COUNT; i++) numbers[i] = i;
    both_vals[0] = bytes(numbers, sizeof numbers[0]);
    both_vals[1] = bytes(NULL, COUNT);
    OK(mdb_cursor_put(in.cur, &key, both_vals, MDB_MULTIPLE));
    EXPECT_NUM(both_vals[1].mv_size, COUNT);
    EXPECT_NUM(entries(in.txn, in.dbi), COUNT);
    GO(in.cur, "k");
    EXPECT_NUM(count_of(in.cur), COUNT);
    for (rc = mdb_cursor_get(in.cur, &key, &data, MDB_GET_MULTIPLE); rc == 0;
         rc = mdb_cursor_get(in.cur, &key, &data, MDB_NEXT_MULTIPLE)) {
        EXPECT(data.mv_size > 0);
        EXPECT_NUM(data.mv_size % sizeof wanted, 0);
        for (i = 0; i < data.mv_size / sizeof wanted; i++, wanted++)
            EXPECT(memcmp((char *)data.mv_data + i * sizeof wanted, &wanted, sizeof wanted) == 0);
    }
    EXPECT_RC(rc, MDB_NOTFOUND);
    EXPECT_NUM(wanted, COUNT);
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_LAST));
    for (rc = 0; rc == 0; rc = mdb_cursor_get(in.cur, &key, &data, MDB_PREV_MULTIPLE)) {
        if (data.mv_size > sizeof wanted) wanted -= data.mv_size / sizeof wanted;
    }
    EXPECT_RC(rc, MDB_NOTFOUND);
    done(in);
}

static void many_need_one_length(void)
{
    struct place in = few();
    MDB_val key = text("b"), vals[2] = {{1, "x"}, {1, NULL}};
    EXPECT_RC(mdb_cursor_put(in.cur, &key, vals, MDB_MULTIPLE), MDB_INCOMPATIBLE);
    GO(in.cur, "b");
    EXPECT_STEP(in.cur, MDB_GET_MULTIPLE, MDB_INCOMPATIBLE);
    EXPECT_STEP(in.cur, MDB_NEXT_MULTIPLE, MDB_INCOMPATIBLE);
    EXPECT_STEP(in.cur, MDB_PREV_MULTIPLE, MDB_INCOMPATIBLE);
    done(in);
}

static void a_loop_that_deletes_values(void)
{
    struct place in = multi(0);
    MDB_val key, data;
    unsigned i, met = 0;
    for (i = 0; i < 2000; i++) {
        key = numbered("k", i % 3);
        data = numbered("v", i);
        OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
    }
    while (mdb_cursor_get(in.cur, &key, &data, MDB_NEXT) == 0) {
        if (met++ % 3) OK(mdb_cursor_del(in.cur, 0));
    }
    EXPECT_NUM(met, 2000);
    EXPECT_NUM(entries(in.txn, in.dbi), 667);
    done(in);
}

/* a: 1; b: 1 2 3; d: 5. A key is looked for that is not there: before one with several values the
 * cursor is on none of them. LMDB refuses some of what is asked of it then, and gives values of
 * the next key otherwise. */
static void after_a_key_that_is_not_there(void)
{
    static const struct {
        MDB_cursor_op op;
        int code, ours_alone;
    } of_values[] = {
        {MDB_GET_CURRENT, EINVAL, 0}, {MDB_FIRST_DUP, EINVAL, 0}, {MDB_LAST_DUP, EINVAL, 0},
        {MDB_NEXT_DUP, EINVAL, 1}, {MDB_PREV_DUP, EINVAL, 1},
    };
    static const MDB_cursor_op searches[] = {
        MDB_SET, MDB_SET_KEY, MDB_GET_BOTH, MDB_GET_BOTH_RANGE,
    };
    struct place in = few();
    unsigned i, k;
    OK(del(in.txn, in.dbi, "c", NULL));
    OK(put(in.txn, in.dbi, "d", "5", 0));
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 5; k++) {
            EXPECT_AT(in.cur, MDB_LAST, "d", "5"); /* wherever it stood before */
            EXPECT_RC(both(in.cur, "aa", "2", searches[i], ""), MDB_NOTFOUND);
            if (OURS || !of_values[k].ours_alone)
                EXPECT_STEP(in.cur, of_values[k].op, of_values[k].code);
        }
        /* A single value is the cursor's. */
        EXPECT_RC(both(in.cur, "bb", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_AT(in.cur, MDB_GET_CURRENT, "d", "5");
        EXPECT_RC(both(in.cur, "bb", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_STEP(in.cur, MDB_NEXT_DUP, MDB_NOTFOUND);
        EXPECT_RC(both(in.cur, "bb", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_AT(in.cur, MDB_PREV, "b", "3");
        if (!OURS) continue; /* a step may end the process, or find damage */
        EXPECT_AT(in.cur, MDB_FIRST, "a", "1");
        EXPECT_RC(both(in.cur, "aa", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_AT(in.cur, MDB_NEXT, "b", "1");
        EXPECT_RC(both(in.cur, "aa", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_RC(mdb_cursor_del(in.cur, 0), EINVAL);
        EXPECT_RC(cursor_put(in.cur, "aa", "x", MDB_CURRENT), EINVAL);
        EXPECT_RC(mdb_cursor_count(in.cur, &(size_t){0}), EINVAL);
        EXPECT_AT(in.cur, MDB_PREV, "a", "1");
        EXPECT_RC(both(in.cur, "aa", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_AT(in.cur, MDB_NEXT_NODUP, "b", "1");
        EXPECT_RC(both(in.cur, "aa", "2", searches[i], ""), MDB_NOTFOUND);
        EXPECT_AT(in.cur, MDB_PREV_NODUP, "a", "1");
    }
    /* Behind the end there is nothing at all. */
    EXPECT_RC(both(in.cur, "x", "2", MDB_SET, ""), MDB_NOTFOUND);
    EXPECT_STEP(in.cur, MDB_GET_CURRENT, MDB_NOTFOUND);
    EXPECT_STEP(in.cur, MDB_NEXT_DUP, MDB_NOTFOUND);
    /* A key that comes in between is met. */
    EXPECT_RC(both(in.cur, "ab", "", MDB_SET, ""), MDB_NOTFOUND);
    OK(put(in.txn, in.dbi, "ab", "4", 0));
    if (OURS) EXPECT_AT(in.cur, MDB_NEXT, "ab", "4");
    done(in);
}

static void many_from_a_key_on(void)
{
    static const unsigned steps[] = {MDB_FIRST, MDB_NEXT_NODUP, MDB_SET, MDB_SET_RANGE};
    struct place in = multi(MDB_DUPFIXED);
    MDB_val key, data;
    unsigned i;
    OK(put(in.txn, in.dbi, "k", "1", 0));
    OK(put(in.txn, in.dbi, "k", "2", 0));
    OK(put(in.txn, in.dbi, "k", "3", 0));
    OK(put(in.txn, in.dbi, "one", "1", 0));
    for (i = 0; i < 4; i++) {
        key = text("k");
        mdb_cursor_close(in.cur);
        in.cur = cursor(in.txn, in.dbi);
        OK(mdb_cursor_get(in.cur, &key, &data, steps[i]));
        OK(mdb_cursor_get(in.cur, &key, &data, MDB_NEXT_MULTIPLE));
        EXPECT_TEXT(data, "123");
        EXPECT_STEP(in.cur, MDB_NEXT_MULTIPLE, MDB_NOTFOUND);
        /* What was given stays given, whatever does not move the cursor. */
        EXPECT_AT(in.cur, MDB_GET_CURRENT, "k", "3");
        EXPECT_STEP(in.cur, MDB_NEXT_MULTIPLE, MDB_NOTFOUND);
    }
    /* From nowhere it is the first key; one with one value has no next ones. */
    mdb_cursor_close(in.cur);
    in.cur = cursor(in.txn, in.dbi);
    OK(mdb_cursor_get(in.cur, &key, &data, MDB_NEXT_MULTIPLE));
    EXPECT_TEXT(data, "123");
    GO(in.cur, "one");
    EXPECT_STEP(in.cur, MDB_NEXT_MULTIPLE, MDB_NOTFOUND);
    EXPECT_AT(in.cur, MDB_GET_CURRENT, "one", "1");
    done(in);
}

/* A walk that takes each key and puts it again. LMDB never comes to the end of this one. */
static void the_only_key_is_put_again(void)
{
    static const unsigned steps[] = {MDB_NEXT_NODUP, MDB_PREV_NODUP, MDB_NEXT, MDB_PREV};
    struct place in = multi(0);
    MDB_val key, data;
    unsigned i, met;
    ours_alone();
    for (i = 0; i < 8; i++) {
        OK(mdb_drop(in.txn, in.dbi, 0));
        OK(put(in.txn, in.dbi, "k", "1", 0));
        OK(put(in.txn, in.dbi, "k", "2", 0));
        for (met = 0; mdb_cursor_get(in.cur, &key, &data, steps[i % 4]) == 0; met++) {
            EXPECT(met == 0);
            if (i < 4) OK(del(in.txn, in.dbi, "k", NULL));
            else OK(mdb_cursor_del(in.cur, MDB_NODUPDATA));
            OK(put(in.txn, in.dbi, "k", "1", 0));
            OK(put(in.txn, in.dbi, "k", "2", 0));
        }
        EXPECT_NUM(met, 1);
        EXPECT_NUM(entries(in.txn, in.dbi), 2);
        /* The mark is gone, and the cursor is nowhere. */
        EXPECT_STEP(in.cur, MDB_GET_CURRENT, EINVAL);
    }
    done(in);
}

/* What comes in behind the record that went is met, as with LMDB. */
static void an_emptied_table_is_filled_again(void)
{
    struct place in = multi(0);
    OK(put(in.txn, in.dbi, "k", "1", 0));
    EXPECT_AT(in.cur, MDB_NEXT, "k", "1");
    OK(mdb_cursor_del(in.cur, 0));
    OK(put(in.txn, in.dbi, "l", "1", 0));
    EXPECT_AT(in.cur, MDB_NEXT, "l", "1");
    OK(mdb_cursor_del(in.cur, 0));
    EXPECT_STEP(in.cur, MDB_NEXT, MDB_NOTFOUND);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    EXPECT_AT(in.cur, MDB_NEXT, "a", "1"); /* it stood nowhere */
    done(in);
}

/* The caller has the key that it looks for, and also while it stays among its values. */
static void keys_that_are_known_are_left_alone(void)
{
    static const struct {
        MDB_cursor_op op;
        int in_many, in_one;
    } shows[] = {
        {MDB_SET, 0, 0}, {MDB_SET_KEY, 1, 1}, {MDB_SET_RANGE, 1, 1}, {MDB_GET_BOTH, 0, 0},
        {MDB_GET_BOTH_RANGE, 0, 0}, {MDB_GET_CURRENT, 1, 1}, {MDB_FIRST_DUP, 0, 1},
        {MDB_LAST_DUP, 0, 1}, {MDB_GET_MULTIPLE, 0, 0},
    };
    struct place in = multi(MDB_DUPFIXED);
    unsigned i, many;
    OK(put(in.txn, in.dbi, "many", "1", 0));
    OK(put(in.txn, in.dbi, "many", "2", 0));
    OK(put(in.txn, in.dbi, "one", "1", 0));
    for (i = 0; i < 2 * sizeof shows / sizeof shows[0]; i++) {
        const char *own = (many = i % 2) ? "many" : "one";
        MDB_val key = text(own), data = text("1");
        OK(mdb_cursor_get(in.cur, &key, &data, MDB_SET));
        OK(mdb_cursor_get(in.cur, &key, &data, shows[i / 2].op));
        EXPECT_TEXT(key, own);
        EXPECT_NUM(key.mv_data != own, many ? shows[i / 2].in_many : shows[i / 2].in_one);
    }
    done(in);
}

CASES(CASE(values_in_order), CASE(steps_within_a_key), CASE(steps_between_keys),
      CASE(to_a_key_and_value), CASE(equal_values_are_one), CASE(lengths_of_values),
      CASE(values_are_deleted), CASE(deleted_by_a_cursor), CASE(all_of_a_key_by_a_cursor),
      CASE(the_last_value_of_a_key_is_deleted), CASE(the_current_value_is_replaced),
      CASE(appended_values), CASE(sets_that_grow_and_shrink),
      CASE(values_backwards_and_as_numbers), CASE(many_at_once), CASE(many_need_one_length),
      CASE(a_loop_that_deletes_values), CASE(after_a_key_that_is_not_there),
      CASE(many_from_a_key_on), CASE(the_only_key_is_put_again),
      CASE(an_emptied_table_is_filled_again),
      CASE(keys_that_are_known_are_left_alone))
