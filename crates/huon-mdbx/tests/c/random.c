/*
 * Many steps in a random order, each compared with a sorted list in memory.
 *
 * The cursor of the model stands on a record, between two of them (after a deletion), or at a place
 * that is not followed up: then the next step is one that leads to some record by itself. libmdbx
 * 0.11.8 is not followed up where it skips records or finds an end too early: after it was at an
 * end, after puts by the cursor, and among many values after deletions and changes beside it.
 */
#include "harness.h"

enum { KEYS = 40, VALUES = 60, PAIRS = KEYS * VALUES, LONGEST = 400 };
enum where { ON, BETWEEN, UNKNOWN };

struct pair {
    unsigned key, value;
};

static struct pair pairs[PAIRS];
static unsigned count, at, many, has_deleted;
static enum where where;
static uint64_t state;

static MDBX_env *env;
static MDBX_txn *txn;
static MDBX_dbi dbi;
static MDBX_cursor *cur;

static unsigned below(unsigned end)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % end;
}

static MDBX_val key_of(unsigned key)
{
    static char names[KEYS + 1][8];
    snprintf(names[key], sizeof names[0], "k%02u", key);
    return text(names[key]);
}

/* Values have lengths of their own, so that pages of all kinds come up. */
static MDBX_val value_of(unsigned value)
{
    static char values[VALUES + 1][LONGEST];
    memset(values[value], 'x', LONGEST);
    snprintf(values[value], LONGEST, "v%02u", value);
    values[value][3] = 'x';
    return bytes(values[value], 3 + value * 37 % (LONGEST - 3));
}

/* The first pair that is not below this one. */
static unsigned lower(unsigned key, unsigned value)
{
    unsigned i = 0;
    while (i < count &&
           (pairs[i].key < key || (pairs[i].key == key && many && pairs[i].value < value)))
        i++;
    return i;
}

static unsigned first_of(unsigned i)
{
    while (i > 0 && pairs[i - 1].key == pairs[i].key) i--;
    return i;
}

static unsigned last_of(unsigned i)
{
    while (i + 1 < count && pairs[i + 1].key == pairs[i].key) i++;
    return i;
}

static int same(const MDBX_val *a, MDBX_val b)
{
    return a->iov_len == b.iov_len && memcmp(a->iov_base, b.iov_base, b.iov_len) == 0;
}

/* A step leads to the pair `to`, or if there is none to nothing, and then `after` holds. */
static void step(MDBX_cursor_op op, unsigned key, unsigned value, int found, unsigned to,
                 enum where after, int rc_if_found)
{
    MDBX_val k = key_of(key), v = many ? value_of(value) : nothing();
    int rc = mdbx_cursor_get(cur, &k, &v, op);
    if (!found) {
        EXPECT_RC(rc, MDBX_NOTFOUND);
        where = OURS ? after : UNKNOWN;
        return;
    }
    EXPECT_RC(rc, rc_if_found);
    if (op != MDBX_FIRST_DUP && op != MDBX_LAST_DUP) EXPECT(same(&k, key_of(pairs[to].key)));
    EXPECT(same(&v, value_of(pairs[to].value)));
    at = to;
    where = OURS || (op != MDBX_LAST && op != MDBX_LAST_DUP) ? ON : UNKNOWN;
}

/* A step that needs no place to start from. */
static void absolute(void)
{
    unsigned key = below(KEYS), value = below(VALUES);
    unsigned low = lower(key, 0), pair = lower(key, value);
    int has_key = low < count && pairs[low].key == key;
    int in_key = pair < count && pairs[pair].key == key;
    int equal = in_key && (!many || pairs[pair].value == value);
    unsigned choice = below(many ? 8 : 6);
    if (!OURS && has_deleted && choice == 5) choice = 0; /* libmdbx 0.11.8 goes not far enough */
    has_deleted = 0;
    switch (choice) {
    case 0: step(MDBX_FIRST, 0, 0, count > 0, 0, UNKNOWN, 0); break;
    case 1: step(MDBX_LAST, 0, 0, count > 0, count - 1, UNKNOWN, 0); break;
    case 2: step(MDBX_SET_KEY, key, 0, has_key, low, UNKNOWN, 0); break;
    case 3: step(MDBX_SET_RANGE, key, 0, low < count, low, UNKNOWN, 0); break;
    case 4:
        step(MDBX_SET_LOWERBOUND, key, value, pair < count, pair, UNKNOWN,
             equal ? MDBX_SUCCESS : MDBX_RESULT_TRUE);
        break;
    case 5:
        pair += equal;
        step(MDBX_SET_UPPERBOUND, key, value, pair < count, pair, UNKNOWN, 0);
        break;
    case 6: step(MDBX_GET_BOTH, key, value, equal, pair, UNKNOWN, 0); break;
    default: step(MDBX_GET_BOTH_RANGE, key, value, in_key, pair, UNKNOWN, 0); break;
    }
}

