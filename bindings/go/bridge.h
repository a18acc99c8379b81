/*
 * bridge.h: what Go calls of huon.h.
 *
 * 1. Handles are numbers here: the garbage collector must not take them for addresses.
 * 2. An error is taken from the library in the same call that made it, since Go may go on in
 *    another thread.
 * 3. Nothing here calls back into Go, but where a function of Go's compares or merges: see calls.h.
 */

#ifndef HUON_BRIDGE_H
#define HUON_BRIDGE_H

#if !__has_include(<huon.h>)
#error "the library is not built: run `make go` in the clone, for huon_system `make install-capi`"
#endif

#include <errno.h>
#include <huon.h>
#include <stdlib.h>
#include <string.h>

/* What `make go` built. Go's cache does not look at libraries: so another one is another source. */
#if __has_include("stamp.h")
static const char go_stamp[] __attribute__((used)) =
#include "stamp.h"
    ;
#endif

/* An error, in memory that Go frees. `failed` is a cgo.Handle of what a function of the program's
 * has failed with, or 0. */
typedef struct {
    uintptr_t failed;
    int system;
    uint32_t page;
    char message[];
} go_fault;

/* What a call came to; `fault` is set where the code is that of an error. */
typedef struct {
    int code;
    go_fault *fault;
} go_done;

typedef struct {
    int code;
    go_fault *fault;
    uintptr_t handle;
} go_handle;

typedef struct {
    int code;
    go_fault *fault;
    uint64_t number;
} go_number;

typedef struct {
    int code;
    go_fault *fault;
    const uint8_t *data;
    size_t len;
} go_bytes;

typedef struct {
    int code;
    go_fault *fault;
    huon_pair pair;
} go_pair;

/* A table or a multimap. */
typedef struct {
    uint64_t words[2];
} go_table;

static inline go_fault *go_why(int code)
{
    huon_error error;
    go_fault *fault;
    size_t len;
    if (code <= 0) return NULL;
    huon_last_error(&error);
    len = strlen(error.message) + 1;
    fault = malloc(sizeof *fault + len);
    if (fault == NULL) return NULL;
    fault->failed = 0;
    fault->system = error.system;
    fault->page = error.page;
    memcpy(fault->message, error.message, len);
    return fault;
}

static inline go_done go_told(int code)
{
    go_done done = {code, go_why(code)};
    return done;
}

static inline go_number go_told_number(int code, uint64_t number)
{
    go_number told = {code, go_why(code), number};
    return told;
}

static inline go_handle go_told_handle(int code, void *handle)
{
    go_handle told = {code, go_why(code), (uintptr_t)handle};
    return told;
}

/* The address of no bytes may be no address at all, at which Go stumbles; NULL stands for none. */
static inline const uint8_t *go_address(huon_bytes bytes)
{
    return bytes.len == 0 && bytes.data != NULL ? (const uint8_t *)"" : bytes.data;
}

static inline go_bytes go_told_bytes(int code, huon_bytes bytes)
{
    go_bytes told = {code, go_why(code), go_address(bytes), bytes.len};
    return told;
}

static inline go_pair go_told_pair(int code, huon_pair pair)
{
    go_pair told = {code, go_why(code), pair};
    return told;
}

static inline huon_bytes go_slice(const uint8_t *data, size_t len)
{
    huon_bytes bytes = {data, len};
    return bytes;
}

static inline huon_table go_as_table(go_table table)
{
    huon_table as = {{table.words[0], table.words[1]}};
    return as;
}

static inline huon_multi go_as_multi(go_table table)
{
    huon_multi as = {{table.words[0], table.words[1]}};
    return as;
}

#define GO_ENV ((huon_env *)env)
#define GO_TXN ((huon_txn *)txn)
#define GO_TABLE go_as_table(table)
#define GO_MULTI go_as_multi(table)
#define GO_KEY go_slice(key, key_len)
#define GO_VALUE go_slice(value, value_len)

/* ---- environments */

/* `options` are pairs of an option and its value. */
static inline go_handle go_open(const char *path, size_t count, const uint64_t *options)
{
    huon_env *env = NULL;
    huon_options *with = NULL;
    int code = huon_options_new(&with);
    go_handle told;
    for (size_t i = 0; code == HUON_OK && i < count; i++)
        code = huon_options_set(with, (int)options[2 * i], options[2 * i + 1]);
    if (code == HUON_OK) code = huon_open(path, with, &env);
    told = go_told_handle(code, env);
    huon_options_free(with);
    return told;
}

