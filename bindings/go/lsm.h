/*
 * lsm.h: what Go calls of huon.h for write-optimised tables. See bridge.h.
 */

#ifndef HUON_BRIDGE_LSM_H
#define HUON_BRIDGE_LSM_H

#include "care.h"

#define GO_LSM ((huon_lsm *)lsm)
#define GO_LSM_TABLE ((huon_lsm_table *)table)

static inline go_handle go_lsm_open(uintptr_t env, const huon_lsm_options *with)
{
    huon_lsm *lsm = NULL;
    int code = huon_lsm_open(GO_ENV, with, &lsm);
    return go_told_handle(code, lsm);
}

/* `by` may be NULL. */
static inline go_handle go_lsm_table_open(uintptr_t lsm, const uint8_t *key, size_t key_len,
                                          const huon_lsm_merger *by)
{
    huon_lsm_table *table = NULL;
    int code = huon_lsm_table_open(GO_LSM, GO_KEY, by, &table);
    return go_told_handle(code, table);
}

static inline go_handle go_compactor_start(uintptr_t lsm)
{
    huon_compactor *compactor = NULL;
    int code = huon_compactor_start(GO_LSM, &compactor);
    return go_told_handle(code, compactor);
}

enum { GO_LSM_HANDLE, GO_LSM_TABLE_HANDLE, GO_COMPACTOR_HANDLE };

static inline go_done go_lsm_close(int kind, uintptr_t handle)
{
    switch (kind) {
    case GO_LSM_HANDLE: return go_told(huon_lsm_close((huon_lsm *)handle));
    case GO_LSM_TABLE_HANDLE: return go_told(huon_lsm_table_close((huon_lsm_table *)handle));
    default: return go_told(huon_compactor_stop((huon_compactor *)handle));
    }
}

/* ---- records */

static inline go_bytes go_lsm_get(uintptr_t txn, uintptr_t table, const uint8_t *key,
                                  size_t key_len)
{
    huon_bytes value = {NULL, 0};
    int code = huon_lsm_get(GO_TXN, GO_LSM_TABLE, GO_KEY, &value);
    return go_told_bytes(code, value);
}

/* The most keys of go_lsm_get_many. */
enum { GO_KEYS_MOST = 256 };

/* Keys that lie one behind another, each up to its end. */
static inline go_number go_lsm_get_many(uintptr_t txn, uintptr_t table, const uint8_t *keys,
                                        const uint32_t *ends, size_t count, uintptr_t *values)
{
    huon_bytes each[GO_KEYS_MOST];
    size_t at = 0, found = 0;
    int code;
    for (size_t i = 0; i < count; at = ends[i++]) each[i] = go_slice(keys + at, ends[i] - at);
    code = huon_lsm_get_many(GO_TXN, GO_LSM_TABLE, each, count, (huon_bytes *)values, &found);
    return go_told_number(code, found);
}

enum {
    GO_LSM_PUT, GO_LSM_PUT_UNTIL, GO_LSM_MERGE, GO_LSM_DELETE, GO_LSM_INSERT, GO_LSM_UPDATE,
    GO_LSM_CLEAR, GO_LSM_DROP
};

/* `until_ms` is for GO_LSM_PUT_UNTIL. */
static inline go_done go_lsm_change(uintptr_t txn, uintptr_t table, int what, const uint8_t *key,
                                    size_t key_len, const uint8_t *value, size_t value_len,
                                    uint64_t until_ms)
{
    switch (what) {
    case GO_LSM_PUT: return go_told(huon_lsm_put(GO_TXN, GO_LSM_TABLE, GO_KEY, GO_VALUE));
    case GO_LSM_PUT_UNTIL:
        return go_told(huon_lsm_put_until(GO_TXN, GO_LSM_TABLE, GO_KEY, GO_VALUE, until_ms));
    case GO_LSM_MERGE: return go_told(huon_lsm_merge(GO_TXN, GO_LSM_TABLE, GO_KEY, GO_VALUE));
    case GO_LSM_DELETE: return go_told(huon_lsm_delete(GO_TXN, GO_LSM_TABLE, GO_KEY));
    case GO_LSM_INSERT:
        return go_told(huon_lsm_put_if_absent(GO_TXN, GO_LSM_TABLE, GO_KEY, GO_VALUE));
    case GO_LSM_UPDATE: return go_told(huon_lsm_update(GO_TXN, GO_LSM_TABLE, GO_KEY, GO_VALUE));
    case GO_LSM_CLEAR: return go_told(huon_lsm_clear(GO_TXN, GO_LSM_TABLE));
    default: return go_told(huon_lsm_drop(GO_TXN, GO_LSM_TABLE));
    }
}

