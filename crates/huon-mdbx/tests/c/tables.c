/* Tables: handles, flags, comparators, names, drops, and the numbers that are kept with them. */
#include "harness.h"

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
};

static struct place writer(void)
{
    struct place in;
    in.env = env_with(MDBX_SAFE_NOSYNC);
    in.txn = WRITE(in.env);
    return in;
}

static void done(struct place in)
{
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
}

static void commit_and_go_on(struct place *in)
{
    OK(mdbx_txn_commit(in->txn));
    in->txn = WRITE(in->env);
}

static int open_table(MDBX_txn *txn, const char *name, unsigned flags)
{
    MDBX_dbi dbi = 0;
    return mdbx_dbi_open(txn, name, DB_FLAGS(flags), &dbi);
}

static unsigned flags_of(MDBX_txn *txn, MDBX_dbi dbi)
{
    unsigned flags = 0;
    OK(mdbx_dbi_flags(txn, dbi, &flags));
    return flags;
}

static void made_and_opened(void)
{
    struct place in = writer();
    MDBX_dbi dbi;
    EXPECT_RC(open_table(in.txn, "t", 0), MDBX_NOTFOUND);
    dbi = table(in.txn, "t", MDBX_CREATE);
    EXPECT(dbi > 1);
    EXPECT_NUM(table(in.txn, "t", 0), dbi); /* the same name, the same handle */
    EXPECT_NUM(table(in.txn, "t", MDBX_CREATE), dbi);
    OK(put(in.txn, dbi, "k", "v", 0));
    commit_and_go_on(&in);
    EXPECT_GET(in.txn, dbi, "k", "v"); /* it is the environment's now */
    EXPECT_NUM(table(in.txn, "t", 0), dbi);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in = writer();
    EXPECT_GET(in.txn, table(in.txn, "t", 0), "k", "v");
    done(in);
}

static void the_main_table(void)
{
    struct place in = writer();
    MDBX_dbi main_table = table(in.txn, NULL, 0), named;
    EXPECT_NUM(main_table, 1);
    OK(put(in.txn, main_table, "plain", "v", 0));
    named = table(in.txn, "named", MDBX_CREATE);
    EXPECT_NUM(entries(in.txn, main_table), 2); /* a name is a key there */
    OK(get(in.txn, main_table, "named"));
    EXPECT_RC(put(in.txn, main_table, "named", "v", 0), MDBX_INCOMPATIBLE);
    EXPECT_RC(open_table(in.txn, "plain", 0), MDBX_INCOMPATIBLE);
    OK(put(in.txn, named, "k", "v", 0));
    EXPECT_GET(in.txn, main_table, "plain", "v");
    done(in);
}

static void a_name_is_not_deleted_as_a_key(void)
{
    struct place in = writer();
    MDBX_dbi main_table = table(in.txn, NULL, 0);
    table(in.txn, "named", MDBX_CREATE);
    commit_and_go_on(&in);
    EXPECT_RC(del(in.txn, main_table, "named", NULL), MDBX_INCOMPATIBLE);
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    OK(open_table(in.txn, "named", 0));
    done(in);
}

static void a_main_table_of_another_kind(void)
{
    struct place in = writer();
    MDBX_dbi main_table = table(in.txn, NULL, MDBX_CREATE | MDBX_DUPSORT);
    EXPECT_NUM(flags_of(in.txn, main_table), MDBX_DUPSORT);
    OK(put(in.txn, main_table, "k", "2", 0));
    OK(put(in.txn, main_table, "k", "1", 0));
    EXPECT_NUM(entries(in.txn, main_table), 2);
    EXPECT_RC(open_table(in.txn, "named", MDBX_CREATE), MDBX_INCOMPATIBLE);
    done(in);
}

