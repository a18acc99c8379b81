/* Tables: the main one and named ones, their handles, flags and orders, emptying and removing. */
#include "harness.h"

static unsigned flags_of(MDB_txn *txn, MDB_dbi dbi)
{
    unsigned flags = 1;
    OK(mdb_dbi_flags(txn, dbi, &flags));
    return flags;
}

static void handles_have_numbers(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi a, b;
    EXPECT_NUM(table(txn, NULL, 0), 1);
    a = table(txn, "a", MDB_CREATE);
    EXPECT_NUM(a, 2);
    b = table(txn, "b", MDB_CREATE);
    EXPECT_NUM(b, 3);
    EXPECT_NUM(table(txn, "a", 0), a);
    OK(mdb_txn_commit(txn));
    mdb_dbi_close(env, a);
    txn = WRITE(env);
    EXPECT_NUM(table(txn, "c", MDB_CREATE), a); /* the number is used again */
    EXPECT_NUM(table(txn, "b", 0), b);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void handles_of_a_writer_that_aborts(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE);
    OK(put(txn, dbi, "k", "v", 0));
    mdb_txn_abort(txn);
    txn = WRITE(env);
    EXPECT_RC(get(txn, dbi, "k"), EINVAL);
    EXPECT_RC(mdb_dbi_open(txn, "t", 0, &dbi), MDB_NOTFOUND);
    dbi = table(txn, "t", MDB_CREATE);
    EXPECT_NUM(dbi, 2);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void handles_of_readers(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE);
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(MDB_NOTLS);
    txn = READ(env);
    dbi = table(txn, "t", 0);
    EXPECT_GET(txn, dbi, "k", "v");
    mdb_txn_abort(txn); /* closes it */
    txn = READ(env);
    EXPECT_RC(get(txn, dbi, "k"), EINVAL);
    dbi = table(txn, "t", 0);
    OK(mdb_txn_commit(txn)); /* keeps it */
    txn = READ(env);
    EXPECT_GET(txn, dbi, "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void who_began_before_does_not_see_a_handle(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *before, *txn;
    MDB_dbi dbi;
    OK(mdb_txn_commit(WRITE(env)));
    before = READ(env);
    txn = WRITE(env);
    dbi = table(txn, "t", MDB_CREATE);
    OK(put(txn, dbi, "k", "v", 0));
    EXPECT_RC(get(before, dbi, "k"), EINVAL);
    OK(mdb_txn_commit(txn));
    EXPECT_RC(get(before, dbi, "k"), OURS ? MDB_BAD_DBI : EINVAL); /* no such table there */
    mdb_txn_abort(before);
    mdb_env_close(env);
}

static void handles_that_are_none(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_stat stat;
    unsigned flags;
    MDB_cursor *cur;
    EXPECT_RC(get(txn, 1, "k"), MDB_NOTFOUND); /* the main table needs no opening */
    EXPECT_RC(get(txn, 2, "k"), EINVAL);
    EXPECT_RC(get(txn, 999999, "k"), EINVAL);
    EXPECT_RC(put(txn, 999999, "k", "v", 0), EINVAL);
    EXPECT_RC(del(txn, 2, "k", NULL), EINVAL);
    EXPECT_RC(mdb_stat(txn, 2, &stat), EINVAL);
    EXPECT_RC(mdb_dbi_flags(txn, 2, &flags), EINVAL);
    EXPECT_RC(mdb_cursor_open(txn, 2, &cur), EINVAL);
    EXPECT_RC(mdb_drop(txn, 2, 0), EINVAL);
    EXPECT_RC(mdb_drop(txn, 1, 2), EINVAL);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void tables_that_cannot_be_opened(void)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxdbs(env, 2));
    OK(mdb_env_open(env, ".", 0, 0644));
    txn = WRITE(env);
    EXPECT_RC(mdb_dbi_open(txn, "none", 0, &dbi), MDB_NOTFOUND);
    EXPECT_RC(mdb_dbi_open(txn, "t", MDB_CREATE | 0x80, &dbi), EINVAL);
    OK(put(txn, table(txn, NULL, 0), "plain", "v", 0));
    EXPECT_RC(mdb_dbi_open(txn, "plain", 0, &dbi), MDB_INCOMPATIBLE);
    EXPECT_RC(mdb_dbi_open(txn, "plain", MDB_CREATE, &dbi), MDB_INCOMPATIBLE);
    table(txn, "a", MDB_CREATE);
    table(txn, "b", MDB_CREATE);
    EXPECT_RC(mdb_dbi_open(txn, "c", MDB_CREATE, &dbi), MDB_DBS_FULL);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    OK(mdb_env_create(&env));
    OK(mdb_env_open(env, ".", 0, 0644)); /* with room for no named one */
    txn = READ(env);
    EXPECT_RC(mdb_dbi_open(txn, "a", 0, &dbi), MDB_DBS_FULL);
    EXPECT_NUM(table(txn, NULL, 0), 1);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void names_are_records_of_the_main_table(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi main_dbi = table(txn, NULL, 0), dbi = table(txn, "named", MDB_CREATE);
    MDB_cursor *cur = cursor(txn, main_dbi);
    MDB_val key = text("named"), data;
    OK(put(txn, dbi, "k", "v", 0));
    OK(put(txn, main_dbi, "plain", "x", 0));
    OK(mdb_cursor_get(cur, &key, &data, MDB_FIRST));
    EXPECT_TEXT(key, "named");
    EXPECT_NUM(data.mv_size, 48);
    EXPECT_AT(cur, MDB_NEXT, "plain", "x");
    EXPECT_STEP(cur, MDB_NEXT, MDB_NOTFOUND);
    EXPECT_NUM(entries(txn, main_dbi), 2);
    EXPECT_NUM(entries(txn, dbi), 1);
    EXPECT_RC(put(txn, main_dbi, "named", "x", 0), MDB_INCOMPATIBLE);
    OK(mdb_txn_commit(txn));
    txn = READ(env);
    key = text("named");
    OK(mdb_get(txn, main_dbi, &key, &data));
    EXPECT_NUM(data.mv_size, 48);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void removing_a_name_as_data_spoils_the_transaction(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env), *child;
    MDB_dbi main_dbi = table(txn, NULL, 0), dbi = table(txn, "named", MDB_CREATE);
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    EXPECT_RC(del(txn, main_dbi, "named", NULL), MDB_INCOMPATIBLE);
    EXPECT_RC(put(txn, dbi, "k", "w", 0), MDB_BAD_TXN);
    EXPECT_RC(mdb_txn_commit(txn), MDB_BAD_TXN);
    txn = WRITE(env);
    child = begin(env, txn, 0);
    EXPECT_RC(del(child, main_dbi, "named", NULL), MDB_INCOMPATIBLE);
    EXPECT_RC(mdb_txn_commit(child), MDB_BAD_TXN);
    mdb_txn_abort(txn);
    txn = READ(env);
    EXPECT_GET(txn, dbi, "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void flags_are_those_of_the_making(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi plain = table(txn, "plain", MDB_CREATE);
    MDB_dbi multi = table(txn, "multi", MDB_CREATE | MDB_DUPSORT | MDB_REVERSEKEY);
    MDB_dbi fixed =
        table(txn, "fixed", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
    EXPECT_NUM(flags_of(txn, plain), 0);
    EXPECT_NUM(flags_of(txn, multi), MDB_DUPSORT | MDB_REVERSEKEY);
    EXPECT_NUM(flags_of(txn, fixed), MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = WRITE(env);
    plain = table(txn, "plain", MDB_DUPSORT); /* taken, and without an effect */
    multi = table(txn, "multi", 0);
    EXPECT_NUM(flags_of(txn, plain), 0);
    EXPECT_NUM(flags_of(txn, multi), MDB_DUPSORT | MDB_REVERSEKEY);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void flags_of_the_main_table(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, MDB_REVERSEKEY);
    MDB_cursor *cur;
    EXPECT_NUM(flags_of(txn, dbi), MDB_REVERSEKEY);
    OK(put(txn, dbi, "az", "1", 0));
    OK(put(txn, dbi, "ba", "2", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    dbi = table(txn, NULL, 0);
    EXPECT_NUM(flags_of(txn, dbi), MDB_REVERSEKEY);
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "ba", "2");
    EXPECT_AT(cur, MDB_NEXT, "az", "1");
    mdb_cursor_close(cur);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void the_main_table_with_many_values(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, MDB_DUPSORT);
    MDB_cursor *cur;
    OK(put(txn, dbi, "k", "2", 0));
    OK(put(txn, dbi, "k", "1", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    dbi = table(txn, NULL, 0);
    EXPECT_NUM(flags_of(txn, dbi), MDB_DUPSORT);
    EXPECT_NUM(entries(txn, dbi), 2);
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "k", "1");
    EXPECT_AT(cur, MDB_NEXT_DUP, "k", "2");
    mdb_cursor_close(cur);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void the_main_table_of_two_readers(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env), *other;
    OK(put(txn, table(txn, NULL, MDB_DUPSORT), "k", "1", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(MDB_NOTLS);
    txn = READ(env);
    other = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "1");
    EXPECT_GET(other, table(other, NULL, 0), "k", "1");
    EXPECT_GET(txn, 1, "k", "1");
    mdb_txn_abort(txn);
    EXPECT_GET(other, 1, "k", "1");
    mdb_txn_abort(other);
    txn = WRITE(env);
    OK(put(txn, 1, "k", "2", 0));
    mdb_txn_abort(txn);
    txn = WRITE(env);
    EXPECT_NUM(entries(txn, 1), 1);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void a_main_table_whose_kind_is_taken_back(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, MDB_DUPSORT), "k", "1", 0));
    mdb_txn_abort(txn);
    txn = WRITE(env);
    EXPECT_RC(get(txn, 1, "k"), MDB_NOTFOUND);
    OK(put(txn, 1, "k", "2", 0));
    OK(mdb_txn_commit(txn));
    txn = READ(env);
    EXPECT_GET(txn, 1, "k", "2");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void emptied_and_removed(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi a = table(txn, "a", MDB_CREATE), b = table(txn, "b", MDB_CREATE);
    MDB_dbi main_dbi = table(txn, NULL, 0);
    unsigned i;
    for (i = 0; i < 3000; i++) {
        MDB_val key = numbered("k", i), data = text("some value of a record");
        OK(mdb_put(txn, a, &key, &data, 0));
        OK(mdb_put(txn, b, &key, &data, 0));
    }
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    OK(mdb_drop(txn, a, 0));
    EXPECT_NUM(entries(txn, a), 0);
    OK(put(txn, a, "after", "v", 0));
    OK(mdb_drop(txn, b, 1));
    EXPECT_RC(get(txn, b, "k00000"), EINVAL);
    EXPECT_RC(mdb_dbi_open(txn, "b", 0, &b), MDB_NOTFOUND);
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    EXPECT_NUM(entries(txn, main_dbi), 1);
    EXPECT_NUM(entries(txn, a), 1);
    OK(mdb_drop(txn, main_dbi, 0)); /* takes the named ones with it */
    EXPECT_NUM(entries(txn, main_dbi), 0);
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    EXPECT_RC(mdb_dbi_open(txn, "a", 0, &a), MDB_NOTFOUND);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void a_removal_that_is_aborted(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE);
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    OK(mdb_drop(txn, dbi, 1));
    mdb_txn_abort(txn);
    txn = READ(env);
    EXPECT_RC(get(txn, dbi, "k"), EINVAL); /* the handle is gone, the table is not */
    dbi = table(txn, "t", 0);
    EXPECT_GET(txn, dbi, "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static int by_length(const MDB_val *a, const MDB_val *b)
{
    return a->mv_size < b->mv_size ? -1 : a->mv_size > b->mv_size;
}

static int backwards(const MDB_val *a, const MDB_val *b)
{
    size_t shorter = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
    int order = memcmp(b->mv_data, a->mv_data, shorter);
    return order ? order : by_length(b, a);
}

static void orders_of_the_caller(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT);
    MDB_val a = text("zz"), b = text("aaa");
    MDB_cursor *cur;
    OK(mdb_set_compare(txn, dbi, by_length));
    OK(mdb_set_dupsort(txn, dbi, backwards));
    OK(mdb_set_relfunc(txn, dbi, NULL));
    OK(mdb_set_relctx(txn, dbi, NULL));
    EXPECT(mdb_cmp(txn, dbi, &a, &b) < 0);
    EXPECT(mdb_dcmp(txn, dbi, &a, &b) < 0);
    EXPECT(mdb_dcmp(txn, dbi, &b, &a) > 0);
    EXPECT_NUM(mdb_cmp(txn, dbi, &a, &a), 0);
    OK(put(txn, dbi, "aaa", "1", 0));
    OK(put(txn, dbi, "zz", "1", 0));
    OK(put(txn, dbi, "zz", "2", 0));
    OK(put(txn, dbi, "zz", "3", 0));
    EXPECT_GET(txn, dbi, "yy", "3"); /* as long, and so the same key */
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "zz", "3");
    EXPECT_AT(cur, MDB_NEXT, "zz", "2");
    EXPECT_AT(cur, MDB_NEXT, "zz", "1");
    EXPECT_AT(cur, MDB_NEXT, "aaa", "1");
    OK(mdb_txn_commit(txn));
    txn = WRITE(env); /* the order stays with the handle */
    OK(put(txn, dbi, "q", "1", 0));
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDB_FIRST, "q", "1");
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
}

static void integers_are_ordered_as_numbers(void)
{
    static const unsigned lengths[] = {sizeof(unsigned), sizeof(size_t)};
    unsigned which, i;
    for (which = 0; which < 2; which++) {
        MDB_env *env = env_with(0);
        MDB_txn *txn = WRITE(env);
        MDB_dbi dbi = table(txn, which ? "size" : "int", MDB_CREATE | MDB_INTEGERKEY);
        MDB_cursor *cur = cursor(txn, dbi);
        MDB_val key, data;
        for (i = 0; i < 1000; i++) {
            unsigned small = i * 257 % 1000;
            size_t large = small;
            key = bytes(which ? (void *)&large : (void *)&small, lengths[which]);
            OK(mdb_put(txn, dbi, &key, &key, 0));
        }
        for (i = 0; i < 1000; i++) {
            size_t found = 0;
            OK(mdb_cursor_get(cur, &key, &data, MDB_NEXT));
            EXPECT_NUM(key.mv_size, lengths[which]);
            memcpy(&found, key.mv_data, key.mv_size);
            EXPECT_NUM(found, i);
            EXPECT(memcmp(key.mv_data, data.mv_data, key.mv_size) == 0);
        }
        OK(mdb_txn_commit(txn));
        mdb_env_close(env);
    }
}

static void the_shape_of_a_table(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE);
    MDB_val data = filled(100, 'x'), large = filled(100000, 'y'), key = text("large");
    MDB_stat stat, of_env;
    unsigned i;
    OK(mdb_stat(txn, dbi, &stat));
    EXPECT_NUM(stat.ms_depth, 0);
    EXPECT_NUM(stat.ms_leaf_pages, 0);
    for (i = 0; i < 1000; i++) {
        MDB_val k = numbered("k", i);
        OK(mdb_put(txn, dbi, &k, &data, 0));
    }
    OK(mdb_put(txn, dbi, &key, &large, 0));
    OK(mdb_stat(txn, dbi, &stat));
    OK(mdb_env_stat(env, &of_env));
    EXPECT_NUM(stat.ms_entries, 1001);
    EXPECT_NUM(stat.ms_psize, of_env.ms_psize);
    EXPECT(stat.ms_depth >= 2 && stat.ms_branch_pages >= 1);
    EXPECT(stat.ms_leaf_pages >= 1000 * 100 / stat.ms_psize);
    EXPECT(stat.ms_overflow_pages >= 100000 / stat.ms_psize);
    OK(mdb_txn_commit(txn));
    OK(mdb_env_stat(env, &of_env));
    EXPECT_NUM(of_env.ms_entries, 1);
    mdb_env_close(env);
}

/* An order that is told in a read transaction, while the table is empty, holds from then on. */
static void an_order_told_while_reading(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT);
    MDB_val a = text("zz"), b = text("aaa");
    MDB_cursor *cur;
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    dbi = table(txn, "t", 0);
    OK(mdb_set_compare(txn, dbi, by_length));
    OK(mdb_set_dupsort(txn, dbi, backwards));
    EXPECT(mdb_cmp(txn, dbi, &a, &b) < 0);
    EXPECT(mdb_dcmp(txn, dbi, &a, &b) < 0);
    EXPECT_RC(get(txn, dbi, "k"), MDB_NOTFOUND);
    EXPECT_NUM(entries(txn, dbi), 0);
    cur = cursor(txn, dbi);
    EXPECT_STEP(cur, MDB_FIRST, MDB_NOTFOUND);
    mdb_cursor_close(cur);
    OK(mdb_txn_commit(txn));
    txn = WRITE(env);
    EXPECT_RC(get(txn, dbi, "k"), MDB_NOTFOUND);
    OK(put(txn, dbi, "gone", "1", 0));
    mdb_txn_abort(txn); /* what was told stays */
    txn = WRITE(env);
    cur = cursor(txn, dbi);
    OK(cursor_put(cur, "aaa", "1", 0));
    OK(put(txn, dbi, "zz", "1", 0));
    OK(put(txn, dbi, "zz", "2", 0));
    EXPECT_GET(txn, dbi, "yy", "2");
    EXPECT_AT(cur, MDB_FIRST, "zz", "2");
    EXPECT_AT(cur, MDB_NEXT, "zz", "1");
    EXPECT_AT(cur, MDB_NEXT, "aaa", "1");
    OK(mdb_txn_commit(txn));
    txn = READ(env);
    EXPECT_GET(txn, dbi, "yy", "2");
    mdb_txn_abort(txn);
    mdb_env_close(env);
    env = env_with(MDB_RDONLY); /* where nothing else than reading is possible */
    txn = READ(env);
    dbi = table(txn, "t", 0);
    OK(mdb_set_compare(txn, dbi, by_length));
    OK(mdb_set_dupsort(txn, dbi, backwards));
    EXPECT_GET(txn, dbi, "yy", "2");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

/* The same of the kind of the main table, which is told each time that it is opened. */
static void a_kind_told_while_reading(void)
{
    static const unsigned kinds[] = {MDB_DUPSORT, MDB_REVERSEKEY, MDB_DUPSORT | MDB_REVERSEDUP};
    unsigned i, found;
    for (i = 0; i < 3; i++) {
        MDB_env *env;
        MDB_txn *txn;
        MDB_dbi dbi;
        MDB_cursor *cur;
        char name[16];
        snprintf(name, sizeof name, "env%u", i);
        EXPECT(mkdir(name, 0755) == 0);
        OK(mdb_env_create(&env));
        OK(mdb_env_open(env, name, 0, 0644));
        txn = READ(env);
        dbi = table(txn, NULL, kinds[i]);
        OK(mdb_dbi_flags(txn, dbi, &found));
        EXPECT_NUM(found, kinds[i]);
        cur = cursor(txn, dbi);
        EXPECT_STEP(cur, MDB_LAST, MDB_NOTFOUND);
        EXPECT_STEP(cur, MDB_NEXT_NODUP, MDB_NOTFOUND);
        mdb_cursor_close(cur);
        EXPECT_RC(get(txn, dbi, "k"), MDB_NOTFOUND);
        mdb_txn_abort(txn);
        if (!OURS) { /* LMDB has it in that transaction only */
            mdb_env_close(env);
            continue;
        }
        txn = WRITE(env);
        OK(put(txn, dbi, "az", "ba", 0));
        OK(put(txn, dbi, "az", "ab", 0));
        OK(put(txn, dbi, "ba", "1", 0));
        cur = cursor(txn, dbi);
        EXPECT_AT(cur, MDB_FIRST, kinds[i] & MDB_REVERSEKEY ? "ba" : "az",
                  kinds[i] == MDB_DUPSORT ? "ab" : i == 1 ? "1" : "ba");
        EXPECT_NUM(entries(txn, dbi), i == 1 ? 2 : 3);
        OK(mdb_txn_commit(txn));
        mdb_env_close(env);
    }
}

static void names_are_told_from_records(void)
{
#if OURS
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, 0), named = table(txn, "name", MDB_CREATE);
    MDB_cursor *cur = cursor(txn, dbi), *other = cursor(txn, named);
    mdb_size_t count = MDB_SIZE_MAX;
    char shown[32];
    OK(put(txn, dbi, "plain", "v", 0));
    OK(put(txn, named, "k", "v", 0));
    EXPECT_NUM(mdb_cursor_is_db(cur), 0); /* it stands nowhere */
    OK(mdb_cursor_get(cur, &(MDB_val){0}, &(MDB_val){0}, MDB_FIRST));
    EXPECT_NUM(mdb_cursor_is_db(cur), 1);
    EXPECT_AT(cur, MDB_NEXT, "plain", "v");
    EXPECT_NUM(mdb_cursor_is_db(cur), 0);
    EXPECT_AT(other, MDB_FIRST, "k", "v");
    EXPECT_NUM(mdb_cursor_is_db(other), 0);
    EXPECT_NUM(mdb_cursor_is_db(NULL), 0);
    snprintf(shown, sizeof shown, "%" MDB_PRIy(u), count);
    EXPECT(sscanf(shown, "%" MDB_SCNy(u), &count) == 1 && count == MDB_SIZE_MAX);
    mdb_txn_abort(txn);
    mdb_env_close(env);
#else
    skip("not in LMDB 0.9");
#endif
}

CASES(CASE(handles_have_numbers), CASE(handles_of_a_writer_that_aborts), CASE(handles_of_readers),
      CASE(who_began_before_does_not_see_a_handle), CASE(handles_that_are_none),
      CASE(tables_that_cannot_be_opened), CASE(names_are_records_of_the_main_table),
      CASE(removing_a_name_as_data_spoils_the_transaction), CASE(flags_are_those_of_the_making),
      CASE(flags_of_the_main_table), CASE(the_main_table_with_many_values),
      CASE(the_main_table_of_two_readers), CASE(a_main_table_whose_kind_is_taken_back),
      CASE(emptied_and_removed), CASE(a_removal_that_is_aborted), CASE(orders_of_the_caller),
      CASE(integers_are_ordered_as_numbers), CASE(the_shape_of_a_table),
      CASE(an_order_told_while_reading), CASE(a_kind_told_while_reading),
      CASE(names_are_told_from_records))