static inline go_done go_close(uintptr_t env) { return go_told(huon_close(GO_ENV)); }

static inline go_done go_delete(const char *path) { return go_told(huon_delete(path)); }

static inline go_done go_set(uintptr_t env, int option, uint64_t value)
{
    return go_told(huon_set(GO_ENV, option, value));
}

/* ---- slow readers: one that is parked is evicted, one that is not is waited for so many times */

static inline int go_slow(void *context, const huon_slow_reader *reader)
{
    if (reader->is_parked || reader->retries < (uintptr_t)context) return HUON_SLOW_EVICT;
    return HUON_SLOW_GIVE_UP;
}

static inline go_done go_on_slow_reader(uintptr_t env, uint32_t waits)
{
    return go_told(huon_on_slow_reader(GO_ENV, go_slow, (void *)(uintptr_t)waits));
}

static inline go_number go_sync(uintptr_t env)
{
    uint64_t id = 0;
    int code = huon_sync(GO_ENV, &id);
    return go_told_number(code, id);
}

static inline go_number go_flush_if_due(uintptr_t env)
{
    bool flushed = false;
    int code = huon_flush_if_due(GO_ENV, &flushed);
    return go_told_number(code, flushed);
}

static inline go_number go_clear_dead_readers(uintptr_t env)
{
    uint32_t count = 0;
    int code = huon_clear_dead_readers(GO_ENV, &count);
    return go_told_number(code, count);
}

static inline go_number go_wait_for_commit(uintptr_t env, uint64_t after, int64_t wait_ms)
{
    uint64_t id = 0;
    int code = huon_wait_for_commit(GO_ENV, after, wait_ms, &id);
    return go_told_number(code, id);
}

/* ---- transactions */

static inline go_handle go_begin_read(uintptr_t env)
{
    huon_txn *txn;
    int code = huon_begin_read(GO_ENV, &txn);
    return go_told_handle(code, txn);
}

static inline go_handle go_begin_write(uintptr_t env, int64_t wait_ms)
{
    huon_txn *txn;
    int code = huon_begin_write(GO_ENV, wait_ms, &txn);
    return go_told_handle(code, txn);
}

/* `durability` below 0: the environment's. */
static inline go_number go_commit(uintptr_t txn, int durability)
{
    uint64_t id = 0;
    int code = durability < 0 ? huon_commit(GO_TXN) : huon_commit_with(GO_TXN, durability, &id);
    return go_told_number(code, id);
}

static inline go_handle go_commit_ticket(uintptr_t txn, uint64_t *id)
{
    huon_ticket *ticket = NULL;
    int code = huon_commit_ticket(GO_TXN, &ticket);
    if (code == HUON_OK) huon_ticket_id(ticket, id);
    return go_told_handle(code, ticket);
}

static inline go_done go_ticket_wait(uintptr_t ticket, int64_t wait_ms)
{
    return go_told(huon_ticket_wait((huon_ticket *)ticket, wait_ms));
}

static inline void go_ticket_free(uintptr_t ticket) { huon_ticket_free((huon_ticket *)ticket); }

static inline go_done go_abort(uintptr_t txn) { return go_told(huon_abort(GO_TXN)); }

static inline go_number go_txn_id(uintptr_t txn)
{
    uint64_t id = 0;
    int code = huon_txn_id(GO_TXN, &id);
    return go_told_number(code, id);
}

enum { GO_RESET, GO_RENEW, GO_PARK, GO_UNPARK };

static inline go_done go_turn(uintptr_t txn, int to)
{
    switch (to) {
    case GO_RESET: return go_told(huon_reset(GO_TXN));
    case GO_RENEW: return go_told(huon_renew(GO_TXN));
    case GO_PARK: return go_told(huon_park(GO_TXN));
    default: return go_told(huon_unpark(GO_TXN));
    }
}

/* A savepoint's name is how deep it lies: one that is ended also ends those within it. */
static inline go_done go_savepoint(uintptr_t txn, uint32_t depth)
{
    return go_told(huon_savepoint(GO_TXN, go_slice((uint8_t *)&depth, sizeof depth)));
}

