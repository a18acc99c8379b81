/* Tables of many values a key: puts, steps, counts, deletions, values of one length. */
#include "multi.h"

static void commit_and_go_on(struct place *in)
{
    OK(mdbx_txn_commit(in->txn));
    in->txn = WRITE(in->env);
    OK(mdbx_cursor_renew(in->txn, in->cur));
}

static void values_in_order(void)
{
    struct place in = few();
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_GET(in.txn, in.dbi, "b", "1");
    EXPECT_AT(in.cur, MDBX_FIRST, "a", "1");
    EXPECT_NUM(count_of(in.cur), 1);
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "1");
    EXPECT_NUM(count_of(in.cur), 3);
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "2");
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "3");
    EXPECT_AT(in.cur, MDBX_NEXT, "c", "5");
    NO(mdbx_cursor_eof(in.cur));
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    YES(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "c", "5");
    EXPECT_AT(in.cur, MDBX_PREV, "b", "3");
    EXPECT_AT(in.cur, MDBX_PREV, "b", "2");
    EXPECT_AT(in.cur, MDBX_LAST, "c", "5");
    done(in);
}

static void how_many_a_key_has(void)
{
    struct place in = few();
    MDBX_val key = text("b"), data;
    size_t count = 99;
    EXPECT_RC(mdbx_cursor_count(in.cur, &count), MDBX_EINVAL); /* it stands nowhere */
    EXPECT_RC(mdbx_cursor_count(in.cur, NULL), MDBX_EINVAL);
    OK(mdbx_get_ex(in.txn, in.dbi, &key, &data, &count));
    EXPECT_NUM(count, 3);
    EXPECT_TEXT(data, "1");
    OK(mdbx_get_ex(in.txn, in.dbi, &key, &data, NULL));
    key = text("a");
    OK(mdbx_get_ex(in.txn, in.dbi, &key, &data, &count));
    EXPECT_NUM(count, 1);
    key = text("aa");
    EXPECT_RC(mdbx_get_ex(in.txn, in.dbi, &key, &data, &count), MDBX_NOTFOUND);
    EXPECT_NUM(count, 0);
    EXPECT_RC(seek(in.cur, MDBX_SET_RANGE, "x", NULL), MDBX_NOTFOUND);
    count = 99;
    EXPECT_RC(mdbx_cursor_count(in.cur, &count), MDBX_NOTFOUND); /* behind the end */
    EXPECT_NUM(count, 0);
    done(in);
}

static void steps_within_a_key(void)
{
    struct place in = few();
    MDBX_val key = nothing(), data;
    GO(in.cur, "b");
    EXPECT_AT(in.cur, MDBX_NEXT_DUP, "b", "2");
    EXPECT_AT(in.cur, MDBX_NEXT_DUP, "b", "3");
    EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "3");
    NO(mdbx_cursor_eof(in.cur));
    EXPECT_AT(in.cur, MDBX_PREV_DUP, "b", "2");
    EXPECT_AT(in.cur, MDBX_PREV_DUP, "b", "1");
    EXPECT_STEP(in.cur, MDBX_PREV_DUP, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "1");
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_LAST_DUP));
    EXPECT_TEXT(data, "3");
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_FIRST_DUP));
    EXPECT_TEXT(data, "1");
    GO(in.cur, "a"); /* one value is the first and the last */
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_FIRST_DUP));
    EXPECT_TEXT(data, "1");
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_LAST_DUP));
    EXPECT_TEXT(data, "1");
    EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
    EXPECT_STEP(in.cur, MDBX_PREV_DUP, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "1");
    done(in);
}

static void steps_from_nowhere(void)
{
    struct place in = few();
    EXPECT_STEP(in.cur, MDBX_FIRST_DUP, MDBX_EINVAL);
    EXPECT_STEP(in.cur, MDBX_LAST_DUP, MDBX_EINVAL);
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA);
    EXPECT_AT(in.cur, MDBX_NEXT_DUP, "a", "1"); /* as MDBX_FIRST */
    done(in);
}

