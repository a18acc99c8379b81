/*
 * What the C programs share beside `cases.h`: short words for common calls.
 *
 * The programs are written for the interface, not for one library: they pass with LMDB too. What is
 * promised by Huon alone, or only since some version, says so with `OURS` or `since`.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <lmdb.h>

#define CODE_TEXT(rc) mdb_strerror(rc)
#include <cases.h>

/* Whether the header is Huon's, and with it the library. */
#ifdef HUON_LMDB_H
#define OURS 1
#else
#define OURS 0
#endif

/* The value holds these bytes, those of a string without its end. */
#define EXPECT_TEXT(val, text) expect_text(__FILE__, __LINE__, #val, &(val), text)

UNUSED static void expect_text(const char *file, int line, const char *what, const MDB_val *val,
                               const char *text)
{
    if (val->mv_size != strlen(text) || memcmp(val->mv_data, text, val->mv_size) != 0)
        fail(file, line, "%s: `%.*s`, expected `%s`", what, (int)val->mv_size,
             (const char *)val->mv_data, text);
}

/* What follows in the case holds since this patch of 0.9; Huon is at the last of them. */
UNUSED static int since(int patch)
{
    int major, minor, found;
    mdb_version(&major, &minor, &found);
    return found >= patch;
}

/* The case breaks rules that LMDB does not check; it may crash there. */
UNUSED static void ours_alone(void)
{
    if (!OURS) skip("for Huon's library alone");
}

/* ---- Values ---- */

UNUSED static MDB_val bytes(const void *data, size_t size)
{
    MDB_val val;
    val.mv_size = size;
    val.mv_data = (void *)data;
    return val;
}

UNUSED static MDB_val text(const char *text)
{
    return bytes(text, strlen(text));
}

/* A memory of `size` bytes, all `byte`, that lives as long as the case. */
UNUSED static MDB_val filled(size_t size, int byte)
{
    return bytes(memset(case_room(size + 1), byte, size), size);
}

/* `k` and a number of five digits, in one of a few places that are used in turn. */
UNUSED static MDB_val numbered(const char *head, unsigned number)
{
    static __thread char names[16][32];
    static __thread unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s%05u", head, number);
    return text(name);
}

/* ---- Environments and transactions ---- */

/* An environment in the case's directory, with room for named tables. */
UNUSED static MDB_env *env_with(unsigned flags)
{
    MDB_env *env;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxdbs(env, 16));
    OK(mdb_env_set_mapsize(env, 64 << 20));
    OK(mdb_env_open(env, ".", flags, 0644));
    return env;
}

UNUSED static MDB_txn *begin(MDB_env *env, MDB_txn *parent, unsigned flags)
{
    MDB_txn *txn = NULL;
    OK(mdb_txn_begin(env, parent, flags, &txn));
    EXPECT(txn != NULL);
    return txn;
}

#define WRITE(env) begin(env, NULL, 0)
#define READ(env) begin(env, NULL, MDB_RDONLY)

UNUSED static MDB_dbi table(MDB_txn *txn, const char *name, unsigned flags)
{
    MDB_dbi dbi;
    OK(mdb_dbi_open(txn, name, flags, &dbi));
    return dbi;
}

UNUSED static MDB_cursor *cursor(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_cursor *cur = NULL;
    OK(mdb_cursor_open(txn, dbi, &cur));
    EXPECT(cur != NULL);
    return cur;
}

/* ---- Records of text ---- */

UNUSED static int put(MDB_txn *txn, MDB_dbi dbi, const char *key, const char *data, unsigned flags)
{
    MDB_val k = text(key), d = text(data);
    return mdb_put(txn, dbi, &k, &d, flags);
}

UNUSED static int del(MDB_txn *txn, MDB_dbi dbi, const char *key, const char *data)
{
    MDB_val k = text(key), d = text(data ? data : "");
    return mdb_del(txn, dbi, &k, data ? &d : NULL);
}

UNUSED static int get(MDB_txn *txn, MDB_dbi dbi, const char *key)
{
    MDB_val k = text(key), d;
    return mdb_get(txn, dbi, &k, &d);
}

/* The table has this value at this key. */
#define EXPECT_GET(txn, dbi, key, wanted) \
    do { \
        MDB_val k_ = text(key), d_; \
        OK(mdb_get(txn, dbi, &k_, &d_)); \
        EXPECT_TEXT(d_, wanted); \
    } while (0)

/* The step succeeds and gives this record. */
#define EXPECT_AT(cur, op, key, data) \
    do { \
        MDB_val k_ = {0, NULL}, d_ = {0, NULL}; \
        OK(mdb_cursor_get(cur, &k_, &d_, op)); \
        EXPECT_TEXT(k_, key); \
        EXPECT_TEXT(d_, data); \
    } while (0)

/* The step gives this result. */
#define EXPECT_STEP(cur, op, wanted) \
    do { \
        MDB_val k_ = {0, NULL}, d_ = {0, NULL}; \
        EXPECT_RC(mdb_cursor_get(cur, &k_, &d_, op), wanted); \
    } while (0)

/* Goes to this key, to look from there. */
#define GO(cur, key) \
    do { \
        MDB_val k_ = text(key), d_; \
        OK(mdb_cursor_get(cur, &k_, &d_, MDB_SET)); \
    } while (0)

UNUSED static int cursor_put(MDB_cursor *cur, const char *key, const char *data, unsigned flags)
{
    MDB_val k = text(key), d = text(data);
    return mdb_cursor_put(cur, &k, &d, flags);
}

/* How many records the table has. */
UNUSED static size_t entries(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_stat stat;
    OK(mdb_stat(txn, dbi, &stat));
    return stat.ms_entries;
}

#endif