static inline go_done go_lsm_delete_range(uintptr_t txn, uintptr_t table, uint32_t flags,
                                          const uint8_t *from, size_t from_len,
                                          const uint8_t *to, size_t to_len)
{
    huon_range range = GO_RANGE;
    return go_told(huon_lsm_delete_range(GO_TXN, GO_LSM_TABLE, flags == 0 ? NULL : &range));
}

/* The first records of a range, or its last ones: see go_range_many. */
static inline go_number go_lsm_range_many(uintptr_t txn, uintptr_t table, uint32_t flags,
                                          const uint8_t *from, size_t from_len,
                                          const uint8_t *to, size_t to_len, bool back, size_t n,
                                          uintptr_t *pairs)
{
    huon_range range = GO_RANGE;
    huon_cursor *cursor = NULL;
    go_number told = {0};
    int code = huon_lsm_cursor_open(GO_TXN, GO_LSM_TABLE, &range, &cursor);
    if (code == HUON_OK && back) code = huon_cursor_to_end(cursor);
    told = code == HUON_OK ? go_next((uintptr_t)cursor, txn, back, n, pairs)
                           : go_told_number(code, 0);
    huon_cursor_close(cursor);
    return told;
}

/* ---- batches: changes that lie one behind another, each a go_lsm_op and its bytes. The key of
 * GO_LSM_OP_TABLE is the table of those that follow, that of GO_LSM_OP_UNTIL the time of the next
 * one. */

enum { GO_LSM_OP_PUT, GO_LSM_OP_MERGE, GO_LSM_OP_DELETE, GO_LSM_OP_TABLE, GO_LSM_OP_UNTIL };

typedef struct {
    uint32_t what, key_len, value_len;
} go_lsm_op;

static inline go_done go_lsm_apply(uintptr_t txn, const uint8_t *at, size_t len)
{
    const uint8_t *end = at + len, *key, *value;
    uint64_t table = 0, until_ms = 0;
    int code = HUON_OK, how = GO_LSM_PUT;
    while (code == HUON_OK && at != end) {
        go_lsm_op op;
        memcpy(&op, at, sizeof op);
        key = at + sizeof op;
        value = key + op.key_len;
        at = value + op.value_len;
        switch (op.what) {
        case GO_LSM_OP_TABLE: memcpy(&table, key, sizeof table); continue;
        case GO_LSM_OP_UNTIL:
            memcpy(&until_ms, key, sizeof until_ms);
            how = GO_LSM_PUT_UNTIL;
            continue;
        case GO_LSM_OP_DELETE:
            code = huon_lsm_delete(GO_TXN, GO_LSM_TABLE, go_slice(key, op.key_len));
            continue;
        case GO_LSM_OP_MERGE:
            code = huon_lsm_merge(GO_TXN, GO_LSM_TABLE, go_slice(key, op.key_len),
                                  go_slice(value, op.value_len));
            continue;
        }
        if (how == GO_LSM_PUT)
            code = huon_lsm_put(GO_TXN, GO_LSM_TABLE, go_slice(key, op.key_len),
                                go_slice(value, op.value_len));
        else
            code = huon_lsm_put_until(GO_TXN, GO_LSM_TABLE, go_slice(key, op.key_len),
                                      go_slice(value, op.value_len), until_ms);
        how = GO_LSM_PUT;
    }
    return go_told(code);
}

/* ---- care */

static inline int go_lsm_step(void *context, uint64_t steps)
{
    huon_progress progress = {steps, 0};
    return go_progress(context, &progress);
}

static inline go_number go_lsm_compact(uintptr_t lsm, const uint8_t *key, size_t key_len, int how,
                                       go_watch *watch)
{
    uint64_t steps = 0;
    int code = huon_lsm_compact_with(GO_LSM, GO_KEY, how, go_lsm_step, watch, &steps);
    return go_told_number(code, steps);
}

static inline go_done go_lsm_stat(uintptr_t txn, uintptr_t table, huon_lsm_stat *stat)
{
    return go_told(huon_get_lsm_stat(GO_TXN, GO_LSM_TABLE, stat, sizeof *stat));
}

static inline go_number go_lsm_check(uintptr_t txn, uintptr_t table, go_watch *watch)
{
    uint64_t problems = 0;
    int code = huon_lsm_check(GO_TXN, GO_LSM_TABLE, go_problem, watch, &problems);
    return go_told_number(code, problems);
}

#endif
