/*
 * What the C programs share beside `cases.h`: short words for common calls.
 *
 * The programs are written for the interface, not for one library: they pass with libmdbx 0.11.8,
 * too. What is promised by Huon alone says so with `OURS`.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <mdbx.h>

#define CODE_TEXT(rc) mdbx_strerror(rc)
#include <cases.h>

/* Whether the header is Huon's, and with it the library. */
#ifdef HUON_MDBX_H
#define OURS 1
#else
#define OURS 0
#endif

/* The answer is yes, or no. */
#define YES(call) EXPECT_RC(call, MDBX_RESULT_TRUE)
#define NO(call) EXPECT_RC(call, MDBX_RESULT_FALSE)

/* The value holds these bytes, those of a string without its end. */
#define EXPECT_TEXT(val, text) expect_text(__FILE__, __LINE__, #val, &(val), text)

UNUSED static void expect_text(const char *file, int line, const char *what, const MDBX_val *val,
                               const char *text)
{
    if (val->iov_len != strlen(text) || memcmp(val->iov_base, text, val->iov_len) != 0)
        fail(file, line, "%s: `%.*s`, expected `%s`", what, (int)val->iov_len,
             (const char *)val->iov_base, text);
}

/* The case breaks rules that libmdbx does not check; it may crash there. */
UNUSED static void ours_alone(void)
{
    if (!OURS) skip("for Huon's library alone");
}

/* ---- Values ---- */

UNUSED static MDBX_val bytes(const void *data, size_t size)
{
    MDBX_val val;
    val.iov_base = (void *)data;
    val.iov_len = size;
    return val;
}

UNUSED static MDBX_val text(const char *text)
{
    return bytes(text, strlen(text));
}

UNUSED static MDBX_val nothing(void)
{
    return bytes(NULL, 0);
}

/* A memory of `size` bytes, all `byte`, that lives as long as the case. */
UNUSED static MDBX_val filled(size_t size, int byte)
{
    return bytes(memset(case_room(size + 1), byte, size), size);
}

/* `k` and a number of five digits, in one of a few places that are used in turn. */
UNUSED static MDBX_val numbered(const char *head, unsigned number)
{
    static __thread char names[16][32];
    static __thread unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s%05u", head, number);
    return text(name);
}

/* ---- Environments and transactions ---- */

/* Flags are combined to numbers here; in C that is all the same. */
#define ENV_FLAGS(flags) ((MDBX_env_flags_t)(flags))
#define DB_FLAGS(flags) ((MDBX_db_flags_t)(flags))
#define PUT_FLAGS(flags) ((MDBX_put_flags_t)(flags))

/* An environment that is not open yet, with room for named tables. */
UNUSED static MDBX_env *new_env(void)
{
    MDBX_env *env = NULL;
    OK(mdbx_env_create(&env));
    OK(mdbx_env_set_maxdbs(env, 16));
    OK(mdbx_env_set_geometry(env, -1, -1, 64 << 20, -1, -1, 4096));
    return env;
}

/* An environment in the case's directory. */
UNUSED static MDBX_env *env_with(unsigned flags)
{
    MDBX_env *env = new_env();
    OK(mdbx_env_open(env, "./db", ENV_FLAGS(flags), 0644));
    return env;
}

UNUSED static MDBX_txn *begin(MDBX_env *env, MDBX_txn *parent, unsigned flags)
{
    MDBX_txn *txn = NULL;
    OK(mdbx_txn_begin(env, parent, (MDBX_txn_flags_t)flags, &txn));
    EXPECT(txn != NULL);
    return txn;
}

#define WRITE(env) begin(env, NULL, 0)
#define READ(env) begin(env, NULL, MDBX_TXN_RDONLY)

UNUSED static MDBX_dbi table(MDBX_txn *txn, const char *name, unsigned flags)
{
    MDBX_dbi dbi = 0;
    OK(mdbx_dbi_open(txn, name, DB_FLAGS(flags), &dbi));
    return dbi;
}

UNUSED static MDBX_cursor *cursor(MDBX_txn *txn, MDBX_dbi dbi)
{
    MDBX_cursor *cur = NULL;
    OK(mdbx_cursor_open(txn, dbi, &cur));
    EXPECT(cur != NULL);
    return cur;
}

/* ---- Records of text ---- */

UNUSED static int put(MDBX_txn *txn, MDBX_dbi dbi, const char *key, const char *data,
                      unsigned flags)
{
    MDBX_val k = text(key), d = text(data);
    return mdbx_put(txn, dbi, &k, &d, PUT_FLAGS(flags));
}

UNUSED static int del(MDBX_txn *txn, MDBX_dbi dbi, const char *key, const char *data)
{
    MDBX_val k = text(key), d = text(data ? data : "");
    return mdbx_del(txn, dbi, &k, data ? &d : NULL);
}

UNUSED static int get(MDBX_txn *txn, MDBX_dbi dbi, const char *key)
{
    MDBX_val k = text(key), d;
    return mdbx_get(txn, dbi, &k, &d);
}

/* The table has this value at this key. */
#define EXPECT_GET(txn, dbi, key, wanted) \
    do { \
        MDBX_val k_ = text(key), d_; \
        OK(mdbx_get(txn, dbi, &k_, &d_)); \
        EXPECT_TEXT(d_, wanted); \
    } while (0)

/* The step succeeds and gives this record. */
#define EXPECT_AT(cur, op, key, data) EXPECT_GO(cur, op, NULL, NULL, MDBX_SUCCESS, key, data)

/* The step gives this result. */
#define EXPECT_STEP(cur, op, wanted) \
    do { \
        MDBX_val k_ = nothing(), d_ = nothing(); \
        EXPECT_RC(mdbx_cursor_get(cur, &k_, &d_, op), wanted); \
    } while (0)

/* The step from this key and value (or none) gives this result, and this record. */
#define EXPECT_GO(cur, op, from, value, rc, key, data) \
    do { \
        const char *from_ = from, *value_ = value; \
        MDBX_val k_ = from_ ? text(from_) : nothing(), d_ = value_ ? text(value_) : nothing(); \
        EXPECT_RC(mdbx_cursor_get(cur, &k_, &d_, op), rc); \
        EXPECT_TEXT(k_, key); \
        EXPECT_TEXT(d_, data); \
    } while (0)

/* What a step to a key, or to a key and a value, gives. */
UNUSED static int seek(MDBX_cursor *cur, MDBX_cursor_op op, const char *key, const char *data)
{
    MDBX_val k = text(key), d = data ? text(data) : nothing();
    return mdbx_cursor_get(cur, &k, &d, op);
}

/* Goes to this key, to look from there. */
#define GO(cur, key) OK(seek(cur, MDBX_SET, key, NULL))

UNUSED static int cursor_put(MDBX_cursor *cur, const char *key, const char *data, unsigned flags)
{
    MDBX_val k = text(key), d = text(data);
    return mdbx_cursor_put(cur, &k, &d, PUT_FLAGS(flags));
}

/* How many values the cursor's key has. */
UNUSED static size_t count_of(MDBX_cursor *cur)
{
    size_t count = 0;
    OK(mdbx_cursor_count(cur, &count));
    return count;
}

/* The shape of the table. */
UNUSED static MDBX_stat shape(MDBX_txn *txn, MDBX_dbi dbi)
{
    MDBX_stat stat;
    OK(mdbx_dbi_stat(txn, dbi, &stat, sizeof stat));
    return stat;
}

#define entries(txn, dbi) (shape(txn, dbi).ms_entries)

#endif