static void steps_between_keys(void)
{
    struct place in = few();
    EXPECT_AT(in.cur, MDBX_FIRST, "a", "1");
    EXPECT_AT(in.cur, MDBX_NEXT_NODUP, "b", "1");
    EXPECT_AT(in.cur, MDBX_NEXT_NODUP, "c", "5");
    EXPECT_STEP(in.cur, MDBX_NEXT_NODUP, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_PREV_NODUP, "b", "3"); /* from behind: the last value */
    EXPECT_AT(in.cur, MDBX_PREV, "b", "2");
    EXPECT_AT(in.cur, MDBX_PREV_NODUP, "a", "1");
    EXPECT_STEP(in.cur, MDBX_PREV_NODUP, MDBX_NOTFOUND);
    done(in);
}

/* On the first and the last key, with whichever of its values. */
static void on_the_first_and_the_last(void)
{
    struct place in = multi(0);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    OK(put(in.txn, in.dbi, "a", "2", 0));
    OK(put(in.txn, in.dbi, "b", "1", 0));
    OK(put(in.txn, in.dbi, "b", "2", 0));
    EXPECT_AT(in.cur, MDBX_FIRST, "a", "1");
    YES(mdbx_cursor_on_first(in.cur));
    NO(mdbx_cursor_on_last(in.cur));
    EXPECT_AT(in.cur, MDBX_NEXT, "a", "2");
    YES(mdbx_cursor_on_first(in.cur));
    NO(mdbx_cursor_on_last(in.cur));
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "1");
    NO(mdbx_cursor_on_first(in.cur));
    YES(mdbx_cursor_on_last(in.cur));
#if OURS
    YES(mdbx_cursor_on_first_dup(in.cur));
    NO(mdbx_cursor_on_last_dup(in.cur));
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "2");
    NO(mdbx_cursor_on_first_dup(in.cur));
    YES(mdbx_cursor_on_last_dup(in.cur));
#endif
    done(in);
}

static void to_a_key_and_value(void)
{
    struct place in = few();
    EXPECT_GO(in.cur, MDBX_GET_BOTH, "b", "2", 0, "b", "2");
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "3");
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH, "b", "21"), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH, "bb", "2"), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_GET_BOTH, "a", "1", 0, "a", "1");
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH, "a", "2"), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_GET_BOTH_RANGE, "b", "11", 0, "b", "2");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "2");
    EXPECT_GO(in.cur, MDBX_GET_BOTH_RANGE, "b", "0", 0, "b", "1");
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH_RANGE, "b", "4"), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_GET_BOTH_RANGE, "a", "0", 0, "a", "1");
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH_RANGE, "a", "2"), MDBX_NOTFOUND);
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH_RANGE, "bb", "1"), MDBX_NOTFOUND);
    done(in);
}

static void bounds(void)
{
    struct place in = few();
    MDBX_val key = text("b"), data;
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "b", "2", 0, "b", "2");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "b", "21", MDBX_RESULT_TRUE, "b", "3");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "b", "4", MDBX_RESULT_TRUE, "c", "5");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "a", "2", MDBX_RESULT_TRUE, "b", "1");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "aa", "9", MDBX_RESULT_TRUE, "b", "1");
    EXPECT_GO(in.cur, MDBX_SET_LOWERBOUND, "b", "", MDBX_RESULT_TRUE, "b", "1");
    EXPECT_RC(seek(in.cur, MDBX_SET_LOWERBOUND, "c", "6"), MDBX_NOTFOUND);
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "b", "2", 0, "b", "3");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "b", "3", 0, "c", "5");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "b", "0", 0, "b", "1");
    EXPECT_GO(in.cur, MDBX_SET_UPPERBOUND, "a", "0", 0, "a", "1");
    EXPECT_RC(seek(in.cur, MDBX_SET_UPPERBOUND, "c", "5"), MDBX_NOTFOUND);
    data = text("21");
    YES(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data));
    EXPECT_TEXT(data, "3");
    data = text("4");
    YES(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data));
    EXPECT_TEXT(key, "c");
    data = text("5");
    OK(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data));
    data = text("6");
    EXPECT_RC(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data), MDBX_NOTFOUND);
    done(in);
}

