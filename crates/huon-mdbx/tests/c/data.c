/* Records: put, get, delete and replace, their flags, lengths and limits. */
#include "harness.h"

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
};

/* A writer in a table of this kind. */
static struct place in_table(unsigned flags)
{
    struct place in;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE | flags);
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

static void put_get_and_delete(void)
{
    struct place in = in_table(0);
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "k", "v", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "v");
    OK(put(in.txn, in.dbi, "k", "a longer value", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "a longer value");
    OK(put(in.txn, in.dbi, "k", "", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "");
    OK(del(in.txn, in.dbi, "k", NULL));
    EXPECT_RC(del(in.txn, in.dbi, "k", NULL), MDBX_NOTFOUND);
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDBX_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    done(in);
}

static void lengths_of_keys(void)
{
    struct place in = in_table(0);
    size_t key_max = (size_t)mdbx_env_get_maxkeysize_ex(in.env, MDBX_DB_DEFAULTS);
    MDBX_val none = text(""), longest = filled(key_max, 'k'), longer = filled(key_max + 1, 'k');
    MDBX_val data = text("v"), found;
    MDBX_cursor *cur = cursor(in.txn, in.dbi);
    EXPECT_NUM(mdbx_limits_keysize_max(4096, MDBX_DB_DEFAULTS), key_max);
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &longer, &data, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_cursor_put(cur, &longer, &data, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    OK(mdbx_put(in.txn, in.dbi, &longest, &data, MDBX_UPSERT));
    OK(mdbx_get(in.txn, in.dbi, &longest, &found));
    EXPECT_TEXT(found, "v");
    EXPECT_RC(mdbx_get(in.txn, in.dbi, &longer, &found), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_del(in.txn, in.dbi, &longer, NULL), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_cursor_get(cur, &longer, &found, MDBX_SET), MDBX_BAD_VALSIZE);
    EXPECT_RC(mdbx_get(in.txn, in.dbi, &none, &found), MDBX_NOTFOUND);
    OK(mdbx_put(in.txn, in.dbi, &none, &data, MDBX_UPSERT)); /* a key as any other */
    OK(mdbx_get(in.txn, in.dbi, &none, &found));
    EXPECT_TEXT(found, "v");
    EXPECT_AT(cur, MDBX_FIRST, "", "v");
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    OK(mdbx_del(in.txn, in.dbi, &none, NULL));
    mdbx_cursor_close(cur);
    done(in);
}

static void values_of_every_size(void)
{
    struct place in = in_table(0);
    size_t size;
    for (size = 0; size < 70000; size = size * 5 / 4 + 1) {
        MDBX_val key = numbered("k", (unsigned)size), data = filled(size, (int)size), found;
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
        OK(mdbx_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.iov_len, size);
        EXPECT(memcmp(found.iov_base, data.iov_base, size) == 0);
        free_room(data.iov_base);
    }
    done(in);
}

static void flags_of_a_put(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data = text("new");
    OK(put(in.txn, in.dbi, "k", "old", MDBX_NOOVERWRITE));
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_NOOVERWRITE), MDBX_KEYEXIST);
    EXPECT_TEXT(data, "old");
    EXPECT_GET(in.txn, in.dbi, "k", "old");
    OK(put(in.txn, in.dbi, "k", "newer", MDBX_NODUPDATA)); /* of no effect in a plain table */
    EXPECT_GET(in.txn, in.dbi, "k", "newer");
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", MDBX_MULTIPLE), MDBX_INCOMPATIBLE);
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", 0x1000000), MDBX_EINVAL);
    EXPECT_GET(in.txn, in.dbi, "k", "newer");
    EXPECT_RC(put(in.txn, in.dbi, "other", "x", MDBX_CURRENT), MDBX_NOTFOUND);
    OK(put(in.txn, in.dbi, "k", "current", MDBX_CURRENT));
    EXPECT_GET(in.txn, in.dbi, "k", "current");
    OK(put(in.txn, in.dbi, "k", "all", MDBX_ALLDUPS));
    EXPECT_GET(in.txn, in.dbi, "k", "all");
    EXPECT_NUM(entries(in.txn, in.dbi), 1);
    done(in);
}