static void the_kind_of_an_empty_main_table(void)
{
    struct place in = writer();
    MDBX_dbi main_table;
    uint64_t number = 7;
    MDBX_val key = bytes(&number, sizeof number), data = text("seven");
    EXPECT_RC(open_table(in.txn, NULL, MDBX_REVERSEKEY), MDBX_INCOMPATIBLE);
    main_table = table(in.txn, NULL, MDBX_CREATE | MDBX_INTEGERKEY);
    EXPECT_NUM(flags_of(in.txn, main_table), MDBX_INTEGERKEY);
    EXPECT_RC(open_table(in.txn, "named", MDBX_CREATE), MDBX_INCOMPATIBLE);
    OK(mdbx_put(in.txn, main_table, &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in = writer();
    main_table = table(in.txn, NULL, 0);
    EXPECT_NUM(flags_of(in.txn, main_table), MDBX_INTEGERKEY); /* which is kept */
    OK(mdbx_get(in.txn, main_table, &key, &data));
    EXPECT_TEXT(data, "seven");
    EXPECT_RC(open_table(in.txn, NULL, MDBX_DUPSORT), MDBX_INCOMPATIBLE);
    done(in);
}

static void names_of_all_lengths(void)
{
    struct place in = writer();
    char name[5001];
    memset(name, 'n', 5000);
    name[5000] = 0;
    EXPECT_RC(open_table(in.txn, name, MDBX_CREATE), MDBX_EINVAL);
    name[1980] = 0;
    OK(put(in.txn, table(in.txn, name, MDBX_CREATE), "k", "long", 0));
    if (OURS) /* whose tables have names */
        EXPECT_RC(open_table(in.txn, "", MDBX_CREATE), MDBX_EINVAL);
    else
        OK(put(in.txn, table(in.txn, "", MDBX_CREATE), "k", "empty", 0));
    commit_and_go_on(&in);
    EXPECT_GET(in.txn, table(in.txn, name, 0), "k", "long");
    if (!OURS) EXPECT_GET(in.txn, table(in.txn, "", 0), "k", "empty");
    done(in);
}

/* Handles of what was made in a transaction that ends in nothing. */
static void handles_of_an_abort(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE), there;
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    EXPECT_RC(put(in.txn, dbi, "k", "v", 0), MDBX_BAD_DBI);
    there = table(in.txn, "there", MDBX_CREATE);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in = writer();
    there = table(in.txn, "there", 0); /* it was there before */
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    OK(put(in.txn, there, "k", "v", 0));
    done(in);
}

static void opened_while_reading(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    OK(put(in.txn, dbi, "k", "v", 0));
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in.env = env_with(MDBX_SAFE_NOSYNC);
    in.txn = READ(in.env);
    EXPECT_RC(open_table(in.txn, "none", 0), MDBX_NOTFOUND);
    EXPECT_RC(open_table(in.txn, "none", MDBX_CREATE), MDBX_EACCESS);
    dbi = table(in.txn, "t", 0);
    EXPECT_GET(in.txn, dbi, "k", "v");
    OK(mdbx_txn_abort(in.txn));
    in.txn = READ(in.env);
    EXPECT_GET(in.txn, dbi, "k", "v");
    done(in);
}

static void flags_are_those_it_was_made_with(void)
{
    const unsigned kind = MDBX_DUPSORT | MDBX_DUPFIXED;
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE | kind);
    EXPECT_NUM(flags_of(in.txn, dbi), kind);
    OK(put(in.txn, dbi, "k", "vv", 0));
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in = writer();
    EXPECT_RC(open_table(in.txn, "t", MDBX_DUPSORT), MDBX_INCOMPATIBLE);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT), MDBX_INCOMPATIBLE);
    EXPECT_RC(open_table(in.txn, "t", MDBX_INTEGERKEY), MDBX_INCOMPATIBLE);
    OK(open_table(in.txn, "t", kind));
    OK(open_table(in.txn, "t", 0)); /* whatever it has */
    dbi = table(in.txn, "t", MDBX_DB_ACCEDE);
    EXPECT_NUM(flags_of(in.txn, dbi), kind);
    done(in);
}