static void equal_values_are_one(void)
{
    struct place in = few();
    MDBX_val key = text("b"), data = text("9");
    OK(put(in.txn, in.dbi, "b", "2", 0)); /* is there, and changes nothing */
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_RC(put(in.txn, in.dbi, "b", "2", MDBX_NODUPDATA), MDBX_KEYEXIST);
    EXPECT_RC(put(in.txn, in.dbi, "a", "1", MDBX_NODUPDATA), MDBX_KEYEXIST);
    EXPECT_RC(cursor_put(in.cur, "b", "3", MDBX_NODUPDATA), MDBX_KEYEXIST);
    OK(put(in.txn, in.dbi, "b", "4", MDBX_NODUPDATA));
    EXPECT_NUM(entries(in.txn, in.dbi), 6);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_NOOVERWRITE), MDBX_KEYEXIST);
    EXPECT_TEXT(data, "1");
    EXPECT_NUM(entries(in.txn, in.dbi), 6);
    done(in);
}

static void lengths_of_values(void)
{
    struct place in = multi(0);
    size_t value_max = (size_t)mdbx_env_get_maxvalsize_ex(in.env, MDBX_DUPSORT);
    size_t key_max = (size_t)mdbx_env_get_maxkeysize_ex(in.env, MDBX_DUPSORT);
    MDBX_val key = text("k"), none = text(""), longest = filled(value_max, 'x'), found;
    MDBX_val longer = filled(value_max + 1, 'x'), long_key = filled(key_max, 'k');
    EXPECT_NUM(mdbx_limits_valsize_max(4096, MDBX_DUPSORT), value_max);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &longer, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    OK(mdbx_put(in.txn, in.dbi, &key, &longest, MDBX_UPSERT));
    OK(mdbx_put(in.txn, in.dbi, &key, &none, MDBX_UPSERT)); /* as good as any other */
    OK(put(in.txn, in.dbi, "k", "short", 0));
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &longer, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_NUM(entries(in.txn, in.dbi), 3);
    OK(mdbx_get(in.txn, in.dbi, &key, &found));
    EXPECT_NUM(found.iov_len, 0);
    OK(mdbx_put(in.txn, in.dbi, &long_key, &longest, MDBX_UPSERT));
    OK(mdbx_put(in.txn, in.dbi, &long_key, &none, MDBX_UPSERT));
    long_key = filled(key_max + 1, 'k');
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &long_key, &none, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    done(in);
}

static void values_are_deleted(void)
{
    struct place in = few();
    OK(del(in.txn, in.dbi, "b", "2"));
    EXPECT_RC(del(in.txn, in.dbi, "b", "2"), MDBX_NOTFOUND);
    EXPECT_RC(del(in.txn, in.dbi, "a", "9"), MDBX_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    OK(del(in.txn, in.dbi, "b", NULL)); /* all of them */
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    OK(del(in.txn, in.dbi, "a", "1"));
    EXPECT_RC(get(in.txn, in.dbi, "a"), MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_FIRST, "c", "5");
    done(in);
}

static void deleted_by_a_cursor(void)
{
    struct place in = few();
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "1"));
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "2"); /* the one after, once */
    OK(mdbx_cursor_del(in.cur, MDBX_CURRENT));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "3");
    EXPECT_NUM(count_of(in.cur), 1);
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "c", "5"); /* the key is gone with its last value */
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    done(in);
}

static void all_of_a_key_by_a_cursor(void)
{
    struct place in = few();
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "2"));
    OK(mdbx_cursor_del(in.cur, MDBX_NODUPDATA));
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    EXPECT_AT(in.cur, MDBX_NEXT, "c", "5");
    OK(put(in.txn, in.dbi, "c", "6", 0));
    OK(seek(in.cur, MDBX_GET_BOTH, "c", "6"));
    OK(mdbx_cursor_del(in.cur, MDBX_ALLDUPS));
    EXPECT_NUM(entries(in.txn, in.dbi), 1);
    EXPECT_STEP(in.cur, MDBX_NEXT, MDBX_NOTFOUND);
    done(in);
}

