/* Records: put, get and delete, their flags, lengths and limits. */
#include "harness.h"

struct place {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

/* A writer in a table of this kind. */
static struct place in_table(unsigned flags)
{
    struct place in;
    in.env = env_with(MDB_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDB_CREATE | flags);
    return in;
}

static void done(struct place in)
{
    OK(mdb_txn_commit(in.txn));
    mdb_env_close(in.env);
}

static void put_get_and_delete(void)
{
    struct place in = in_table(0);
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDB_NOTFOUND);
    OK(put(in.txn, in.dbi, "k", "v", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "v");
    OK(put(in.txn, in.dbi, "k", "a longer value", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "a longer value");
    OK(put(in.txn, in.dbi, "k", "", 0));
    EXPECT_GET(in.txn, in.dbi, "k", "");
    OK(del(in.txn, in.dbi, "k", NULL));
    EXPECT_RC(del(in.txn, in.dbi, "k", NULL), MDB_NOTFOUND);
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDB_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), 0);
    done(in);
}

static void lengths_of_keys(void)
{
    struct place in = in_table(0);
    int key_max = mdb_env_get_maxkeysize(in.env);
    MDB_val none = text(""), longest = filled(key_max, 'k'), longer = filled(key_max + 1, 'k');
    MDB_val data = text("v"), found;
    MDB_cursor *cur = cursor(in.txn, in.dbi);
    EXPECT_RC(mdb_put(in.txn, in.dbi, &none, &data, 0), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_put(in.txn, in.dbi, &longer, &data, 0), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_cursor_put(cur, &none, &data, 0), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_cursor_put(cur, &longer, &data, 0), MDB_BAD_VALSIZE);
    OK(mdb_put(in.txn, in.dbi, &longest, &data, 0));
    OK(mdb_get(in.txn, in.dbi, &longest, &found));
    EXPECT_TEXT(found, "v");
    EXPECT_RC(mdb_get(in.txn, in.dbi, &none, &found), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_get(in.txn, in.dbi, &longer, &found), MDB_NOTFOUND);
    EXPECT_RC(mdb_del(in.txn, in.dbi, &none, NULL), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_cursor_get(cur, &none, &found, MDB_SET), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_cursor_get(cur, &none, &found, MDB_SET_KEY), MDB_BAD_VALSIZE);
    EXPECT_RC(mdb_cursor_get(cur, &none, &found, MDB_SET_RANGE), MDB_BAD_VALSIZE);
    done(in);
}

static void values_of_every_size(void)
{
    struct place in = in_table(0);
    size_t size;
    for (size = 0; size < 70000; size = size * 5 / 4 + 1) {
        MDB_val key = numbered("k", (unsigned)size), data = filled(size, (int)size), found;
        OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
        OK(mdb_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.mv_size, size);
        EXPECT(memcmp(found.mv_data, data.mv_data, size) == 0);
        free_room(data.mv_data);
    }
    done(in);
}

static void flags_of_a_put(void)
{
    struct place in = in_table(0);
    MDB_val key = text("k"), data = text("new");
    OK(put(in.txn, in.dbi, "k", "old", MDB_NOOVERWRITE));
    EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &data, MDB_NOOVERWRITE), MDB_KEYEXIST);
    EXPECT_TEXT(data, "old");
    EXPECT_GET(in.txn, in.dbi, "k", "old");
    OK(put(in.txn, in.dbi, "k", "newer", MDB_NODUPDATA)); /* of no effect in a plain table */
    EXPECT_GET(in.txn, in.dbi, "k", "newer");
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", MDB_CURRENT), EINVAL);
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", MDB_MULTIPLE), EINVAL);
    EXPECT_RC(put(in.txn, in.dbi, "k", "x", 0x1000000), EINVAL);
    EXPECT_GET(in.txn, in.dbi, "k", "newer");
    done(in);
}