/* A step from a record. */
static void relative(void)
{
    unsigned first = first_of(at), last = last_of(at);
    switch (below(many ? 9 : 5)) {
    case 0: step(MDBX_NEXT, 0, 0, at + 1 < count, at + 1, ON, 0); break;
    case 1: step(MDBX_PREV, 0, 0, at > 0, at - 1, ON, 0); break;
    case 2: step(MDBX_NEXT_NODUP, 0, 0, last + 1 < count, last + 1, UNKNOWN, 0); break;
    case 3: step(MDBX_PREV_NODUP, 0, 0, first > 0, first - 1, UNKNOWN, 0); break;
    case 4: step(MDBX_GET_CURRENT, 0, 0, 1, at, ON, 0); break;
    case 5: step(MDBX_NEXT_DUP, 0, 0, at < last, at + 1, ON, 0); break;
    case 6: step(MDBX_PREV_DUP, 0, 0, at > first, at - 1, ON, 0); break;
    case 7: step(MDBX_FIRST_DUP, 0, 0, 1, first, ON, 0); break;
    default: step(MDBX_LAST_DUP, 0, 0, 1, last, ON, 0); break;
    }
    if (where == ON && below(4) == 0) {
        EXPECT_NUM(count_of(cur), last_of(at) - first_of(at) + 1);
        EXPECT_RC(mdbx_cursor_on_first(cur),
                  first_of(at) == 0 ? MDBX_RESULT_TRUE : MDBX_RESULT_FALSE);
        EXPECT_RC(mdbx_cursor_on_last(cur),
                  last_of(at) + 1 == count ? MDBX_RESULT_TRUE : MDBX_RESULT_FALSE);
    }
}

/* Between two records: the one after, or the one before. */
static void from_between(void)
{
    if (below(2)) step(MDBX_NEXT, 0, 0, at < count, at, UNKNOWN, 0);
    else step(MDBX_PREV, 0, 0, at > 0, at - 1, UNKNOWN, 0);
}

static void insert(unsigned i, unsigned key, unsigned value)
{
    memmove(&pairs[i + 1], &pairs[i], (count - i) * sizeof pairs[0]);
    pairs[i].key = key;
    pairs[i].value = value;
    count++;
}

static void take_away(unsigned i)
{
    memmove(&pairs[i], &pairs[i + 1], (count - i - 1) * sizeof pairs[0]);
    count--;
}

/* Whether the cursor's key is the one that was changed beside it. */
static void forget_if_of(unsigned key)
{
    if (!OURS && many && where == ON && pairs[at].key == key) where = UNKNOWN;
}

/* A put, by the cursor or beside it. */
static void put_one(int by_cursor)
{
    unsigned key = below(KEYS), value = below(VALUES), i = lower(key, value);
    MDBX_val k = key_of(key), v = value_of(value);
    int there = i < count && pairs[i].key == key && (!many || pairs[i].value == value);
    if (by_cursor) OK(mdbx_cursor_put(cur, &k, &v, MDBX_UPSERT));
    else OK(mdbx_put(txn, dbi, &k, &v, MDBX_UPSERT));
    if (there) pairs[i].value = value;
    else insert(i, key, value);
    if (by_cursor) {
        at = i;
        where = OURS ? ON : UNKNOWN;
    } else if (where == BETWEEN) {
        where = UNKNOWN;
    } else if (!there && i <= at) {
        at++;
    }
    if (!by_cursor) forget_if_of(key);
}

static void delete_by_cursor(void)
{
    unsigned first = first_of(at), last = last_of(at);
    if (many && below(8) == 0) {
        OK(mdbx_cursor_del(cur, MDBX_ALLDUPS));
        for (at = first; last + 1 > first; last--) take_away(first);
    } else {
        OK(mdbx_cursor_del(cur, MDBX_CURRENT));
        take_away(at);
    }
    where = OURS || !many ? BETWEEN : UNKNOWN;
    has_deleted = 1;
}

static void delete_beside(void)
{
    unsigned key = below(KEYS), value = below(VALUES), i = lower(key, value);
    MDBX_val k = key_of(key), v = value_of(value);
    int there = i < count && pairs[i].key == key && pairs[i].value == value;
    EXPECT_RC(mdbx_del(txn, dbi, &k, &v), there ? MDBX_SUCCESS : MDBX_NOTFOUND);
    if (!there) return;
    take_away(i);
    if (i == at || where != ON) where = UNKNOWN;
    else if (i < at) at--;
    forget_if_of(key);
}

static void commit(void)
{
    if (below(4) == 0) {
        OK(mdbx_cursor_bind(txn, cur, dbi));
    } else {
        OK(mdbx_txn_commit(txn));
        txn = WRITE(env);
        OK(mdbx_cursor_renew(txn, cur));
    }
    EXPECT_NUM(entries(txn, dbi), count);
    where = UNKNOWN;
}

static void one_step(void)
{
    unsigned choice = below(100);
    if (choice < 2) commit();
    else if (choice < 25) put_one(below(3) != 0);
    else if (choice < 35) delete_beside();
    else if (choice < 50 && where == ON) delete_by_cursor();
    else if (choice < 85 && where == ON) relative();
    else if (where == BETWEEN) from_between();
    else absolute();
}

static void run_with(unsigned flags, unsigned seed)
{
    unsigned i, steps = scaled(20000);
    env = env_with(MDBX_UTTERLY_NOSYNC);
    txn = WRITE(env);
    dbi = table(txn, "t", MDBX_CREATE | flags);
    cur = cursor(txn, dbi);
    many = flags & MDBX_DUPSORT;
    state = seed;
    count = at = 0;
    where = UNKNOWN;
    for (i = 0; i < steps; i++) one_step();
    EXPECT(count > KEYS / 4);
    mdbx_cursor_close(cur);
    OK(mdbx_drop(txn, dbi, true));
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
}

static void one_value_each(void)
{
    unsigned seed;
    for (seed = 1; seed <= 5; seed++) run_with(0, seed);
}

static void many_values_each(void)
{
    unsigned seed;
    for (seed = 1; seed <= 5; seed++) run_with(MDBX_DUPSORT, seed);
}

CASES(CASE(one_value_each), CASE(many_values_each))