static void the_last_value_of_a_key_is_deleted(void)
{
    struct place in = few();
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "3"));
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_STEP(in.cur, MDBX_GET_CURRENT, MDBX_ENODATA); /* between the values and c */
    EXPECT_STEP(in.cur, MDBX_NEXT_DUP, MDBX_NOTFOUND);
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "2"));
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(in.cur, MDBX_NEXT, "c", "5");
    EXPECT_AT(in.cur, MDBX_PREV, "b", "1");
    done(in);
}

static void other_cursors_on_what_is_deleted(void)
{
    struct place in = few();
    MDBX_cursor *other = cursor(in.txn, in.dbi), *third = cursor(in.txn, in.dbi);
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "1"));
    OK(seek(other, MDBX_GET_BOTH, "b", "1"));
    OK(seek(third, MDBX_GET_BOTH, "b", "3"));
    OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
    EXPECT_AT(third, MDBX_GET_CURRENT, "b", "3");
    EXPECT_AT(other, MDBX_GET_CURRENT, "b", "2");
    EXPECT_AT(other, MDBX_NEXT, "b", "3");
    OK(del(in.txn, in.dbi, "b", "3")); /* under two cursors */
    EXPECT_AT(third, MDBX_NEXT, "c", "5");
    EXPECT_AT(third, MDBX_PREV, "b", "2");
    mdbx_cursor_close(other);
    mdbx_cursor_close(third);
    done(in);
}

static void the_current_value_is_replaced(void)
{
    struct place in = few();
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "2"));
    OK(cursor_put(in.cur, "b", "2", MDBX_CURRENT));
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    OK(cursor_put(in.cur, "b", "25", MDBX_CURRENT)); /* of another length */
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "25");
    OK(cursor_put(in.cur, "b", "0", MDBX_CURRENT)); /* to another place in the order */
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "0");
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "1");
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH, "b", "2"), MDBX_NOTFOUND);
    GO(in.cur, "b");
    OK(cursor_put(in.cur, "b", "3", MDBX_CURRENT)); /* which is there: one goes */
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "3");
    EXPECT_RC(cursor_put(in.cur, "a", "x", MDBX_CURRENT), MDBX_EKEYMISMATCH);
    GO(in.cur, "a");
    OK(cursor_put(in.cur, "a", "one", MDBX_CURRENT));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "a", "one");
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    done(in);
}

static void one_of_many_has_to_be_named(void)
{
    struct place in = few();
    EXPECT_RC(put(in.txn, in.dbi, "b", "9", MDBX_CURRENT), MDBX_EMULTIVAL);
    EXPECT_RC(put(in.txn, in.dbi, "zz", "9", MDBX_CURRENT), MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "a", "7", MDBX_CURRENT));
    EXPECT_GET(in.txn, in.dbi, "a", "7");
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    OK(put(in.txn, in.dbi, "b", "9", MDBX_CURRENT | MDBX_ALLDUPS));
    EXPECT_NUM(entries(in.txn, in.dbi), 3);
    EXPECT_GET(in.txn, in.dbi, "b", "9");
    done(in);
}

static void all_values_are_replaced(void)
{
    struct place in = few();
    OK(put(in.txn, in.dbi, "b", "x", MDBX_ALLDUPS));
    EXPECT_GET(in.txn, in.dbi, "b", "x");
    EXPECT_NUM(entries(in.txn, in.dbi), 3);
    OK(put(in.txn, in.dbi, "d", "1", MDBX_ALLDUPS)); /* there was none */
    OK(put(in.txn, in.dbi, "d", "2", 0));
    OK(put(in.txn, in.dbi, "d", "3", MDBX_ALLDUPS));
    EXPECT_GET(in.txn, in.dbi, "d", "3");
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    EXPECT_RC(put(in.txn, in.dbi, "d", "4", MDBX_ALLDUPS | MDBX_NOOVERWRITE), MDBX_KEYEXIST);
    OK(put(in.txn, in.dbi, "b", "1", 0));
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "x"));
    OK(cursor_put(in.cur, "b", "all", MDBX_CURRENT | MDBX_ALLDUPS));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "all");
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    done(in);
}

