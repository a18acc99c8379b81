/*
 * multi.h: what Go calls of huon.h for multimaps. See bridge.h.
 */

#ifndef HUON_BRIDGE_MULTI_H
#define HUON_BRIDGE_MULTI_H

#include "bridge.h"

static inline go_bytes go_multi_get(uintptr_t txn, go_table table, const uint8_t *key,
                                    size_t key_len)
{
    huon_bytes value = {NULL, 0};
    int code = huon_multi_get(GO_TXN, GO_MULTI, GO_KEY, &value);
    return go_told_bytes(code, value);
}

enum { GO_PAIR_HAS, GO_PAIR_PUT, GO_PAIR_INSERT, GO_PAIR_APPEND, GO_PAIR_REMOVE };

/* For GO_PAIR_PUT, 1 if the pair is new. */
static inline go_number go_multi_pair(uintptr_t txn, go_table table, int what, const uint8_t *key,
                                      size_t key_len, const uint8_t *value, size_t value_len)
{
    bool is_new = true;
    int code;
    switch (what) {
    case GO_PAIR_HAS: code = huon_multi_contains(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE); break;
    case GO_PAIR_PUT: code = huon_multi_put(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE, &is_new); break;
    case GO_PAIR_INSERT:
        code = huon_multi_put_if_absent(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE);
        break;
    case GO_PAIR_APPEND: code = huon_multi_append(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE); break;
    default: code = huon_multi_remove(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE);
    }
    return go_told_number(code, is_new);
}

static inline go_done go_multi_update(uintptr_t txn, go_table table, const uint8_t *key,
                                      size_t key_len, const uint8_t *old, size_t old_len,
                                      const uint8_t *value, size_t value_len)
{
    return go_told(huon_multi_update(GO_TXN, GO_MULTI, GO_KEY, go_slice(old, old_len), GO_VALUE));
}

/* The most values of go_multi_put_many. */
enum { GO_VALUES_MOST = 256 };

/* Values that lie one behind another, each up to its end. */
static inline go_done go_multi_put_many(uintptr_t txn, go_table table, const uint8_t *key,
                                        size_t key_len, const uint8_t *values,
                                        const uint32_t *ends, size_t count)
{
    huon_bytes each[GO_VALUES_MOST];
    size_t at = 0;
    for (size_t i = 0; i < count; at = ends[i++]) each[i] = go_slice(values + at, ends[i] - at);
    return go_told(huon_multi_put_many(GO_TXN, GO_MULTI, GO_KEY, each, count, NULL));
}

static inline go_number go_multi_set(uintptr_t txn, go_table table, const uint8_t *key,
                                     size_t key_len, const uint8_t *value, size_t value_len)
{
    uint64_t before = 0;
    int code = huon_multi_set(GO_TXN, GO_MULTI, GO_KEY, GO_VALUE, &before);
    return go_told_number(code, before);
}

static inline go_number go_multi_remove_key(uintptr_t txn, go_table table, const uint8_t *key,
                                            size_t key_len)
{
    uint64_t count = 0;
    int code = huon_multi_remove_key(GO_TXN, GO_MULTI, GO_KEY, &count);
    return go_told_number(code, count);
}

static inline go_number go_multi_count_values(uintptr_t txn, go_table table, const uint8_t *key,
                                              size_t key_len)
{
    uint64_t count = 0;
    int code = huon_multi_count_values(GO_TXN, GO_MULTI, GO_KEY, &count);
    return go_told_number(code, count);
}

/* A cursor over a range of keys, or over the values of the key `from`. */
static inline go_handle go_multi_cursor(uintptr_t txn, go_table table, bool of_values,
                                        uint32_t flags, const uint8_t *from, size_t from_len,
                                        const uint8_t *to, size_t to_len, bool back)
{
    huon_range range = GO_RANGE;
    huon_cursor *cursor;
    go_handle told;
    int code = of_values
                   ? huon_multi_values_open(GO_TXN, GO_MULTI, go_slice(from, from_len), &cursor)
                   : huon_multi_cursor_open(GO_TXN, GO_MULTI, &range, &cursor);
    if (code == HUON_OK && back) code = huon_cursor_to_end(cursor);
    told = go_told_handle(code, cursor);
    if (code != HUON_OK) huon_cursor_close(cursor);
    return told;
}

/* Where go_multi_from begins. */
enum { GO_AT_END, GO_BEFORE_PAIR, GO_BEHIND_PAIR, GO_BEFORE_KEY, GO_BEHIND_KEY };

static inline bool go_is_same(huon_bytes a, huon_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline int go_behind_pair(huon_cursor *at, huon_txn *txn, huon_bytes key, huon_bytes value)
{
    huon_pair next;
    int code = huon_cursor_seek_pair(at, key, value);
    if (code == HUON_OK) code = huon_cursor_next(at, txn, &next);
    if (code == HUON_OK && !(go_is_same(next.key, key) && go_is_same(next.value, value)))
        code = huon_cursor_prev(at, txn, &next);
    return code == HUON_NOT_FOUND ? HUON_OK : code;
}

/* The next pairs from a place on, up to `n`. */
static inline go_number go_multi_from(uintptr_t txn, go_table table, int place,
                                      const uint8_t *key, size_t key_len, const uint8_t *value,
                                      size_t value_len, bool back, size_t n, uintptr_t *pairs)
{
    huon_cursor *at = NULL;
    go_number told = {0};
    int code = huon_multi_cursor_open(GO_TXN, GO_MULTI, NULL, &at);
    if (code == HUON_OK) switch (place) {
    case GO_AT_END: code = back ? huon_cursor_to_end(at) : HUON_OK; break;
    case GO_BEFORE_PAIR: code = huon_cursor_seek_pair(at, GO_KEY, GO_VALUE); break;
    case GO_BEHIND_PAIR: code = go_behind_pair(at, GO_TXN, GO_KEY, GO_VALUE); break;
    case GO_BEFORE_KEY: code = huon_cursor_seek(at, GO_KEY); break;
    default: code = huon_cursor_seek_after(at, GO_KEY);
    }
    told = code == HUON_OK ? go_next((uintptr_t)at, txn, back, n, pairs) : go_told_number(code, 0);
    huon_cursor_close(at);
    return told;
}

static inline void go_cursor_close(uintptr_t cursor) { huon_cursor_close((huon_cursor *)cursor); }

#endif