static void an_empty_table_takes_on_others(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in = writer();
    EXPECT_RC(open_table(in.txn, "t", MDBX_DUPSORT), MDBX_INCOMPATIBLE);
    dbi = table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT);
    EXPECT_NUM(flags_of(in.txn, dbi), MDBX_DUPSORT);
    OK(put(in.txn, dbi, "k", "1", 0));
    OK(put(in.txn, dbi, "k", "2", 0));
    EXPECT_NUM(entries(in.txn, dbi), 2);
    commit_and_go_on(&in);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | MDBX_REVERSEKEY), MDBX_INCOMPATIBLE);
    done(in);
}

static void flags_that_are_none(void)
{
    struct place in = writer();
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | 0x1000), MDBX_EINVAL);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | MDBX_DUPFIXED), MDBX_EINVAL);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | MDBX_INTEGERDUP), MDBX_EINVAL);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE | MDBX_REVERSEDUP), MDBX_EINVAL);
    EXPECT_RC(mdbx_dbi_open(in.txn, "t", MDBX_CREATE, NULL), MDBX_EINVAL);
    done(in);
}

/* What a table is to a transaction. */
static void states(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    unsigned flags = 9, state = 0;
    OK(mdbx_dbi_flags_ex(in.txn, dbi, &flags, &state));
    EXPECT_NUM(flags, 0);
    EXPECT(state & MDBX_DBI_CREAT);
    commit_and_go_on(&in);
    OK(put(in.txn, dbi, "k", "v", 0));
    OK(mdbx_dbi_flags_ex(in.txn, dbi, &flags, &state));
    EXPECT(state & MDBX_DBI_DIRTY);
    EXPECT(!(state & MDBX_DBI_CREAT));
    commit_and_go_on(&in);
    OK(get(in.txn, dbi, "k"));
    OK(mdbx_dbi_flags_ex(in.txn, dbi, &flags, &state));
    EXPECT(!(state & (MDBX_DBI_DIRTY | MDBX_DBI_CREAT)));
    EXPECT_RC(mdbx_dbi_flags_ex(in.txn, dbi, NULL, &state), MDBX_EINVAL);
    EXPECT_RC(mdbx_dbi_flags_ex(in.txn, dbi, &flags, NULL), MDBX_EINVAL);
    EXPECT_RC(mdbx_dbi_flags(in.txn, 77, &flags), MDBX_BAD_DBI);
    done(in);
}

static void as_many_as_were_allowed_for(void)
{
    struct place in;
    MDBX_dbi limit = 0;
    in.env = NULL;
    OK(mdbx_env_create(&in.env));
    OK(mdbx_env_open(in.env, "./db", MDBX_SAFE_NOSYNC, 0644));
    in.txn = WRITE(in.env);
    EXPECT_RC(open_table(in.txn, "t", MDBX_CREATE), MDBX_DBS_FULL); /* none, unless asked for */
    OK(mdbx_txn_abort(in.txn));
    EXPECT_RC(mdbx_env_set_maxdbs(in.env, 3), MDBX_EPERM); /* too late */
    OK(mdbx_env_close(in.env));
    OK(mdbx_env_create(&in.env));
    OK(mdbx_env_set_maxdbs(in.env, 2));
    OK(mdbx_env_get_maxdbs(in.env, &limit));
    EXPECT_NUM(limit, 2);
    OK(mdbx_env_open(in.env, "./db", MDBX_SAFE_NOSYNC, 0644));
    in.txn = WRITE(in.env);
    OK(open_table(in.txn, "a", MDBX_CREATE));
    OK(open_table(in.txn, "b", MDBX_CREATE));
    EXPECT_RC(open_table(in.txn, "c", MDBX_CREATE), MDBX_DBS_FULL);
    done(in);
}

static void closed_and_opened_again(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    OK(put(in.txn, dbi, "k", "v", 0));
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_dbi_close(in.env, dbi));
    EXPECT_RC(mdbx_dbi_close(in.env, dbi), MDBX_BAD_DBI);
    EXPECT_RC(mdbx_dbi_close(in.env, 99), MDBX_BAD_DBI);
    in.txn = WRITE(in.env);
    EXPECT_RC(get(in.txn, dbi, "k"), MDBX_BAD_DBI);
    dbi = table(in.txn, "t", 0);
    EXPECT_GET(in.txn, dbi, "k", "v");
    done(in);
}