/* libmdbx 0.11.8 damages such a table. */
static void all_values_of_the_only_key_are_replaced(void)
{
    struct place in = multi(0);
    ours_alone();
    OK(put(in.txn, in.dbi, "k", "1", 0));
    OK(put(in.txn, in.dbi, "k", "2", 0));
    OK(cursor_put(in.cur, "k", "x", MDBX_ALLDUPS));
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k", "x");
    commit_and_go_on(&in);
    EXPECT_NUM(entries(in.txn, in.dbi), 1);
    EXPECT_AT(in.cur, MDBX_FIRST, "k", "x");
    done(in);
}

static void appended_values(void)
{
    struct place in = multi(0);
    unsigned i;
    for (i = 0; i < 2000; i++) {
        MDBX_val key = numbered("k", i / 500), data = numbered("v", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_APPENDDUP));
    }
    EXPECT_RC(put(in.txn, in.dbi, "k00003", "v00001", MDBX_APPENDDUP), MDBX_EKEYMISMATCH);
    EXPECT_RC(put(in.txn, in.dbi, "k00003", "v01999", MDBX_APPENDDUP), MDBX_EKEYMISMATCH);
    OK(put(in.txn, in.dbi, "k00001", "v99999", MDBX_APPENDDUP)); /* the key may be any */
    EXPECT_NUM(entries(in.txn, in.dbi), 2001);
    GO(in.cur, "k00002");
    EXPECT_NUM(count_of(in.cur), 500);
    EXPECT_RC(put(in.txn, in.dbi, "k00003", "w", MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_RC(put(in.txn, in.dbi, "k00002", "w", MDBX_APPEND | MDBX_APPENDDUP),
              MDBX_EKEYMISMATCH);
    OK(put(in.txn, in.dbi, "k00004", "v", MDBX_APPEND | MDBX_APPENDDUP));
    EXPECT_NUM(entries(in.txn, in.dbi), 2002);
    done(in);
}

/* Values of a key from one to thousands and back, and another cursor on one of them. */
static void sets_that_grow_and_shrink(void)
{
    const unsigned count = scaled(3000);
    struct place in = few();
    MDBX_val key = text("b"), data;
    unsigned i;
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "2"));
    for (i = 0; i < count; i++) {
        data = numbered(i % 2 ? "1x" : "2x", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
        if (i % 101 == 0) EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "2");
    }
    if (OURS) EXPECT_NUM(count_of(in.cur), count + 3); /* libmdbx's cursor has an old number */
    EXPECT_NUM(entries(in.txn, in.dbi), count + 5);
    commit_and_go_on(&in);
    OK(seek(in.cur, MDBX_GET_BOTH, "b", "2"));
    for (i = 0; i < count; i++) {
        data = numbered(i % 2 ? "1x" : "2x", i);
        OK(mdbx_del(in.txn, in.dbi, &key, &data));
        if (i % 101 == 0) EXPECT_AT(in.cur, MDBX_GET_CURRENT, "b", "2");
    }
    EXPECT_AT(in.cur, MDBX_PREV, "b", "1");
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "2");
    EXPECT_AT(in.cur, MDBX_NEXT, "b", "3");
    EXPECT_AT(in.cur, MDBX_NEXT, "c", "5");
    done(in);
}

