/* What no caller should do. LMDB checks some of it; the rest is of Huon's library alone. */
#include "harness.h"

struct place {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cur;
};

static struct place in_table(unsigned flags)
{
    struct place in;
    in.env = env_with(MDB_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDB_CREATE | flags);
    in.cur = cursor(in.txn, in.dbi);
    OK(put(in.txn, in.dbi, "k", "vvvv", 0));
    return in;
}

static void done(struct place in)
{
    mdb_cursor_close(in.cur);
    OK(mdb_txn_commit(in.txn));
    mdb_env_close(in.env);
}

static void nothing_instead_of_something(void)
{
    struct place in = in_table(0);
    MDB_val key = text("k"), data;
    MDB_stat stat;
    MDB_cursor *cur;
    size_t count;
    EXPECT_RC(mdb_get(NULL, in.dbi, &key, &data), EINVAL);
    EXPECT_RC(mdb_get(in.txn, in.dbi, NULL, &data), EINVAL);
    EXPECT_RC(mdb_get(in.txn, in.dbi, &key, NULL), EINVAL);
    EXPECT_RC(mdb_put(NULL, in.dbi, &key, &key, 0), EINVAL);
    EXPECT_RC(mdb_put(in.txn, in.dbi, NULL, &key, 0), EINVAL);
    EXPECT_RC(mdb_put(in.txn, in.dbi, &key, NULL, 0), EINVAL);
    EXPECT_RC(mdb_del(NULL, in.dbi, &key, NULL), EINVAL);
    EXPECT_RC(mdb_del(in.txn, in.dbi, NULL, NULL), EINVAL);
    EXPECT_RC(mdb_cursor_get(NULL, &key, &data, MDB_FIRST), EINVAL);
    EXPECT_RC(mdb_cursor_get(in.cur, NULL, &data, MDB_SET), EINVAL);
    EXPECT_RC(mdb_cursor_count(NULL, &count), EINVAL);
    EXPECT_RC(mdb_cursor_open(in.txn, in.dbi, NULL), EINVAL);
    EXPECT_RC(mdb_cursor_open(NULL, in.dbi, &cur), EINVAL);
    EXPECT_RC(mdb_stat(in.txn, in.dbi, NULL), EINVAL);
    EXPECT_RC(mdb_stat(NULL, in.dbi, &stat), EINVAL);
    EXPECT_RC(mdb_env_stat(NULL, &stat), EINVAL);
    EXPECT_RC(mdb_env_stat(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_info(NULL, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_flags(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_path(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_fd(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_maxreaders(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_set_userctx(NULL, NULL), EINVAL);
    EXPECT(mdb_env_get_userctx(NULL) == NULL);
    EXPECT(mdb_reader_list(in.env, NULL, NULL) != 0);
    EXPECT_RC(mdb_reader_check(NULL, NULL), EINVAL);
    mdb_cursor_close(NULL);
    done(in);
}

static void nothing_where_lmdb_does_not_look(void)
{
    struct place in;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = text("k");
    ours_alone();
    in = in_table(0);
    EXPECT_RC(mdb_env_create(NULL), EINVAL);
    EXPECT_RC(mdb_env_open(NULL, ".", 0, 0644), EINVAL);
    EXPECT_RC(mdb_txn_begin(NULL, NULL, 0, &txn), EINVAL);
    EXPECT_RC(mdb_txn_begin(in.env, NULL, MDB_RDONLY, NULL), EINVAL);
    EXPECT_RC(mdb_dbi_open(NULL, NULL, 0, &dbi), EINVAL);
    EXPECT_RC(mdb_dbi_open(in.txn, NULL, 0, NULL), EINVAL);
    EXPECT_RC(mdb_cursor_put(NULL, &key, &key, 0), EINVAL);
    EXPECT_RC(mdb_cursor_put(in.cur, NULL, &key, 0), EINVAL);
    EXPECT_RC(mdb_cursor_put(in.cur, &key, NULL, 0), EINVAL);
    EXPECT_RC(mdb_cursor_del(NULL, 0), EINVAL);
    EXPECT_RC(mdb_env_sync(NULL, 1), EINVAL);
    EXPECT_RC(mdb_env_copy(in.env, NULL), EINVAL);
    EXPECT_RC(mdb_env_set_mapsize(NULL, 1 << 20), EINVAL);
    EXPECT_RC(mdb_env_set_flags(NULL, MDB_NOSYNC, 1), EINVAL);
    EXPECT(mdb_cursor_txn(NULL) == NULL);
    done(in);
}

static void handles_that_cannot_be_closed(void)
{
    struct place in = in_table(0);
    mdb_dbi_close(in.env, 0);
    mdb_dbi_close(in.env, 1);
    if (OURS) mdb_dbi_close(in.env, 1000000);
    EXPECT_GET(in.txn, in.dbi, "k", "vvvv");
    OK(put(in.txn, 1, "x", "y", 0));
    done(in);
}

static void an_environment_that_is_not_open(void)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_stat stat;
    MDB_envinfo info;
    ours_alone();
    OK(mdb_env_create(&env));
    EXPECT_RC(mdb_txn_begin(env, NULL, 0, &txn), EINVAL);
    EXPECT_RC(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), EINVAL);
    EXPECT_RC(mdb_env_stat(env, &stat), EINVAL);
    EXPECT_RC(mdb_env_info(env, &info), EINVAL);
    EXPECT_RC(mdb_env_sync(env, 1), EINVAL);
    EXPECT_RC(mdb_env_copy(env, "copy"), EINVAL);
    EXPECT_RC(mdb_env_open(env, "nowhere", 0, 0644), ENOENT);
    EXPECT_RC(mdb_txn_begin(env, NULL, 0, &txn), EINVAL);
    mdb_env_close(env);
}

static void values_of_a_wrong_length(void)
{
    struct place in;
    MDB_dbi numbers;
    MDB_val three = text("abc"), four = text("abcd"), eight = text("abcdefgh");
    ours_alone();
    in = in_table(MDB_DUPSORT | MDB_DUPFIXED);
    OK(put(in.txn, in.dbi, "k", "wwww", 0));
    EXPECT_RC(put(in.txn, in.dbi, "k", "xxxxx", 0), MDB_BAD_VALSIZE);
    EXPECT_RC(put(in.txn, in.dbi, "k", "xxx", 0), MDB_BAD_VALSIZE);
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    numbers = table(in.txn, "n", MDB_CREATE | MDB_INTEGERKEY);
    EXPECT_RC(mdb_put(in.txn, numbers, &three, &four, 0), MDB_BAD_VALSIZE);
    OK(mdb_put(in.txn, numbers, &four, &four, 0));
    EXPECT_RC(mdb_put(in.txn, numbers, &eight, &four, 0), MDB_BAD_VALSIZE);
    EXPECT_NUM(entries(in.txn, numbers), 1);
    EXPECT_NUM(mdb_cmp(in.txn, numbers, &four, &four), 0);
    EXPECT(mdb_cmp(in.txn, numbers, &three, &eight) != 0);
    done(in);
}

static void room_in_a_table_of_many_values(void)
{
    struct place in;
    MDB_val key = text("k"), data = {8, NULL};
    ours_alone();
    in = in_table(MDB_DUPSORT);
    EXPECT(mdb_put(in.txn, in.dbi, &key, &data, MDB_RESERVE) != 0);
    EXPECT(mdb_cursor_put(in.cur, &key, &data, MDB_RESERVE) != 0);
    mdb_cursor_close(in.cur);
    mdb_txn_abort(in.txn);
    mdb_env_close(in.env);
}

static void one_file_opened_twice(void)
{
    struct place in;
    MDB_env *again;
    MDB_txn *reader;
    ours_alone();
    in = in_table(0);
    OK(mdb_txn_commit(in.txn));
    again = env_with(MDB_NOSYNC);
    reader = READ(in.env);
    in.txn = WRITE(again);
    OK(put(in.txn, table(in.txn, "t", 0), "k", "new", 0));
    OK(mdb_txn_commit(in.txn));
    EXPECT_GET(reader, in.dbi, "k", "vvvv");
    mdb_env_close(again); /* takes no lock of the other away */
    EXPECT_GET(reader, in.dbi, "k", "vvvv");
    mdb_txn_abort(reader);
    in.txn = WRITE(in.env);
    EXPECT_GET(in.txn, in.dbi, "k", "new");
    in.cur = cursor(in.txn, in.dbi);
    done(in);
}

static void a_cursor_of_a_table_that_is_gone(void)
{
    struct place in;
    ours_alone();
    in = in_table(0);
    EXPECT_AT(in.cur, MDB_FIRST, "k", "vvvv");
    OK(mdb_drop(in.txn, in.dbi, 1));
    EXPECT_STEP(in.cur, MDB_GET_CURRENT, EINVAL);
    EXPECT_STEP(in.cur, MDB_FIRST, EINVAL);
    EXPECT_RC(cursor_put(in.cur, "k", "v", 0), EINVAL);
    EXPECT_RC(mdb_cursor_del(in.cur, 0), EINVAL);
    done(in);
}

static void a_comparison_by_numbers_of_other_tables(void)
{
    struct place in;
    MDB_val key = text("k");
    ours_alone();
    in = in_table(0);
    EXPECT_NUM(mdb_cmp(in.txn, 999, &key, &key), 0);
    EXPECT_RC(mdb_set_compare(in.txn, 999, NULL), EINVAL);
    EXPECT_RC(mdb_set_dupsort(in.txn, 999, NULL), EINVAL);
    done(in);
}

CASES(CASE(nothing_instead_of_something), CASE(nothing_where_lmdb_does_not_look),
      CASE(handles_that_cannot_be_closed), CASE(an_environment_that_is_not_open),
      CASE(values_of_a_wrong_length), CASE(room_in_a_table_of_many_values),
      CASE(one_file_opened_twice), CASE(a_cursor_of_a_table_that_is_gone),
      CASE(a_comparison_by_numbers_of_other_tables))