/* What cannot be kept is undone. */
static inline go_done go_release(uintptr_t txn, uint32_t depth, bool is_kept)
{
    huon_bytes name = go_slice((uint8_t *)&depth, sizeof depth);
    go_done told;
    if (is_kept) {
        told = go_told(huon_release(GO_TXN, name));
        if (told.code == HUON_OK) return told;
        huon_roll_back_to(GO_TXN, name);
    } else {
        told = go_told(huon_roll_back_to(GO_TXN, name));
    }
    huon_release(GO_TXN, name);
    return told;
}

static inline go_done go_markers(uintptr_t txn, uint64_t *values, bool sets)
{
    return go_told(sets ? huon_set_markers(GO_TXN, values) : huon_markers(GO_TXN, values));
}

static inline go_number go_table_names(uintptr_t txn, uintptr_t *names, size_t capacity)
{
    size_t count = 0;
    int code = huon_table_names(GO_TXN, (huon_bytes *)names, capacity, &count);
    return go_told_number(code, count);
}

/* ---- tables and multimaps */

static inline go_done go_table_open_as(uintptr_t txn, bool is_multi, bool creates,
                                       const uint8_t *key, size_t key_len,
                                       const huon_table_options *with, uintptr_t *words)
{
    huon_table table = {{0}};
    huon_multi multi = {{0}};
    int code;
    if (is_multi && creates)
        code = huon_multi_create(GO_TXN, GO_KEY, with, &multi);
    else if (is_multi)
        code = huon_multi_open(GO_TXN, GO_KEY, with, &multi);
    else if (creates)
        code = huon_table_create(GO_TXN, GO_KEY, with, &table);
    else
        code = huon_table_open(GO_TXN, GO_KEY, with, &table);
    if (is_multi) memcpy(words, multi.words, sizeof multi.words);
    if (!is_multi) memcpy(words, table.words, sizeof table.words);
    return go_told(code);
}

static inline go_done go_table_open(uintptr_t txn, bool is_multi, bool creates,
                                    const uint8_t *key, size_t key_len, int keys, int values,
                                    uint32_t value_bytes, uintptr_t *words)
{
    huon_table_options with = {sizeof with};
    with.keys.kind = keys;
    with.values.kind = values;
    with.value_bytes = value_bytes;
    return go_table_open_as(txn, is_multi, creates, key, key_len, &with, words);
}

static inline go_done go_table_drop(uintptr_t txn, bool is_multi, go_table table)
{
    return go_told(is_multi ? huon_multi_drop(GO_TXN, GO_MULTI)
                            : huon_table_drop(GO_TXN, GO_TABLE));
}

static inline go_done go_table_clear(uintptr_t txn, bool is_multi, go_table table)
{
    return go_told(is_multi ? huon_multi_clear(GO_TXN, GO_MULTI)
                            : huon_table_clear(GO_TXN, GO_TABLE));
}

static inline go_done go_table_rename(uintptr_t txn, bool is_multi, go_table table,
                                      const uint8_t *key, size_t key_len)
{
    return go_told(is_multi ? huon_multi_rename(GO_TXN, GO_MULTI, GO_KEY)
                            : huon_table_rename(GO_TXN, GO_TABLE, GO_KEY));
}

static inline go_done go_table_stat(uintptr_t txn, const uint8_t *key, size_t key_len,
                                    huon_table_stat *stat)
{
    return go_told(huon_get_table_stat(GO_TXN, GO_KEY, stat, sizeof *stat));
}

/* ---- records */

static inline go_bytes go_get(uintptr_t txn, go_table table, const uint8_t *key, size_t key_len)
{
    huon_bytes value = {NULL, 0};
    int code = huon_get(GO_TXN, GO_TABLE, GO_KEY, &value);
    return go_told_bytes(code, value);
}

static inline go_done go_has(uintptr_t txn, go_table table, const uint8_t *key, size_t key_len)
{
    return go_told(huon_get(GO_TXN, GO_TABLE, GO_KEY, NULL));
}