static void room_is_reserved(void)
{
    static const size_t sizes[] = {0, 1, 100, 2000, 5000, 100000};
    struct place in = in_table(0);
    unsigned i;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        MDB_val key = numbered("k", i), data = {0, NULL}, found;
        data.mv_size = sizes[i];
        OK(mdb_put(in.txn, in.dbi, &key, &data, MDB_RESERVE));
        EXPECT_NUM(data.mv_size, sizes[i]);
        memset(data.mv_data, 'a' + (int)i, sizes[i]);
        OK(mdb_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.mv_size, sizes[i]);
    }
    OK(mdb_txn_commit(in.txn));
    in.txn = WRITE(in.env);
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        MDB_val key = numbered("k", i), found, wanted = filled(sizes[i], 'a' + (int)i);
        OK(mdb_get(in.txn, in.dbi, &key, &found));
        EXPECT_NUM(found.mv_size, sizes[i]);
        EXPECT(memcmp(found.mv_data, wanted.mv_data, sizes[i]) == 0);
    }
    {
        MDB_val key = numbered("k", 2), data = {8, NULL};
        EXPECT_RC(mdb_put(in.txn, in.dbi, &key, &data, MDB_RESERVE | MDB_NOOVERWRITE),
                  MDB_KEYEXIST);
        EXPECT_NUM(data.mv_size, sizes[2]);
        data.mv_size = 8;
        OK(mdb_put(in.txn, in.dbi, &key, &data, MDB_RESERVE)); /* over what is there */
        memcpy(data.mv_data, "12345678", 8);
        EXPECT_GET(in.txn, in.dbi, "k00002", "12345678");
    }
    done(in);
}

static void appended_in_order(void)
{
    struct place in = in_table(0);
    unsigned i;
    for (i = 0; i < 5000; i++) {
        MDB_val key = numbered("k", i), data = text("v");
        OK(mdb_put(in.txn, in.dbi, &key, &data, MDB_APPEND));
    }
    EXPECT_RC(put(in.txn, in.dbi, "a", "v", MDB_APPEND), MDB_KEYEXIST);
    EXPECT_RC(put(in.txn, in.dbi, "k04999", "v", MDB_APPEND), MDB_KEYEXIST);
    EXPECT_RC(get(in.txn, in.dbi, "a"), MDB_NOTFOUND);
    EXPECT_NUM(entries(in.txn, in.dbi), 5000);
    OK(put(in.txn, in.dbi, "l", "v", MDB_APPEND));
    done(in);
}

static void a_plain_table_takes_no_value_to_delete(void)
{
    struct place in = in_table(0);
    OK(put(in.txn, in.dbi, "k", "v", 0));
    OK(del(in.txn, in.dbi, "k", "another"));
    EXPECT_RC(get(in.txn, in.dbi, "k"), MDB_NOTFOUND);
    done(in);
}

static void what_is_handed_in_is_copied(void)
{
    struct place in = in_table(0);
    char key_bytes[] = "key", data_bytes[] = "data";
    MDB_val key = text(key_bytes), data = text(data_bytes);
    OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
    EXPECT(key.mv_data == key_bytes && data.mv_data == data_bytes);
    memset(key_bytes, '-', 3);
    memset(data_bytes, '-', 4);
    EXPECT_GET(in.txn, in.dbi, "key", "data");
    done(in);
}

static void a_value_of_the_map_is_put(void)
{
    struct place in = in_table(0);
    MDB_val key = text("k00001"), data, again = text("copy");
    unsigned i;
    for (i = 0; i < 500; i++) {
        MDB_val k = numbered("k", i), d = numbered("value", i);
        OK(mdb_put(in.txn, in.dbi, &k, &d, 0));
    }
    OK(mdb_get(in.txn, in.dbi, &key, &data));
    OK(mdb_put(in.txn, in.dbi, &again, &data, 0)); /* from a page that this put may change */
    EXPECT_GET(in.txn, in.dbi, "copy", "value00001");
    OK(mdb_get(in.txn, in.dbi, &key, &data));
    OK(mdb_put(in.txn, in.dbi, &key, &data, 0)); /* over itself */
    EXPECT_GET(in.txn, in.dbi, "k00001", "value00001");
    done(in);
}