static void values_backwards_and_as_numbers(void)
{
    const unsigned count = scaled(3000);
    struct place in = multi(MDBX_REVERSEDUP);
    MDBX_dbi numbers =
        table(in.txn, "n", MDBX_CREATE | MDBX_DUPSORT | MDBX_DUPFIXED | MDBX_INTEGERDUP);
    MDBX_cursor *cur = cursor(in.txn, numbers);
    MDBX_val key = text("k"), data;
    unsigned i, found;
    OK(put(in.txn, in.dbi, "k", "az", 0));
    OK(put(in.txn, in.dbi, "k", "ba", 0));
    EXPECT_AT(in.cur, MDBX_FIRST, "k", "ba");
    EXPECT_AT(in.cur, MDBX_NEXT, "k", "az");
    for (i = 0; i < count; i++) {
        unsigned number = i * 257 % count;
        data = bytes(&number, sizeof number);
        OK(mdbx_put(in.txn, numbers, &key, &data, MDBX_UPSERT));
    }
    for (i = 0; i < count; i++) {
        OK(mdbx_cursor_get(cur, &key, &data, MDBX_NEXT));
        memcpy(&found, data.iov_base, sizeof found);
        EXPECT_NUM(found, i);
    }
    data = bytes("abc", 3);
    EXPECT_RC(mdbx_put(in.txn, numbers, &key, &data, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    mdbx_cursor_close(cur);
    done(in);
}

/* Values of this length, two of which are there and the cursor on one of them: libmdbx 0.11.8
 * cannot put many at once otherwise. */
static struct place fixed(unsigned flags, size_t length)
{
    struct place in = multi(MDBX_DUPFIXED | flags);
    MDBX_val key = text("k"), data = filled(length, 'y');
    OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    data = filled(length, 'z');
    OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    GO(in.cur, "k");
    return in;
}

/* Takes these two away. */
static void without_the_first(struct place *in, size_t length)
{
    MDBX_val key = text("k"), data = filled(length, 'y');
    OK(mdbx_del(in->txn, in->dbi, &key, &data));
    data = filled(length, 'z');
    OK(mdbx_del(in->txn, in->dbi, &key, &data));
    mdbx_cursor_close(in->cur);
    in->cur = cursor(in->txn, in->dbi);
}

static int put_many(MDBX_cursor *cur, const char *key, const void *first, size_t length,
                    size_t *count, unsigned flags)
{
    MDBX_val k = text(key), args[2];
    int rc;
    args[0] = bytes(first, length);
    args[1] = bytes(NULL, *count);
    rc = mdbx_cursor_put(cur, &k, args, PUT_FLAGS(MDBX_MULTIPLE | flags));
    *count = args[1].iov_len;
    return rc;
}

static void many_at_once(void)
{
    enum { COUNT = 5000 };
    static uint64_t numbers[COUNT];
    struct place in = fixed(MDBX_INTEGERDUP, sizeof numbers[0]);
    MDBX_val key = text("k"), data;
    uint64_t wanted = 0;
    size_t count = COUNT;
    unsigned i;
    int rc;
    for (i = 0; i < COUNT; i++) numbers[i] = i;
    OK(put_many(in.cur, "k", numbers, sizeof numbers[0], &count, 0));
    EXPECT_NUM(count, COUNT);
    without_the_first(&in, sizeof wanted);
    EXPECT_NUM(entries(in.txn, in.dbi), COUNT);
    GO(in.cur, "k");
    EXPECT_NUM(count_of(in.cur), COUNT);
    for (rc = mdbx_cursor_get(in.cur, &key, &data, MDBX_GET_MULTIPLE); rc == 0;
         rc = mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT_MULTIPLE)) {
        EXPECT(data.iov_len > 0);
        EXPECT_NUM(data.iov_len % sizeof wanted, 0);
        for (i = 0; i < data.iov_len / sizeof wanted; i++, wanted++)
            EXPECT(memcmp((char *)data.iov_base + i * sizeof wanted, &wanted, sizeof wanted) == 0);
    }
    EXPECT_RC(rc, MDBX_NOTFOUND);
    EXPECT_NUM(wanted, COUNT);
    done(in);
}

static void many_backwards(void)
{
    enum { COUNT = 5000 };
    static uint64_t numbers[COUNT];
    struct place in = fixed(MDBX_INTEGERDUP, sizeof numbers[0]);
    MDBX_val key = text("k"), data;
    uint64_t first = 0, found;
    size_t count = COUNT;
    unsigned i;
    int rc;
    for (i = 0; i < COUNT; i++) numbers[i] = i;
    OK(put_many(in.cur, "k", numbers, sizeof numbers[0], &count, 0));
    without_the_first(&in, sizeof found);
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_LAST));
    while ((rc = mdbx_cursor_get(in.cur, &key, &data, MDBX_PREV_MULTIPLE)) == 0) {
        EXPECT(data.iov_len > 0);
        memcpy(&found, data.iov_base, sizeof found);
        count = data.iov_len / sizeof found;
        EXPECT(found + count < COUNT);
        if (first != 0) EXPECT_NUM(found + count, first); /* up to those before */
        first = found;
    }
    EXPECT_RC(rc, MDBX_NOTFOUND);
    EXPECT_NUM(first, 0);
    done(in);
}