static void room_is_reserved(void)
{
    static const size_t sizes[] = {0, 1, 100, 2000, 5000, 100000};
    struct place in = in_table(0);
    unsigned i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        MDBX_val key = numbered("k", i), data = bytes(NULL, sizes[i]), found;
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_RESERVE));
        EXPECT_NUM(data.iov_len, sizes[i]);
        if (sizes[i]) memset(data.iov_base, 'a' + (int)i, sizes[i]);
        OK(mdbx_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.iov_len, sizes[i]);
    }
    commit_and_go_on(&in);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        MDBX_val key = numbered("k", i), found, wanted = filled(sizes[i], 'a' + (int)i);
        OK(mdbx_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.iov_len, sizes[i]);
        EXPECT(memcmp(found.iov_base, wanted.iov_base, sizes[i]) == 0);
    }
    {
        MDBX_val key = numbered("k", 2), data = bytes(NULL, 8);
        EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &data, PUT_FLAGS(MDBX_RESERVE | MDBX_NOOVERWRITE)),
                  MDBX_KEYEXIST);
        EXPECT_NUM(data.iov_len, sizes[2]);
        data = bytes(NULL, 8);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_RESERVE)); /* over what is there */
        memcpy(data.iov_base, "12345678", 8);
        EXPECT_GET(in.txn, in.dbi, "k00002", "12345678");
    }
    done(in);
}

static void room_is_of_plain_tables(void)
{
    struct place in = in_table(MDBX_DUPSORT);
    EXPECT_RC(put(in.txn, in.dbi, "k", "v", MDBX_RESERVE), MDBX_INCOMPATIBLE);
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    done(in);
}

static void appended_in_order(void)
{
    const unsigned count = scaled(5000);
    struct place in = in_table(0);
    MDBX_val key = nothing(), data = text("v");
    unsigned i;
    for (i = 0; i < count; i++) {
        key = numbered("k", i);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_APPEND));
    }
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_RC(put(in.txn, in.dbi, "a", "v", MDBX_APPEND), MDBX_EKEYMISMATCH);
    EXPECT_RC(get(in.txn, in.dbi, "a"), MDBX_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), count);
    OK(put(in.txn, in.dbi, "l", "v", MDBX_APPEND));
    done(in);
}

static void deleted_with_its_value(void)
{
    struct place in = in_table(0);
    OK(put(in.txn, in.dbi, "k", "v", 0));
    EXPECT_RC(del(in.txn, in.dbi, "k", "another"), MDBX_NOTFOUND);
    EXPECT_GET(in.txn, in.dbi, "k", "v");
    OK(del(in.txn, in.dbi, "k", "v"));
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDBX_NOTFOUND);
    done(in);
}

static void the_next_greater_one(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("b"), data = nothing();
    size_t count = 9;
    OK(put(in.txn, in.dbi, "b", "2", 0));
    OK(put(in.txn, in.dbi, "d", "4", 0));
    OK(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data));
    EXPECT_TEXT(key, "b");
    EXPECT_TEXT(data, "2");
    key = text("c");
    YES(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data));
    EXPECT_TEXT(key, "d");
    EXPECT_TEXT(data, "4");
    key = text("e");
    EXPECT_RC(mdbx_get_equal_or_great(in.txn, in.dbi, &key, &data), MDBX_NOTFOUND);
    key = text("d");
    OK(mdbx_get_ex(in.txn, in.dbi, &key, &data, &count));
    EXPECT_NUM(count, 1);
    key = text("c");
    EXPECT_RC(mdbx_get_ex(in.txn, in.dbi, &key, &data, &count), MDBX_NOTFOUND);
    EXPECT_NUM(count, 0);
    done(in);
}

/* Replaces by `data` (NULL: deletes), with room for `room` bytes or an old value to look for. */
static int replace(struct place *in, const char *key, const char *data, const char *old_value,
                   size_t room, unsigned flags, MDBX_val *old)
{
    static char buffer[4096];
    MDBX_val k = text(key), d = data ? text(data) : nothing();
    memset(buffer, '-', sizeof buffer);
    if (old_value) memcpy(buffer, old_value, strlen(old_value));
    *old = bytes(buffer, old_value ? strlen(old_value) : room);
    return mdbx_replace(in->txn, in->dbi, &k, data ? &d : NULL, old, PUT_FLAGS(flags));
}

