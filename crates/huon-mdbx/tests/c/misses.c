/* Tables of many values a key: cursors after a miss, at a key, in a table that was emptied. */
#include "multi.h"

/* a: 1; b: 1 2 3; d: 5. A key is looked for that is not there: before one with several values the
 * cursor is on none of them. libmdbx refuses some of what is asked of it then, and gives values of
 * the next key otherwise. */
static void after_a_key_that_is_not_there(void)
{
    static const struct {
        MDBX_cursor_op op;
        int code, ours_alone;
    } of_values[] = {
        {MDBX_GET_CURRENT, MDBX_ENODATA, 1}, {MDBX_FIRST_DUP, MDBX_EINVAL, 0},
        {MDBX_LAST_DUP, MDBX_EINVAL, 0}, {MDBX_NEXT_DUP, MDBX_ENODATA, 1},
        {MDBX_PREV_DUP, MDBX_ENODATA, 1},
    };
    static const MDBX_cursor_op searches[] = {
        MDBX_SET, MDBX_SET_KEY, MDBX_GET_BOTH, MDBX_GET_BOTH_RANGE,
    };
    struct place in = few();
    unsigned i, k;
    OK(del(in.txn, in.dbi, "c", NULL));
    OK(put(in.txn, in.dbi, "d", "5", 0));
    for (i = 0; i < 4; i++) {
        for (k = 0; k < 5; k++) {
            EXPECT_AT(in.cur, MDBX_LAST, "d", "5"); /* wherever it stood before */
            EXPECT_RC(seek(in.cur, searches[i], "aa", "2"), MDBX_NOTFOUND);
            if (OURS || !of_values[k].ours_alone)
                EXPECT_STEP(in.cur, of_values[k].op, of_values[k].code);
        }
        /* A single value is the cursor's. */
        EXPECT_RC(seek(in.cur, searches[i], "bb", "2"), MDBX_NOTFOUND);
        EXPECT_AT(in.cur, MDBX_GET_CURRENT, "d", "5");
        EXPECT_RC(seek(in.cur, searches[i], "bb", "2"), MDBX_NOTFOUND);
        EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
        EXPECT_RC(seek(in.cur, searches[i], "bb", "2"), MDBX_NOTFOUND);
        EXPECT_AT(in.cur, MDBX_PREV, "b", "3");
        if (!OURS) continue; /* a step may end the process, or find damage */
        EXPECT_AT(in.cur, MDBX_FIRST, "a", "1");
        EXPECT_RC(seek(in.cur, searches[i], "aa", "2"), MDBX_NOTFOUND);
        EXPECT_AT(in.cur, MDBX_NEXT, "b", "1");
        EXPECT_RC(seek(in.cur, searches[i], "aa", "2"), MDBX_NOTFOUND);
        EXPECT_RC(mdbx_cursor_del(in.cur, PUT_FLAGS(0)), MDBX_ENODATA);
        EXPECT_RC(cursor_put(in.cur, "aa", "x", MDBX_CURRENT), MDBX_ENODATA);
        EXPECT_RC(mdbx_cursor_count(in.cur, &(size_t){0}), MDBX_EINVAL);
        EXPECT_AT(in.cur, MDBX_PREV, "a", "1");
        EXPECT_RC(seek(in.cur, searches[i], "aa", "2"), MDBX_NOTFOUND);
        EXPECT_AT(in.cur, MDBX_NEXT_NODUP, "b", "1");
        EXPECT_RC(seek(in.cur, searches[i], "aa", "2"), MDBX_NOTFOUND);
        EXPECT_AT(in.cur, MDBX_PREV_NODUP, "a", "1");
    }
    /* Behind the end there is nothing at all. */
    EXPECT_RC(seek(in.cur, MDBX_SET, "x", "2"), MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
    /* A key that comes in between is met. */
    EXPECT_RC(seek(in.cur, MDBX_SET, "ab", ""), MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "ab", "4", 0));
    if (OURS) EXPECT_AT(in.cur, MDBX_NEXT, "ab", "4");
    done(in);
}