static void values_stay_where_they_are_while_reading(void)
{
    struct place in = in_table(0);
    MDB_val key = text("k"), first, again, large = filled(20000, 'z');
    MDB_txn *reader;
    OK(put(in.txn, in.dbi, "k", "value", 0));
    OK(mdb_txn_commit(in.txn));
    reader = READ(in.env);
    OK(mdb_get(reader, in.dbi, &key, &first));
    in.txn = WRITE(in.env);
    OK(mdb_put(in.txn, in.dbi, &key, &large, 0));
    OK(mdb_txn_commit(in.txn));
    OK(mdb_get(reader, in.dbi, &key, &again));
    EXPECT(again.mv_data == first.mv_data);
    EXPECT_TEXT(first, "value");
    mdb_txn_abort(reader);
    mdb_env_close(in.env);
}

static void keys_of_any_bytes(void)
{
    struct place in = in_table(0);
    MDB_cursor *cur = cursor(in.txn, in.dbi);
    MDB_val key, data;
    int i, before = -1;
    for (i = 255; i >= 0; i--) {
        unsigned char raw[2];
        raw[0] = (unsigned char)i;
        raw[1] = 0;
        key = bytes(raw, 2);
        OK(mdb_put(in.txn, in.dbi, &key, &key, 0));
        key = bytes(raw, 1);
        OK(mdb_put(in.txn, in.dbi, &key, &key, 0));
    }
    for (i = 0; i < 512; i++) {
        OK(mdb_cursor_get(cur, &key, &data, MDB_NEXT));
        EXPECT_NUM(key.mv_size, i % 2 + 1); /* the shorter one first */
        if (i % 2 == 0) {
            EXPECT(*(unsigned char *)key.mv_data > before);
            before = *(unsigned char *)key.mv_data;
        }
    }
    done(in);
}

static void histories_beside_an_array(void)
{
    enum { KEYS = 300 };
    static unsigned lengths[KEYS]; /* of the value and one, 0 for none */
    struct place in = in_table(0);
    uint32_t state = 12345;
    size_t count = 0;
    int i;
    for (i = 0; i < (int)scaled(30000); i++) {
        unsigned which, length;
        MDB_val key, data;
        state = state * 1664525 + 1013904223;
        which = (state >> 16) % KEYS;
        state = state * 1664525 + 1013904223;
        length = (state >> 16) % 40 == 0 ? (state >> 8) % 9000 : (state >> 8) % 60;
        key = numbered("k", which);
        if ((state >> 20) % 3 == 0) {
            EXPECT_RC(mdb_del(in.txn, in.dbi, &key, NULL), lengths[which] ? 0 : MDB_NOTFOUND);
            count -= lengths[which] != 0;
            lengths[which] = 0;
        } else {
            data = filled(length, (int)which);
            OK(mdb_put(in.txn, in.dbi, &key, &data, 0));
            free_room(data.mv_data);
            count += lengths[which] == 0;
            lengths[which] = length + 1;
        }
        if (i % 500 == 0) {
            OK(mdb_txn_commit(in.txn));
            in.txn = WRITE(in.env);
        }
    }
    EXPECT_NUM(entries(in.txn, in.dbi), count);
    for (i = 0; i < KEYS; i++) {
        MDB_val key = numbered("k", (unsigned)i), data;
        EXPECT_RC(mdb_get(in.txn, in.dbi, &key, &data), lengths[i] ? 0 : MDB_NOTFOUND);
        if (lengths[i]) EXPECT_NUM(data.mv_size, lengths[i] - 1);
    }
    done(in);
}

CASES(CASE(put_get_and_delete), CASE(lengths_of_keys), CASE(values_of_every_size),
      CASE(flags_of_a_put), CASE(room_is_reserved), CASE(appended_in_order),
      CASE(a_plain_table_takes_no_value_to_delete), CASE(what_is_handed_in_is_copied),
      CASE(a_value_of_the_map_is_put), CASE(values_stay_where_they_are_while_reading),
      CASE(keys_of_any_bytes), CASE(histories_beside_an_array))