static void emptied_and_removed(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT), main_table;
    OK(put(in.txn, dbi, "k", "1", 0));
    OK(put(in.txn, dbi, "k", "2", 0));
    OK(mdbx_drop(in.txn, dbi, false));
    EXPECT_NUM(entries(in.txn, dbi), 0);
    EXPECT_NUM(flags_of(in.txn, dbi), MDBX_DUPSORT); /* it stays as it was */
    OK(put(in.txn, dbi, "k", "3", 0));
    commit_and_go_on(&in);
    OK(mdbx_drop(in.txn, dbi, true));
    EXPECT_RC(get(in.txn, dbi, "k"), MDBX_BAD_DBI);
    EXPECT_RC(open_table(in.txn, "t", 0), MDBX_NOTFOUND);
    main_table = table(in.txn, NULL, 0);
    EXPECT_NUM(entries(in.txn, main_table), 0);
    OK(put(in.txn, main_table, "plain", "v", 0));
    OK(mdbx_drop(in.txn, main_table, true)); /* emptied alone */
    EXPECT_NUM(entries(in.txn, main_table), 0);
    OK(put(in.txn, main_table, "plain", "v", 0));
    done(in);
}

static void a_drop_that_is_aborted(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    OK(put(in.txn, dbi, "k", "v", 0));
    commit_and_go_on(&in);
    OK(mdbx_drop(in.txn, dbi, true));
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    EXPECT_RC(get(in.txn, dbi, "k"), MDBX_BAD_DBI); /* the handle is closed all the same */
    dbi = table(in.txn, "t", 0);
    EXPECT_GET(in.txn, dbi, "k", "v");
    OK(mdbx_drop(in.txn, dbi, true));
    dbi = table(in.txn, "t", MDBX_CREATE); /* another of that name */
    EXPECT_NUM(entries(in.txn, dbi), 0);
    done(in);
}

static void a_number_of_each_table(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    uint64_t number = 99;
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 0));
    EXPECT_NUM(number, 0);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 5)); /* the one before */
    EXPECT_NUM(number, 0);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 1));
    EXPECT_NUM(number, 5);
    commit_and_go_on(&in);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 100));
    EXPECT_NUM(number, 6);
    OK(mdbx_txn_abort(in.txn));
    in.txn = WRITE(in.env);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 0));
    EXPECT_NUM(number, 6);
    YES(mdbx_dbi_sequence(in.txn, dbi, &number, UINT64_MAX - 5)); /* it would be too much */
    EXPECT_NUM(number, 6);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, UINT64_MAX - 6));
    YES(mdbx_dbi_sequence(in.txn, dbi, NULL, 1));
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    OK(mdbx_dbi_sequence(in.txn, dbi, &number, 0));
    EXPECT(number == UINT64_MAX);
    EXPECT_RC(mdbx_dbi_sequence(in.txn, dbi, &number, 1), MDBX_EACCESS);
    done(in);
}

