/* Tables of many values a key: cursors after a miss, at a key, in a table that was emptied. */
#include "harness.h"

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    MDBX_cursor *cur;
};

static struct place multi(unsigned flags)
{
    struct place in;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT | flags);
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
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
}

/* a: 1; b: 1 2 3; d: 5. A key is looked for that is not there: between those that have one value
 * or several, no value is the cursor's. libmdbx 0.11 has it on the next key, and gives the values
 * of that in some of the ways. */
static void after_a_key_that_is_not_there(void)
{
    static const MDBX_cursor_op of_values[] = {
        MDBX_GET_CURRENT, MDBX_FIRST_DUP, MDBX_LAST_DUP, MDBX_NEXT_DUP, MDBX_PREV_DUP,
    };
    static const int codes[] = {
        MDBX_ENODATA, MDBX_EINVAL, MDBX_EINVAL, MDBX_ENODATA, MDBX_ENODATA,
    };
    static const MDBX_cursor_op searches[] = {
        MDBX_SET, MDBX_SET_KEY, MDBX_GET_BOTH, MDBX_GET_BOTH_RANGE,
    };
    static const char *missed[] = {"", "A", "aa", "bb"}, *next[] = {"", "a", "b", "d"};
    static const char *before[] = {"", "", "a", "b"};
    struct place in = few();
    unsigned i, j, k;
    OK(del(in.txn, in.dbi, "c", NULL));
    OK(put(in.txn, in.dbi, "d", "5", 0));
    for (i = 0; i < 4; i++) {
        for (j = 1; j < 4; j++) {
            MDBX_val key = text(missed[j]), data;
            for (k = 0; k < 5; k++) {
                EXPECT_AT(in.cur, MDBX_LAST, "d", "5"); /* wherever it stood before */
                EXPECT_RC(seek(in.cur, searches[i], missed[j], "2"), MDBX_NOTFOUND);
                if (OURS) EXPECT_STEP(in.cur, of_values[k], codes[k]);
            }
            if (!OURS) continue;
            EXPECT_RC(mdbx_cursor_del(in.cur, PUT_FLAGS(0)), MDBX_ENODATA);
            EXPECT_RC(cursor_put(in.cur, missed[j], "x", MDBX_CURRENT), MDBX_ENODATA);
            EXPECT_RC(mdbx_cursor_count(in.cur, &(size_t){0}), MDBX_EINVAL);
            /* The steps go to what lies there. */
            for (k = 0; k < 4; k++) {
                static const MDBX_cursor_op steps[] = {
                    MDBX_NEXT, MDBX_NEXT_NODUP, MDBX_PREV, MDBX_PREV_NODUP,
                };
                const char *wanted = k < 2 ? next[j] : before[j];
                EXPECT_RC(seek(in.cur, searches[i], missed[j], "2"), MDBX_NOTFOUND);
                if (!*wanted) {
                    EXPECT_STEP(in.cur, steps[k], MDBX_NOTFOUND);
                    continue;
                }
                OK(mdbx_cursor_get(in.cur, &key, &data, steps[k]));
                EXPECT_TEXT(key, wanted);
            }
        }
    }
    /* Behind the end there is nothing at all. */
    EXPECT_RC(seek(in.cur, MDBX_SET, "x", "2"), MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
    /* A key that comes in between is met. */
    EXPECT_RC(seek(in.cur, MDBX_SET, "c", ""), MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "c", "4", 0));
    if (OURS) EXPECT_AT(in.cur, MDBX_NEXT, "c", "4");
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
