/* How many records lie between two places, more or less. */
#include "harness.h"

enum { COUNT = 20000 };

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
};

/* k00000 to k19999. */
static struct place many(void)
{
    struct place in;
    unsigned i;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE);
    for (i = 0; i < COUNT; i++) {
        MDBX_val key = numbered("k", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &key, MDBX_APPEND));
    }
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    return in;
}

static void done(struct place in)
{
    OK(mdbx_txn_abort(in.txn));
    OK(mdbx_env_close(in.env));
}

/* Not further from the truth than a quarter of it, and a page. */
#define EXPECT_NEAR(found, truth) \
    do { \
        long long f_ = (long long)(found), t_ = (long long)(truth), off_ = f_ - t_; \
        if ((off_ < 0 ? -off_ : off_) > (t_ < 0 ? -t_ : t_) / 4 + 200) \
            fail(__FILE__, __LINE__, "%s: %lld, expected about %lld", #found, f_, t_); \
    } while (0)

static ptrdiff_t range(struct place in, const char *first, const char *last)
{
    MDBX_val a = text(first ? first : ""), b = text(last ? last : "");
    ptrdiff_t items = 0;
    OK(mdbx_estimate_range(in.txn, in.dbi, first ? &a : NULL, NULL, last ? &b : NULL, NULL,
                           &items));
    return items;
}

static void ranges(void)
{
    struct place in = many();
    EXPECT_NUM(range(in, NULL, NULL), COUNT); /* all of them are counted */
    EXPECT_NEAR(range(in, "k05000", "k15000"), 10000);
    EXPECT_NEAR(range(in, NULL, "k05000"), 5000);
    EXPECT_NEAR(range(in, "k15000", NULL), 5000);
    EXPECT_NEAR(range(in, "k00100", "k00200"), 100);
    EXPECT_NEAR(range(in, "k15000", "k05000"), -10000);
    EXPECT_NEAR(range(in, "k05000x", "k15000x"), 10000); /* which are not there */
    EXPECT_NEAR(range(in, "a", "z"), COUNT);
    done(in);
}

static void one_record(void)
{
    struct place in = many();
    MDBX_val key = text("k00777"), none = text("k00777x"), same = text("k00777");
    ptrdiff_t items = 99;
    OK(mdbx_estimate_range(in.txn, in.dbi, &key, NULL, &same, NULL, &items));
    EXPECT_NUM(items, 1);
    OK(mdbx_estimate_range(in.txn, in.dbi, &key, NULL, MDBX_EPSILON, NULL, &items));
    EXPECT_NUM(items, 1);
    OK(mdbx_estimate_range(in.txn, in.dbi, &none, NULL, MDBX_EPSILON, NULL, &items));
    EXPECT_NUM(items, 0);
    EXPECT_RC(mdbx_estimate_range(in.txn, in.dbi, &key, NULL, &same, NULL, NULL), MDBX_EINVAL);
    done(in);
}

static void between_cursors(void)
{
    struct place in = many();
    MDBX_cursor *one = cursor(in.txn, in.dbi), *two = cursor(in.txn, in.dbi);
    ptrdiff_t items = 99;
    EXPECT_RC(mdbx_estimate_distance(one, two, &items), MDBX_ENODATA);
    GO(one, "k05000");
    GO(two, "k05000");
    OK(mdbx_estimate_distance(one, two, &items));
    EXPECT_NUM(items, 0);
    GO(two, "k05001");
    OK(mdbx_estimate_distance(one, two, &items));
    EXPECT(items >= 0 && items <= 2);
    GO(two, "k15000");
    OK(mdbx_estimate_distance(one, two, &items));
    EXPECT_NEAR(items, 10000);
    OK(mdbx_estimate_distance(two, one, &items));
    EXPECT_NEAR(items, -10000);
    mdbx_cursor_close(one);
    mdbx_cursor_close(two);
    done(in);
}

static void to_where_a_step_would_lead(void)
{
    struct place in = many();
    MDBX_cursor *cur = cursor(in.txn, in.dbi);
    MDBX_val key = nothing(), data = nothing();
    ptrdiff_t items = 99;
    GO(cur, "k10000");
    OK(mdbx_estimate_move(cur, &key, &data, MDBX_NEXT, &items));
    EXPECT_NUM(items, 1);
    OK(mdbx_estimate_move(cur, &key, &data, MDBX_PREV, &items));
    EXPECT_NUM(items, -1);
    OK(mdbx_estimate_move(cur, &key, &data, MDBX_LAST, &items));
    EXPECT_NEAR(items, 9999);
    OK(mdbx_estimate_move(cur, &key, &data, MDBX_FIRST, &items));
    EXPECT_NEAR(items, -10000);
    key = text("k12000");
    OK(mdbx_estimate_move(cur, &key, &data, MDBX_SET_RANGE, &items));
    EXPECT_NEAR(items, 2000);
    EXPECT_AT(cur, MDBX_GET_CURRENT, "k10000", "k10000"); /* it has not gone there */
    EXPECT_RC(mdbx_estimate_move(cur, &key, &data, MDBX_GET_CURRENT, &items), MDBX_EINVAL);
    EXPECT_RC(mdbx_estimate_move(cur, &key, &data, MDBX_GET_MULTIPLE, &items), MDBX_EINVAL);
    mdbx_cursor_close(cur);
    done(in);
}

static void many_values(void)
{
    struct place in;
    MDBX_val key = text("b"), data, from, to;
    ptrdiff_t items = 99;
    unsigned i;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    for (i = 0; i < 5000; i++) {
        data = numbered("v", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    }
    OK(put(in.txn, in.dbi, "c", "1", 0));
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    OK(mdbx_estimate_range(in.txn, in.dbi, NULL, NULL, NULL, NULL, &items));
    EXPECT_NUM(items, 5002);
    OK(mdbx_estimate_range(in.txn, in.dbi, &key, NULL, MDBX_EPSILON, NULL, &items));
    EXPECT_NUM(items, 5000);
    from = text("v01000");
    to = text("v03000");
    OK(mdbx_estimate_range(in.txn, in.dbi, &key, &from, &key, &to, &items));
    if (OURS) EXPECT_NEAR(items, 2000); /* libmdbx 0.11.8 knows of none */
    done(in);
}

static void of_nothing(void)
{
    struct place in;
    in.env = env_with(0);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE);
    EXPECT_NUM(range(in, NULL, NULL), 0);
    EXPECT_NUM(range(in, "a", "z"), 0);
    done(in);
}

CASES(CASE(ranges), CASE(one_record), CASE(between_cursors), CASE(to_where_a_step_would_lead),
      CASE(many_values), CASE(of_nothing))