static void shapes(void)
{
    const unsigned count = scaled(3000);
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "t", MDBX_CREATE);
    MDBX_val large = filled(20000, 'x'), key = text("large");
    MDBX_stat stat = shape(in.txn, dbi);
    uint64_t id = mdbx_txn_id(in.txn);
    unsigned i;
    EXPECT_NUM(stat.ms_psize, 4096);
    EXPECT_NUM(stat.ms_depth, 0);
    EXPECT_NUM(stat.ms_entries, 0);
    EXPECT_NUM(stat.ms_leaf_pages + stat.ms_branch_pages + stat.ms_overflow_pages, 0);
    OK(put(in.txn, dbi, "k", "v", 0));
    stat = shape(in.txn, dbi);
    EXPECT_NUM(stat.ms_depth, 1);
    EXPECT_NUM(stat.ms_leaf_pages, 1);
    EXPECT_NUM(stat.ms_branch_pages, 0);
    OK(mdbx_put(in.txn, dbi, &key, &large, MDBX_UPSERT));
    EXPECT(shape(in.txn, dbi).ms_overflow_pages >= 5);
    for (i = 0; i < count; i++) {
        MDBX_val k = numbered("k", i);
        OK(mdbx_put(in.txn, dbi, &k, &k, MDBX_UPSERT));
    }
    commit_and_go_on(&in);
    stat = shape(in.txn, dbi);
    EXPECT_NUM(stat.ms_entries, count + 2);
    EXPECT(stat.ms_depth >= 2 && stat.ms_branch_pages >= 1 && stat.ms_leaf_pages >= 2);
    EXPECT_NUM(stat.ms_mod_txnid, id);
    memset(&stat, 0xff, sizeof stat);
    OK(mdbx_dbi_stat(in.txn, dbi, &stat, offsetof(MDBX_stat, ms_mod_txnid))); /* as of old */
    EXPECT_NUM(stat.ms_entries, count + 2);
    EXPECT(stat.ms_mod_txnid == UINT64_MAX);
    EXPECT_RC(mdbx_dbi_stat(in.txn, dbi, &stat, 8), MDBX_EINVAL);
    EXPECT_RC(mdbx_dbi_stat(in.txn, dbi, NULL, sizeof stat), MDBX_EINVAL);
    EXPECT_RC(mdbx_dbi_stat(in.txn, 99, &stat, sizeof stat), MDBX_BAD_DBI);
    done(in);
}

static void how_values_lie(void)
{
    struct place in = writer();
    MDBX_dbi plain = table(in.txn, "plain", MDBX_CREATE);
    MDBX_dbi many = table(in.txn, "many", MDBX_CREATE | MDBX_DUPSORT);
    uint32_t mask = 99;
    unsigned i;
    YES(mdbx_dbi_dupsort_depthmask(in.txn, plain, &mask));
    OK(mdbx_dbi_dupsort_depthmask(in.txn, many, &mask));
    EXPECT_NUM(mask, 0);
    OK(put(in.txn, many, "one", "1", 0));
    OK(mdbx_dbi_dupsort_depthmask(in.txn, many, &mask));
    EXPECT_NUM(mask, 1);
    OK(put(in.txn, many, "two", "1", 0));
    OK(put(in.txn, many, "two", "2", 0));
    OK(mdbx_dbi_dupsort_depthmask(in.txn, many, &mask));
    EXPECT_NUM(mask, 1 | 2);
    for (i = 0; i < 2000; i++) {
        MDBX_val key = text("tree"), data = numbered("v", i);
        OK(mdbx_put(in.txn, many, &key, &data, MDBX_UPSERT));
    }
    OK(mdbx_dbi_dupsort_depthmask(in.txn, many, &mask));
    EXPECT_NUM(mask, 1 | 2 | 1 << 2);
    EXPECT_RC(mdbx_dbi_dupsort_depthmask(in.txn, many, NULL), MDBX_EINVAL);
    done(in);
}

static int by_last_byte(const MDBX_val *a, const MDBX_val *b)
{
    const unsigned char *x = (const unsigned char *)a->iov_base;
    const unsigned char *y = (const unsigned char *)b->iov_base;
    int order = (int)x[a->iov_len - 1] - (int)y[b->iov_len - 1];
    return order ? order : (int)a->iov_len - (int)b->iov_len;
}

static void an_order_of_the_programs(void)
{
    struct place in = writer();
    MDBX_dbi dbi = 0;
    MDBX_cursor *cur;
    OK(mdbx_dbi_open_ex(in.txn, "t", DB_FLAGS(MDBX_CREATE | MDBX_DUPSORT), &dbi, by_last_byte,
                        by_last_byte));
    OK(put(in.txn, dbi, "a9", "1", 0));
    OK(put(in.txn, dbi, "b1", "1z", 0));
    OK(put(in.txn, dbi, "b1", "2a", 0));
    cur = cursor(in.txn, dbi);
    EXPECT_AT(cur, MDBX_NEXT, "b1", "2a");
    EXPECT_AT(cur, MDBX_NEXT, "b1", "1z");
    EXPECT_AT(cur, MDBX_NEXT, "a9", "1");
    mdbx_cursor_close(cur);
    EXPECT_NUM(table(in.txn, "t", 0), dbi); /* the order stays */
    commit_and_go_on(&in);
    EXPECT_GET(in.txn, dbi, "b1", "2a");
    EXPECT_RC(mdbx_dbi_open_ex(in.txn, "t", DB_FLAGS(MDBX_DUPSORT), &dbi,
                               mdbx_get_keycmp(MDBX_DB_DEFAULTS), by_last_byte),
              MDBX_EINVAL);
    done(in);
}