static inline go_number go_get_many(uintptr_t txn, go_table table, const uint8_t *keys,
                                    const uint32_t *ends, size_t count, uintptr_t *values)
{
    size_t found = 0;
    int code = huon_get_many_packed(GO_TXN, GO_TABLE, keys, ends, count, (huon_bytes *)values,
                                    &found);
    return go_told_number(code, found);
}

enum {
    GO_FIRST, GO_LAST, GO_POP_FIRST, GO_POP_LAST, GO_AT_OR_ABOVE, GO_AT_OR_BELOW, GO_OF_MULTI
};

static inline go_pair go_pick(uintptr_t txn, bool is_multi, go_table table, int which,
                              const uint8_t *key, size_t key_len)
{
    huon_pair pair = {{NULL, 0}, {NULL, 0}};
    int code;
    switch (is_multi ? GO_OF_MULTI + which : which) {
    case GO_OF_MULTI + GO_FIRST: code = huon_multi_first(GO_TXN, GO_MULTI, &pair); break;
    case GO_OF_MULTI + GO_LAST: code = huon_multi_last(GO_TXN, GO_MULTI, &pair); break;
    case GO_OF_MULTI + GO_POP_FIRST: code = huon_multi_pop_first(GO_TXN, GO_MULTI, &pair); break;
    case GO_OF_MULTI + GO_POP_LAST: code = huon_multi_pop_last(GO_TXN, GO_MULTI, &pair); break;
    case GO_FIRST: code = huon_first(GO_TXN, GO_TABLE, &pair); break;
    case GO_LAST: code = huon_last(GO_TXN, GO_TABLE, &pair); break;
    case GO_AT_OR_ABOVE: code = huon_at_or_above(GO_TXN, GO_TABLE, GO_KEY, &pair); break;
    case GO_AT_OR_BELOW: code = huon_at_or_below(GO_TXN, GO_TABLE, GO_KEY, &pair); break;
    case GO_POP_FIRST: code = huon_pop_first(GO_TXN, GO_TABLE, &pair); break;
    default: code = huon_pop_last(GO_TXN, GO_TABLE, &pair);
    }
    return go_told_pair(code, pair);
}

static inline go_done go_put(uintptr_t txn, go_table table, const uint8_t *key, size_t key_len,
                             const uint8_t *value, size_t value_len)
{
    return go_told(huon_put(GO_TXN, GO_TABLE, GO_KEY, GO_VALUE, NULL));
}

enum { GO_INSERT, GO_UPDATE, GO_APPEND };

static inline go_done go_put_if(uintptr_t txn, go_table table, int how, const uint8_t *key,
                                size_t key_len, const uint8_t *value, size_t value_len)
{
    switch (how) {
    case GO_INSERT: return go_told(huon_put_if_absent(GO_TXN, GO_TABLE, GO_KEY, GO_VALUE));
    case GO_UPDATE: return go_told(huon_update(GO_TXN, GO_TABLE, GO_KEY, GO_VALUE));
    default: return go_told(huon_append(GO_TXN, GO_TABLE, GO_KEY, GO_VALUE));
    }
}

static inline go_bytes go_replace(uintptr_t txn, go_table table, const uint8_t *key,
                                  size_t key_len, const uint8_t *value, size_t value_len)
{
    huon_bytes old = {NULL, 0};
    int code = huon_replace(GO_TXN, GO_TABLE, GO_KEY, GO_VALUE, &old);
    return go_told_bytes(code, old);
}

static inline go_bytes go_take(uintptr_t txn, go_table table, const uint8_t *key, size_t key_len)
{
    huon_bytes old = {NULL, 0};
    int code = huon_take(GO_TXN, GO_TABLE, GO_KEY, &old);
    return go_told_bytes(code, old);
}

static inline go_done go_remove(uintptr_t txn, go_table table, const uint8_t *key, size_t key_len)
{
    return go_told(huon_remove(GO_TXN, GO_TABLE, GO_KEY));
}

static inline go_done go_compare_and_set(uintptr_t txn, go_table table, const uint8_t *key,
                                         size_t key_len, bool has_old, const uint8_t *old,
                                         size_t old_len, bool has_value, const uint8_t *value,
                                         size_t value_len)
{
    huon_bytes before = {old, old_len}, after = {value, value_len};
    return go_told(huon_compare_and_set(GO_TXN, GO_TABLE, GO_KEY, has_old ? &before : NULL,
                                        has_value ? &after : NULL));
}