static void many_from_a_key_on(void)
{
    static const MDBX_cursor_op steps[] = {MDBX_FIRST, MDBX_NEXT_NODUP, MDBX_SET, MDBX_SET_RANGE};
    struct place in = multi(MDBX_DUPFIXED);
    MDBX_val key, data;
    unsigned i;
    OK(put(in.txn, in.dbi, "k", "1", 0));
    OK(put(in.txn, in.dbi, "k", "2", 0));
    OK(put(in.txn, in.dbi, "k", "3", 0));
    OK(put(in.txn, in.dbi, "one", "1", 0));
    for (i = 0; i < 4; i++) {
        key = text("k");
        mdbx_cursor_close(in.cur);
        in.cur = cursor(in.txn, in.dbi);
        OK(mdbx_cursor_get(in.cur, &key, &data, steps[i]));
        OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT_MULTIPLE));
        EXPECT_TEXT(data, "123");
        EXPECT_STEP(in.cur, MDBX_NEXT_MULTIPLE, MDBX_NOTFOUND);
        /* What was given stays given, whatever does not move the cursor. */
        EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k", "3");
        EXPECT_STEP(in.cur, MDBX_NEXT_MULTIPLE, MDBX_NOTFOUND);
    }
    /* From nowhere it is the first key; one with one value has no next ones. */
    mdbx_cursor_close(in.cur);
    in.cur = cursor(in.txn, in.dbi);
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT_MULTIPLE));
    EXPECT_TEXT(data, "123");
    GO(in.cur, "one");
    EXPECT_STEP(in.cur, MDBX_NEXT_MULTIPLE, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "one", "1");
    done(in);
}

/* A walk that takes each key and puts it again. libmdbx 0.11 never comes to the end of this one. */
static void the_only_key_is_put_again(void)
{
    static const MDBX_cursor_op steps[] = {MDBX_NEXT_NODUP, MDBX_PREV_NODUP, MDBX_NEXT, MDBX_PREV};
    struct place in = multi(0);
    MDBX_val key, data;
    unsigned i, met;
    if (!OURS) skip("for Huon's library alone");
    for (i = 0; i < 8; i++) {
        OK(mdbx_drop(in.txn, in.dbi, false));
        OK(put(in.txn, in.dbi, "k", "1", 0));
        OK(put(in.txn, in.dbi, "k", "2", 0));
        for (met = 0; mdbx_cursor_get(in.cur, &key, &data, steps[i % 4]) == 0; met++) {
            EXPECT(met == 0);
            if (i < 4) OK(del(in.txn, in.dbi, "k", NULL));
            else OK(mdbx_cursor_del(in.cur, MDBX_ALLDUPS));
            OK(put(in.txn, in.dbi, "k", "1", 0));
            OK(put(in.txn, in.dbi, "k", "2", 0));
        }
        EXPECT_NUM(met, 1);
        EXPECT_NUM(entries(in.txn, in.dbi), 2);
        /* The mark is gone, and the cursor is nowhere. */
        EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    }
    done(in);
}

/* What comes in behind the record that went is met, as with libmdbx 0.11. */
static void an_emptied_table_is_filled_again(void)
{
    struct place in = multi(0);
    OK(put(in.txn, in.dbi, "k", "1", 0));
    EXPECT_AT(in.cur, MDBX_NEXT, "k", "1");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    OK(put(in.txn, in.dbi, "l", "1", 0));
    EXPECT_AT(in.cur, MDBX_NEXT, "l", "1");
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    EXPECT_AT(in.cur, MDBX_NEXT, "a", "1"); /* it stood nowhere */
    done(in);
}

CASES(CASE(after_a_key_that_is_not_there), CASE(many_from_a_key_on),
      CASE(the_only_key_is_put_again), CASE(an_emptied_table_is_filled_again))