static void orders(void)
{
    struct place in = writer();
    MDBX_dbi plain = table(in.txn, "plain", MDBX_CREATE);
    MDBX_dbi back =
        table(in.txn, "back", MDBX_CREATE | MDBX_REVERSEKEY | MDBX_DUPSORT | MDBX_REVERSEDUP);
    MDBX_val a = text("az"), b = text("ba"), c = text("a");
    EXPECT(mdbx_cmp(in.txn, plain, &a, &b) < 0);
    EXPECT(mdbx_cmp(in.txn, plain, &b, &a) > 0);
    EXPECT(mdbx_cmp(in.txn, plain, &a, &a) == 0);
    EXPECT(mdbx_cmp(in.txn, plain, &c, &a) < 0);
    EXPECT(mdbx_dcmp(in.txn, plain, &a, &a) == 0);
    EXPECT(mdbx_cmp(in.txn, back, &a, &b) > 0);
    EXPECT(mdbx_dcmp(in.txn, back, &a, &b) > 0);
    EXPECT(mdbx_get_keycmp(MDBX_REVERSEKEY)(&a, &b) > 0);
    EXPECT(mdbx_get_datacmp(MDBX_DUPSORT)(&a, &b) < 0);
    done(in);
}

static void all_tables_together(void)
{
    struct place in = writer();
    MDBX_dbi one = table(in.txn, "one", MDBX_CREATE), two = table(in.txn, "two", MDBX_CREATE);
    MDBX_stat stat, inside;
    OK(put(in.txn, one, "a", "1", 0));
    OK(put(in.txn, one, "b", "2", 0));
    OK(put(in.txn, two, "c", "3", 0));
    commit_and_go_on(&in);
    OK(put(in.txn, two, "d", "4", 0));
    OK(mdbx_env_stat_ex(in.env, in.txn, &inside, sizeof inside));
    OK(mdbx_txn_abort(in.txn));
    OK(mdbx_env_stat(in.env, &stat, sizeof stat));
    EXPECT_NUM(stat.ms_psize, 4096);
    EXPECT(stat.ms_entries >= 5); /* three records and two names */
    EXPECT(inside.ms_entries > stat.ms_entries);
    EXPECT(stat.ms_leaf_pages >= 3);
    EXPECT_RC(mdbx_env_stat(in.env, &stat, 3), MDBX_EINVAL);
    in.txn = READ(in.env);
    OK(mdbx_env_stat_ex(in.env, in.txn, &inside, sizeof inside));
    EXPECT_NUM(inside.ms_entries, stat.ms_entries);
    done(in);
}

#if OURS
struct seen {
    int count;
    char names[64];
};

static int see(void *ctx, const MDBX_txn *txn, const MDBX_val *name, MDBX_db_flags_t flags,
               const MDBX_stat *stat, MDBX_dbi dbi)
{
    struct seen *seen = (struct seen *)ctx;
    seen->count++;
    strncat(seen->names, (const char *)name->iov_base, name->iov_len);
    EXPECT(txn != NULL && stat->ms_psize == 4096 && dbi > 1);
    EXPECT((flags & MDBX_DUPSORT) == (name->iov_len == 2 ? MDBX_DUPSORT : 0));
    return seen->count == 3 ? 1234 : 0;
}