static void replaced_and_the_old_value_told(void)
{
    struct place in = in_table(0);
    MDBX_val old;
    OK(replace(&in, "k", "1", NULL, 100, MDBX_UPSERT, &old));
    EXPECT_NUM(old.iov_len, 0); /* there was none */
    OK(replace(&in, "k", "2", NULL, 100, MDBX_UPSERT, &old));
    EXPECT_TEXT(old, "1");
    EXPECT_GET(in.txn, in.dbi, "k", "2");
    OK(replace(&in, "k", "three", NULL, 100, MDBX_CURRENT, &old));
    EXPECT_TEXT(old, "2");
    EXPECT_RC(replace(&in, "none", "x", NULL, 100, MDBX_CURRENT, &old), MDBX_NOTFOUND);
    EXPECT_RC(replace(&in, "k", "4", NULL, 100, MDBX_NOOVERWRITE, &old), MDBX_KEYEXIST);
    EXPECT_TEXT(old, "three");
    OK(replace(&in, "new", "n", NULL, 100, MDBX_NOOVERWRITE, &old));
    EXPECT_GET(in.txn, in.dbi, "new", "n");
    YES(replace(&in, "k", "4", NULL, 2, MDBX_UPSERT, &old)); /* too little room */
    EXPECT_NUM(old.iov_len, 5);
    EXPECT_GET(in.txn, in.dbi, "k", "three"); /* and nothing was changed */
    OK(replace(&in, "k", NULL, NULL, 100, MDBX_CURRENT, &old));
    EXPECT_TEXT(old, "three");
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDBX_NOTFOUND);
    EXPECT_RC(replace(&in, "k", NULL, NULL, 100, MDBX_CURRENT, &old), MDBX_NOTFOUND);
    commit_and_go_on(&in);
    OK(replace(&in, "new", "newer", NULL, 100, MDBX_UPSERT, &old)); /* what others can see, too */
    EXPECT_TEXT(old, "n");
    EXPECT_GET(in.txn, in.dbi, "new", "newer");
    done(in);
}

static void one_of_many_is_replaced(void)
{
    struct place in = in_table(MDBX_DUPSORT);
    MDBX_val old;
    OK(put(in.txn, in.dbi, "a", "1", 0));
    OK(put(in.txn, in.dbi, "b", "1", 0));
    OK(put(in.txn, in.dbi, "b", "2", 0));
    OK(put(in.txn, in.dbi, "b", "3", 0));
    EXPECT_RC(replace(&in, "b", "9", NULL, 100, MDBX_CURRENT, &old), MDBX_EMULTIVAL);
    OK(replace(&in, "a", "9", NULL, 100, MDBX_CURRENT, &old)); /* it has one alone */
    EXPECT_TEXT(old, "1");
    EXPECT_GET(in.txn, in.dbi, "a", "9");
    OK(replace(&in, "b", "5", "2", 0, MDBX_CURRENT | MDBX_NOOVERWRITE, &old));
    EXPECT_NUM(entries(in.txn, in.dbi), 4);
    EXPECT_RC(del(in.txn, in.dbi, "b", "2"), MDBX_NOTFOUND);
    EXPECT_RC(replace(&in, "b", "6", "7", 0, MDBX_CURRENT | MDBX_NOOVERWRITE, &old),
              MDBX_NOTFOUND);
    OK(del(in.txn, in.dbi, "b", "5"));
    OK(replace(&in, "b", "0", NULL, 100, MDBX_UPSERT, &old));
    EXPECT_TEXT(old, "1"); /* the first of them */
    EXPECT_NUM(entries(in.txn, in.dbi), 3);
    OK(replace(&in, "b", "7", NULL, 100, MDBX_ALLDUPS, &old));
    EXPECT_TEXT(old, "0");
    EXPECT_NUM(entries(in.txn, in.dbi), 2);
    EXPECT_GET(in.txn, in.dbi, "b", "7");
    done(in);
}

struct kept {
    int calls;
    int answer;
    char text[64];
};

static int keep(void *context, MDBX_val *target, const void *src, size_t count)
{
    struct kept *kept = (struct kept *)context;
    kept->calls++;
    EXPECT(count < sizeof kept->text);
    memcpy(kept->text, src, count);
    *target = bytes(kept->text, count);
    return kept->answer;
}