static inline go_number go_put_packed(uintptr_t txn, go_table table, const uint8_t *records,
                                      size_t len)
{
    size_t done = 0;
    int code = huon_put_packed(GO_TXN, GO_TABLE, records, len, &done);
    return go_told_number(code, done);
}

/* Records that lie one behind another, as in go_put_packed. */
typedef struct {
    const uint8_t *at, *end;
} go_packed;

static inline int go_next_packed(void *context, huon_pair *pair)
{
    go_packed *packed = context;
    uint32_t lens[2];
    if (packed->at == packed->end) return HUON_NOT_FOUND;
    memcpy(lens, packed->at, sizeof lens);
    pair->key = go_slice(packed->at + sizeof lens, lens[0]);
    pair->value = go_slice(packed->at + sizeof lens + lens[0], lens[1]);
    packed->at += sizeof lens + lens[0] + lens[1];
    return 0;
}

static inline go_done go_bulk_append(uintptr_t txn, go_table table, const uint8_t *records,
                                     size_t len)
{
    go_packed packed = {records, records + len};
    return go_told(huon_bulk_append(GO_TXN, GO_TABLE, go_next_packed, &packed));
}

static inline go_number go_sequence(uintptr_t txn, go_table table, uint64_t by)
{
    uint64_t first = 0;
    int code = huon_sequence(GO_TXN, GO_TABLE, by, &first);
    return go_told_number(code, first);
}

/* ---- ranges */

#define GO_RANGE                                                                                  \
    {                                                                                             \
        flags, {from, from_len}, {to, to_len}                                                     \
    }

enum { GO_REMOVE, GO_COUNT, GO_ESTIMATE };

static inline go_number go_of_range(uintptr_t txn, bool is_multi, go_table table, int what,
                                    uint32_t flags, const uint8_t *from, size_t from_len,
                                    const uint8_t *to, size_t to_len)
{
    huon_range range = GO_RANGE, *of = flags == 0 ? NULL : &range;
    uint64_t count = 0;
    int code;
    if (what == GO_REMOVE)
        code = is_multi ? huon_multi_remove_range(GO_TXN, GO_MULTI, of, &count)
                        : huon_remove_range(GO_TXN, GO_TABLE, of, &count);
    else if (what == GO_COUNT)
        code = is_multi ? huon_multi_count(GO_TXN, GO_MULTI, of, &count)
                        : huon_count(GO_TXN, GO_TABLE, of, &count);
    else
        code = is_multi ? huon_multi_estimate(GO_TXN, GO_MULTI, of, &count)
                        : huon_estimate(GO_TXN, GO_TABLE, of, &count);
    return go_told_number(code, count);
}

/* The next records of a cursor, up to `n`. */
static inline go_number go_next(uintptr_t cursor, uintptr_t txn, bool back, size_t n,
                                uintptr_t *pairs)
{
    size_t count = 0;
    huon_cursor *at = (huon_cursor *)cursor;
    int code = back ? huon_cursor_prev_many(at, GO_TXN, (huon_pair *)pairs, n, &count)
                    : huon_cursor_next_many(at, GO_TXN, (huon_pair *)pairs, n, &count);
    return go_told_number(code == HUON_NOT_FOUND ? HUON_OK : code, count);
}

/* The first records of a range, or its last ones. */
static inline go_number go_range_many(uintptr_t txn, go_table table, uint32_t flags,
                                      const uint8_t *from, size_t from_len, const uint8_t *to,
                                      size_t to_len, bool back, size_t n, uintptr_t *pairs)
{
    huon_range range = GO_RANGE;
    size_t count = 0;
    int code = huon_range_many(GO_TXN, GO_TABLE, &range, back, (huon_pair *)pairs, n, &count);
    return go_told_number(code == HUON_NOT_FOUND ? HUON_OK : code, count);
}

/* Copies what was shown, one behind another. */
static inline void go_copy_pairs(const uintptr_t *pairs, size_t count, uint8_t *room)
{
    const huon_bytes *shown = (const huon_bytes *)pairs;
    for (size_t i = 0; i < 2 * count; i++) {
        if (shown[i].len > 0) memcpy(room, shown[i].data, shown[i].len);
        room += shown[i].len;
    }
}

#endif