/* Of what came to the interface later. */
static void listed(void)
{
    struct place in = writer();
    struct seen seen = {0, ""};
    table(in.txn, "b", MDBX_CREATE);
    table(in.txn, "aa", MDBX_CREATE | MDBX_DUPSORT);
    OK(put(in.txn, table(in.txn, NULL, 0), "plain", "v", 0));
    OK(mdbx_enumerate_tables(in.txn, see, &seen));
    EXPECT_NUM(seen.count, 2);
    EXPECT(strcmp(seen.names, "aab") == 0);
    table(in.txn, "c", MDBX_CREATE);
    seen.count = 0;
    EXPECT_RC(mdbx_enumerate_tables(in.txn, see, &seen), 1234);
    done(in);
}

static void given_another_name(void)
{
    struct place in = writer();
    MDBX_dbi dbi = table(in.txn, "old", MDBX_CREATE), other = 0;
    MDBX_val name = bytes("with\0zero", 9);
    OK(put(in.txn, dbi, "k", "v", 0));
    table(in.txn, "taken", MDBX_CREATE);
    EXPECT_RC(mdbx_dbi_rename(in.txn, dbi, "taken"), MDBX_KEYEXIST);
    OK(mdbx_dbi_rename(in.txn, dbi, "new"));
    EXPECT_GET(in.txn, dbi, "k", "v");
    EXPECT_RC(open_table(in.txn, "old", 0), MDBX_NOTFOUND);
    EXPECT_NUM(table(in.txn, "new", 0), dbi);
    OK(mdbx_dbi_rename2(in.txn, dbi, &name));
    OK(mdbx_dbi_open2(in.txn, &name, MDBX_DB_DEFAULTS, &other));
    EXPECT_NUM(other, dbi);
    commit_and_go_on(&in);
    OK(mdbx_dbi_open2(in.txn, &name, MDBX_DB_DEFAULTS, &other));
    EXPECT_GET(in.txn, other, "k", "v");
    done(in);
}
#else
static void listed(void)
{
    ours_alone();
}

static void given_another_name(void)
{
    ours_alone();
}
#endif

static int shorter(const MDBX_val *a, const MDBX_val *b)
{
    return a->iov_len < b->iov_len ? -1 : a->iov_len > b->iov_len;
}

/* An order that a reader gives of an empty table holds for those that write to it later. */
static void an_order_given_while_reading(void)
{
    MDBX_env *env = env_with(MDBX_UTTERLY_NOSYNC);
    MDBX_txn *txn = WRITE(env);
    MDBX_dbi dbi;
    MDBX_cursor *cur;
    table(txn, "t", MDBX_CREATE | MDBX_DUPSORT);
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
    env = env_with(MDBX_UTTERLY_NOSYNC);
    txn = READ(env);
    OK(mdbx_dbi_open_ex(txn, "t", MDBX_DUPSORT, &dbi, shorter, NULL));
    EXPECT_RC(get(txn, dbi, "k"), MDBX_NOTFOUND);
    OK(mdbx_txn_commit(txn));
    txn = WRITE(env);
    OK(put(txn, dbi, "aaa", "1", 0));
    OK(put(txn, dbi, "zz", "1", 0));
    cur = cursor(txn, dbi);
    EXPECT_AT(cur, MDBX_FIRST, "zz", "1");
    EXPECT_AT(cur, MDBX_NEXT, "aaa", "1");
    mdbx_cursor_close(cur);
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
}

CASES(CASE(made_and_opened), CASE(the_main_table), CASE(a_name_is_not_deleted_as_a_key),
      CASE(a_main_table_of_another_kind), CASE(the_kind_of_an_empty_main_table),
      CASE(names_of_all_lengths), CASE(handles_of_an_abort), CASE(opened_while_reading),
      CASE(flags_are_those_it_was_made_with), CASE(an_empty_table_takes_on_others),
      CASE(flags_that_are_none), CASE(states), CASE(as_many_as_were_allowed_for),
      CASE(closed_and_opened_again), CASE(emptied_and_removed), CASE(a_drop_that_is_aborted),
      CASE(a_number_of_each_table), CASE(shapes), CASE(how_values_lie),
      CASE(an_order_of_the_programs), CASE(orders), CASE(all_tables_together), CASE(listed),
      CASE(given_another_name),
      CASE(an_order_given_while_reading))