static void a_function_keeps_the_old_value(void)
{
    struct place in = in_table(0);
    struct kept kept = {0, 0, ""};
    MDBX_val key = text("k"), data = text("new"), old = nothing();
    OK(put(in.txn, in.dbi, "k", "old", 0));
    OK(mdbx_replace_ex(in.txn, in.dbi, &key, &data, &old, MDBX_UPSERT, keep, &kept));
    EXPECT_TEXT(old, "old");
    EXPECT_NUM(kept.calls, 1);
    EXPECT_GET(in.txn, in.dbi, "k", "new");
    kept.answer = MDBX_TOO_LARGE;
    data = text("newer");
    old = nothing();
    EXPECT_RC(mdbx_replace_ex(in.txn, in.dbi, &key, &data, &old, MDBX_UPSERT, keep, &kept),
              MDBX_TOO_LARGE);
    EXPECT_GET(in.txn, in.dbi, "k", "new");
    done(in);
}

static void what_is_handed_in_is_copied(void)
{
    struct place in = in_table(0);
    char key_bytes[] = "key", data_bytes[] = "data";
    MDBX_val key = text(key_bytes), data = text(data_bytes);
    OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    EXPECT(key.iov_base == key_bytes && data.iov_base == data_bytes);
    memset(key_bytes, '-', 3);
    memset(data_bytes, '-', 4);
    EXPECT_GET(in.txn, in.dbi, "key", "data");
    done(in);
}

/* A value may be handed in again if no change can move it away. */
static void whether_a_value_may_be_gone(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), data;
    char mine = 0;
    OK(put(in.txn, in.dbi, "k", "value", 0));
    OK(mdbx_get(in.txn, in.dbi, &key, &data));
    YES(mdbx_is_dirty(in.txn, data.iov_base));
    commit_and_go_on(&in);
    OK(mdbx_get(in.txn, in.dbi, &key, &data));
    NO(mdbx_is_dirty(in.txn, data.iov_base)); /* others can see it, so it stays */
    YES(mdbx_is_dirty(in.txn, &mine));
    OK(put(in.txn, in.dbi, "k", "another", 0));
    EXPECT_TEXT(data, "value");
    OK(mdbx_get(in.txn, in.dbi, &key, &data));
    YES(mdbx_is_dirty(in.txn, data.iov_base));
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    OK(mdbx_get(in.txn, in.dbi, &key, &data));
    NO(mdbx_is_dirty(in.txn, data.iov_base));
    EXPECT_RC(mdbx_is_dirty(in.txn, &mine), MDBX_EINVAL);
    done(in);
}

/* Where nothing changes, there is nothing to be committed. */
static void what_is_there_already(void)
{
    struct place in = in_table(0);
    uint64_t id;
    OK(put(in.txn, in.dbi, "k", "v", 0));
    commit_and_go_on(&in);
    id = mdbx_txn_id(in.txn);
    OK(put(in.txn, in.dbi, "k", "v", 0));
    EXPECT_NUM(mdbx_txn_flags(in.txn) & MDBX_TXN_DIRTY, 0);
    commit_and_go_on(&in);
    EXPECT_NUM(mdbx_txn_id(in.txn), id);
    OK(put(in.txn, in.dbi, "k", "w", 0));
    commit_and_go_on(&in);
    EXPECT_NUM(mdbx_txn_id(in.txn), id + 1);
    done(in);
}

static void values_stay_where_they_are_while_reading(void)
{
    struct place in = in_table(0);
    MDBX_val key = text("k"), first, again, large = filled(20000, 'z');
    MDBX_txn *reader;
    OK(put(in.txn, in.dbi, "k", "value", 0));
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
    in.env = env_with(MDBX_UTTERLY_NOSYNC | MDBX_NOTLS);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", 0);
    OK(mdbx_txn_commit(in.txn));
    reader = READ(in.env);
    OK(mdbx_get(reader, in.dbi, &key, &first));
    OK(mdbx_get(reader, in.dbi, &key, &again));
    EXPECT(first.iov_base == again.iov_base);
    OK(mdbx_txn_abort(reader));
    in.txn = WRITE(in.env);
    OK(mdbx_put(in.txn, in.dbi, &key, &large, MDBX_UPSERT));
    done(in);
}