/* Few values lie together all, so that all come, from wherever the cursor stands. */
static void few_come_all_at_once(void)
{
    struct place in = multi(MDBX_DUPFIXED);
    MDBX_val key = nothing(), data;
    OK(put(in.txn, in.dbi, "k", "11", 0));
    OK(put(in.txn, in.dbi, "k", "22", 0));
    OK(put(in.txn, in.dbi, "k", "33", 0));
    GO(in.cur, "k");
    OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_GET_MULTIPLE));
    EXPECT_TEXT(data, "112233");
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k", "33"); /* it goes to the last of them */
    EXPECT_STEP(in.cur, MDBX_NEXT_MULTIPLE, MDBX_NOTFOUND);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "k", "33");
    OK(seek(in.cur, MDBX_GET_BOTH, "k", "22"));
    if (OURS) /* whose batches begin and end beside the cursor */
        EXPECT_AT(in.cur, MDBX_PREV_MULTIPLE, "k", "11");
    else
        EXPECT_STEP(in.cur, MDBX_PREV_MULTIPLE, MDBX_NOTFOUND);
    done(in);
}

static void many_of_which_some_are_there(void)
{
    struct place in = fixed(0, 2);
    size_t count = 3;
    OK(put_many(in.cur, "k", "11yy33", 2, &count, 0));
    EXPECT_NUM(count, 3); /* what is there counts as put */
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    count = 3;
    EXPECT_RC(put_many(in.cur, "k", "001144", 2, &count, MDBX_NODUPDATA), MDBX_KEYEXIST);
    EXPECT_NUM(count, 1); /* up to the one that is there */
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    count = 2;
    EXPECT_RC(put_many(in.cur, "k", "abcdef", 3, &count, 0), MDBX_BAD_VALSIZE);
    EXPECT_RC(put_many(in.cur, "k", "abcdef", 2, &count, MDBX_RESERVE), MDBX_EINVAL);
    EXPECT_NUM(entries(in.txn, in.dbi), 5);
    done(in);
}

/* libmdbx 0.11.8 wants two at least. */
static void many_are_one_or_none_too(void)
{
    struct place in = multi(MDBX_DUPFIXED);
    size_t count = 0;
    ours_alone();
    OK(put_many(in.cur, "k", "", 2, &count, 0));
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    count = 1;
    OK(put_many(in.cur, "k", "11", 2, &count, 0));
    EXPECT_NUM(count, 1);
    count = 3;
    OK(put_many(in.cur, "l", "112233", 2, &count, 0));
    EXPECT_NUM(count, 3);
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    EXPECT_AT(in.cur, MDBX_GET_CURRENT, "l", "33");
    done(in);
}

/* A batch in the place of one value, or of all. */
static void many_instead_of_others(void)
{
    struct place in = fixed(0, 2);
    size_t count = 2;
    OK(seek(in.cur, MDBX_GET_BOTH, "k", "yy"));
    OK(put_many(in.cur, "k", "5566", 2, &count, MDBX_CURRENT));
    EXPECT_NUM(entries(in.txn, in.dbi), 3);
    EXPECT_RC(seek(in.cur, MDBX_GET_BOTH, "k", "yy"), MDBX_NOTFOUND);
    OK(seek(in.cur, MDBX_GET_BOTH, "k", "66"));
    count = 2;
    OK(put_many(in.cur, "k", "7788", 2, &count, MDBX_CURRENT | MDBX_ALLDUPS));
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    EXPECT_AT(in.cur, MDBX_FIRST, "k", "77");
    EXPECT_AT(in.cur, MDBX_LAST, "k", "88");
    done(in);
}

static void many_need_one_length(void)
{
    struct place in = few();
    size_t count = 1;
    EXPECT_RC(put_many(in.cur, "b", "x", 1, &count, 0), MDBX_INCOMPATIBLE);
    GO(in.cur, "b");
    EXPECT_STEP(in.cur, MDBX_GET_MULTIPLE, MDBX_INCOMPATIBLE);
    EXPECT_STEP(in.cur, MDBX_NEXT_MULTIPLE, MDBX_INCOMPATIBLE);
    EXPECT_STEP(in.cur, MDBX_PREV_MULTIPLE, MDBX_INCOMPATIBLE);
    done(in);
}

static void values_of_one_length(void)
{
    struct place in = multi(MDBX_DUPFIXED);
    MDBX_val key = nothing(), data;
    OK(put(in.txn, in.dbi, "a", "1234", 0)); /* which says what the others have */
    EXPECT_RC(put(in.txn, in.dbi, "a", "12345", 0), MDBX_BAD_VALSIZE);
    EXPECT_RC(put(in.txn, in.dbi, "b", "123", 0), MDBX_BAD_VALSIZE);
    OK(put(in.txn, in.dbi, "b", "5678", 0));
    GO(in.cur, "a");
    EXPECT_NUM(count_of(in.cur), 1);
    if (OURS) { /* libmdbx 0.11.8 crashes */
        OK(mdbx_cursor_get(in.cur, &key, &data, MDBX_GET_MULTIPLE));
        EXPECT_TEXT(data, "1234");
    }
    done(in);
}

static void a_loop_that_deletes_values(void)
{
    const unsigned count = scaled(2000);
    struct place in = multi(0);
    MDBX_val key, data;
    unsigned i, met = 0, kept = 0;
    for (i = 0; i < count; i++) {
        key = numbered("k", i % 3);
        data = numbered("v", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    }
    while (mdbx_cursor_get(in.cur, &key, &data, MDBX_NEXT) == 0) {
        if (met++ % 3) OK(mdbx_cursor_del(in.cur, PUT_FLAGS(0)));
        else kept++;
    }
    EXPECT_NUM(met, count);
    EXPECT_NUM(entries(in.txn, in.dbi), kept);
    done(in);
}

CASES(CASE(values_in_order), CASE(how_many_a_key_has), CASE(steps_within_a_key),
      CASE(steps_from_nowhere), CASE(steps_between_keys), CASE(on_the_first_and_the_last),
      CASE(to_a_key_and_value), CASE(bounds), CASE(equal_values_are_one), CASE(lengths_of_values),
      CASE(values_are_deleted), CASE(deleted_by_a_cursor), CASE(all_of_a_key_by_a_cursor),
      CASE(the_last_value_of_a_key_is_deleted), CASE(other_cursors_on_what_is_deleted),
      CASE(the_current_value_is_replaced), CASE(one_of_many_has_to_be_named),
      CASE(all_values_are_replaced), CASE(all_values_of_the_only_key_are_replaced),
      CASE(appended_values), CASE(sets_that_grow_and_shrink),
      CASE(values_backwards_and_as_numbers), CASE(many_at_once), CASE(many_backwards),
      CASE(few_come_all_at_once),
      CASE(many_of_which_some_are_there), CASE(many_are_one_or_none_too),
      CASE(many_instead_of_others),
      CASE(many_need_one_length), CASE(values_of_one_length), CASE(a_loop_that_deletes_values))