static void keys_as_numbers(void)
{
    const unsigned count = scaled(3000);
    struct place in = in_table(MDBX_INTEGERKEY);
    MDBX_cursor *cur = cursor(in.txn, in.dbi);
    MDBX_val key, data, odd = bytes("abc", 3);
    uint64_t number = 0;
    unsigned i;
    for (i = 0; i < count; i++) {
        number = mdbx_key_from_int64((int64_t)(i * 1009 % count) - count / 2);
        key = data = bytes(&number, sizeof number);
        OK(mdbx_put(in.txn, in.dbi, &key, &data, MDBX_UPSERT));
    }
    for (i = 0; i < count; i++) {
        OK(mdbx_cursor_get(cur, &key, &data, MDBX_NEXT));
        EXPECT_NUM(mdbx_int64_from_key(key), (int64_t)i - count / 2);
    }
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &odd, &data, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    odd = bytes("abcd", 4); /* the others have 8 bytes */
    EXPECT_RC(mdbx_put(in.txn, in.dbi, &odd, &data, MDBX_UPSERT), MDBX_BAD_VALSIZE);
    mdbx_cursor_close(cur);
    done(in);
}

static void keys_backwards(void)
{
    struct place in = in_table(MDBX_REVERSEKEY);
    MDBX_cursor *cur = cursor(in.txn, in.dbi);
    OK(put(in.txn, in.dbi, "az", "1", 0));
    OK(put(in.txn, in.dbi, "ba", "2", 0));
    OK(put(in.txn, in.dbi, "a", "3", 0));
    EXPECT_AT(cur, MDBX_NEXT, "a", "3");
    EXPECT_AT(cur, MDBX_NEXT, "ba", "2");
    EXPECT_AT(cur, MDBX_NEXT, "az", "1");
    mdbx_cursor_close(cur);
    done(in);
}

static void reading_changes_nothing(void)
{
    struct place in = in_table(0);
    MDBX_val old;
    OK(put(in.txn, in.dbi, "k", "v", 0));
    OK(mdbx_txn_commit(in.txn));
    in.txn = READ(in.env);
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", 0), MDBX_EACCESS);
    EXPECT_RC(del(in.txn, in.dbi, "k", NULL), MDBX_EACCESS);
    EXPECT_RC(replace(&in, "k", "x", NULL, 10, 0, &old), MDBX_EACCESS);
    EXPECT_RC(mdbx_drop(in.txn, in.dbi, false), MDBX_EACCESS);
    EXPECT_GET(in.txn, in.dbi, "k", "v");
    done(in);
}

static void what_is_no_table(void)
{
    struct place in = in_table(0);
    EXPECT_RC(get(in.txn, 99, "k"), MDBX_BAD_DBI);
    EXPECT_RC(put(in.txn, 99, "k", "v", 0), MDBX_BAD_DBI);
    EXPECT_RC(del(in.txn, 99, "k", NULL), MDBX_BAD_DBI);
    EXPECT_RC(put(in.txn, 0, "k", "v", 0), MDBX_BAD_DBI);
    done(in);
}

static void names_of_2017(void)
{
    ours_alone();
#if OURS
    {
        struct place in = in_table(0);
        MDBX_val key = text("b"), data = nothing();
        char room[16], same[16];
        OK(put(in.txn, in.dbi, "c", "3", 0));
        YES(mdbx_get_nearest(in.txn, in.dbi, &key, &data));
        EXPECT_TEXT(key, "c");
        EXPECT_TEXT(data, "3");
        EXPECT(!strcmp(mdbx_dkey(&key, room, sizeof room), mdbx_dump_val(&key, same, sizeof same)));
        EXPECT_NUM(mdbx_get_maxkeysize(4096), mdbx_limits_keysize_max(4096, MDBX_DB_DEFAULTS));
        EXPECT_NUM(mdbx_get_maxkeysize(4095), -1);
        done(in);
    }
#endif
}

CASES(CASE(put_get_and_delete), CASE(lengths_of_keys), CASE(values_of_every_size),
      CASE(flags_of_a_put), CASE(room_is_reserved), CASE(room_is_of_plain_tables),
      CASE(appended_in_order), CASE(deleted_with_its_value), CASE(the_next_greater_one),
      CASE(replaced_and_the_old_value_told), CASE(one_of_many_is_replaced),
      CASE(a_function_keeps_the_old_value), CASE(what_is_handed_in_is_copied),
      CASE(whether_a_value_may_be_gone), CASE(what_is_there_already),
      CASE(values_stay_where_they_are_while_reading), CASE(keys_as_numbers), CASE(keys_backwards),
      CASE(reading_changes_nothing), CASE(what_is_no_table), CASE(names_of_2017))
