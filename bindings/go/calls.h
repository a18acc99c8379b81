/*
 * calls.h: calls that may call back into Go, for tables whose keys or values a Go function
 * compares, and for write-optimised tables that one merges.
 *
 * 1. The functions of bridge.h that are called most are declared to Go as ones that do not call
 *    back, so that keys and rooms may lie on a goroutine's stack. A table with a function of Go's
 *    goes by go_calling, of which no declaration says so; Go hands it memory that does not move.
 * 2. A panic does not pass through C. What a function has failed with is left with the call around
 *    it, a go_catch, and that answers with it: HUON_STOPPED.
 * 3. Threads of the library's, which merge, have no call around them: a function that merges keeps
 *    there itself what it has failed with.
 */

#ifndef HUON_BRIDGE_CALLS_H
#define HUON_BRIDGE_CALLS_H

#include "care.h"
#include "lsm.h"
#include "multi.h"

/* What a function of Go's has failed with in a call, as a cgo.Handle, or 0. */
typedef struct go_catch {
    struct go_catch *outer;
    uintptr_t failed;
    bool is_told; /* The library was told of it, and its answer counts. */
} go_catch;

void go_catch_in(go_catch *here);

/* Ends it: what has failed takes the place of an answer that it has made worthless. */
void go_catch_out(go_catch *here, int *code, go_fault **fault);

/* A body of a function: returns what a call came to, or what has failed in it. */
#define GO_CATCHING(type, call)                                                                   \
    go_catch here;                                                                                \
    type told;                                                                                    \
    go_catch_in(&here);                                                                           \
    told = call;                                                                                  \
    go_catch_out(&here, &told.code, &told.fault);                                                 \
    return told

/* An order that Go has registered; never freed. */
typedef struct {
    const char *name;
    uintptr_t number;
} go_order;

/* Compares by the function of Go's with that number; calls.c has it. */
int go_compare(void *number, huon_bytes a, huon_bytes b);

/* Merges by the Merger of Go's with that cgo.Handle. */
int go_merge(void *merger, huon_bytes older, huon_bytes newer, huon_bytes *value);

static inline huon_order go_custom(const go_order *order)
{
    huon_order custom = {HUON_ORDER_CUSTOM};
    custom.name = huon_str(order->name);
    custom.compare = go_compare;
    custom.context = (void *)order->number;
    return custom;
}

/* go_table_open with functions of Go's; each may be NULL. */
static inline go_done go_table_open_custom(uintptr_t txn, bool is_multi, bool creates,
                                           const uint8_t *key, size_t key_len, int keys,
                                           int values, uint32_t value_bytes, uintptr_t *words,
                                           const go_order *keys_by, const go_order *values_by)
{
    huon_table_options with = {sizeof with};
    with.keys.kind = keys;
    with.values.kind = values;
    with.value_bytes = value_bytes;
    if (keys_by != NULL) with.keys = go_custom(keys_by);
    if (values_by != NULL) with.values = go_custom(values_by);
    return go_table_open_as(txn, is_multi, creates, key, key_len, &with, words);
}

/* go_lsm_table_open with a Merger. */
static inline go_handle go_lsm_table_open_merged(uintptr_t lsm, const uint8_t *key, size_t key_len,
                                                 const uint8_t *name, size_t name_len,
                                                 uintptr_t merger)
{
    huon_lsm_merger by = {go_slice(name, name_len), go_merge, (void *)merger};
    return go_lsm_table_open(lsm, key, key_len, &by);
}

/* What a call of go_calling came to: each kind of call has its fields. */
typedef struct {
    int code;
    go_fault *fault;
    uint64_t number;
    huon_bytes bytes;
    huon_pair pair;
} go_answer;

static inline go_answer go_of_done(go_done told)
{
    go_answer answer = {told.code, told.fault};
    return answer;
}

static inline go_answer go_of_number(go_number told)
{
    go_answer answer = {told.code, told.fault, told.number};
    return answer;
}

static inline go_answer go_of_bytes(go_bytes told)
{
    go_answer answer = {told.code, told.fault, 0, {told.data, told.len}};
    return answer;
}

static inline go_answer go_of_pair(go_pair told)
{
    go_answer answer = {told.code, told.fault};
    answer.pair = told.pair;
    return answer;
}

enum {
    GO_CALL_GET, GO_CALL_HAS, GO_CALL_GET_MANY, GO_CALL_PICK, GO_CALL_PUT, GO_CALL_PUT_IF,
    GO_CALL_REPLACE, GO_CALL_TAKE, GO_CALL_REMOVE, GO_CALL_COMPARE_AND_SET, GO_CALL_PUT_PACKED,
    GO_CALL_BULK_APPEND, GO_CALL_OF_RANGE, GO_CALL_RANGE_MANY, GO_CALL_NEXT, GO_CALL_MULTI_GET,
    GO_CALL_MULTI_PAIR, GO_CALL_MULTI_PUT_MANY, GO_CALL_MULTI_UPDATE, GO_CALL_MULTI_SET,
    GO_CALL_MULTI_REMOVE_KEY, GO_CALL_MULTI_COUNT_VALUES, GO_CALL_MULTI_FROM
};

/* `what`, `flags` and the rest are what the function takes that the call is named by; a, b and c
 * are its keys and values in order. */
static inline go_answer go_called(int call, uintptr_t txn, bool is_multi, go_table table,
                                  int what, uint32_t flags, const uint8_t *a, size_t a_len,
                                  const uint8_t *b, size_t b_len, const uint8_t *c, size_t c_len,
                                  const uint32_t *ends, size_t n, uintptr_t *out,
                                  uintptr_t cursor)
{
    switch (call) {
    case GO_CALL_GET: return go_of_bytes(go_get(txn, table, a, a_len));
    case GO_CALL_HAS: return go_of_done(go_has(txn, table, a, a_len));
    case GO_CALL_GET_MANY: return go_of_number(go_get_many(txn, table, a, ends, n, out));
    case GO_CALL_PICK: return go_of_pair(go_pick(txn, is_multi, table, what, a, a_len));
    case GO_CALL_PUT: return go_of_done(go_put(txn, table, a, a_len, b, b_len));
    case GO_CALL_PUT_IF: return go_of_done(go_put_if(txn, table, what, a, a_len, b, b_len));
    case GO_CALL_REPLACE: return go_of_bytes(go_replace(txn, table, a, a_len, b, b_len));
    case GO_CALL_TAKE: return go_of_bytes(go_take(txn, table, a, a_len));
    case GO_CALL_REMOVE: return go_of_done(go_remove(txn, table, a, a_len));
    case GO_CALL_COMPARE_AND_SET:
        return go_of_done(go_compare_and_set(txn, table, a, a_len, b != NULL, b, b_len, c != NULL,
                                             c, c_len));
    case GO_CALL_PUT_PACKED: return go_of_number(go_put_packed(txn, table, a, a_len));
    case GO_CALL_BULK_APPEND: return go_of_done(go_bulk_append(txn, table, a, a_len));
    case GO_CALL_OF_RANGE:
        return go_of_number(go_of_range(txn, is_multi, table, what, flags, a, a_len, b, b_len));
    case GO_CALL_RANGE_MANY:
        return go_of_number(go_range_many(txn, table, flags, a, a_len, b, b_len, what, n, out));
    case GO_CALL_NEXT: return go_of_number(go_next(cursor, txn, what, n, out));
    case GO_CALL_MULTI_GET: return go_of_bytes(go_multi_get(txn, table, a, a_len));
    case GO_CALL_MULTI_PAIR:
        return go_of_number(go_multi_pair(txn, table, what, a, a_len, b, b_len));
    case GO_CALL_MULTI_PUT_MANY:
        return go_of_done(go_multi_put_many(txn, table, a, a_len, b, ends, n));
    case GO_CALL_MULTI_UPDATE:
        return go_of_done(go_multi_update(txn, table, a, a_len, b, b_len, c, c_len));
    case GO_CALL_MULTI_SET: return go_of_number(go_multi_set(txn, table, a, a_len, b, b_len));
    case GO_CALL_MULTI_REMOVE_KEY:
        return go_of_number(go_multi_remove_key(txn, table, a, a_len));
    case GO_CALL_MULTI_COUNT_VALUES:
        return go_of_number(go_multi_count_values(txn, table, a, a_len));
    default:
        return go_of_number(go_multi_from(txn, table, (int)flags, a, a_len, b, b_len, what, n,
                                          out));
    }
}

/* The same of a write-optimised table, whose changes are all GO_CALL_PUT, by what they are; `c` is
 * the time of GO_LSM_PUT_UNTIL. */
static inline go_answer go_lsm_called(int call, uintptr_t txn, uintptr_t table, int what,
                                      uint32_t flags, const uint8_t *a, size_t a_len,
                                      const uint8_t *b, size_t b_len, const uint8_t *c,
                                      const uint32_t *ends, size_t n, uintptr_t *out)
{
    uint64_t until_ms = 0;
    switch (call) {
    case GO_CALL_GET: return go_of_bytes(go_lsm_get(txn, table, a, a_len));
    case GO_CALL_GET_MANY: return go_of_number(go_lsm_get_many(txn, table, a, ends, n, out));
    case GO_CALL_PUT:
        if (c != NULL) memcpy(&until_ms, c, sizeof until_ms);
        return go_of_done(go_lsm_change(txn, table, what, a, a_len, b, b_len, until_ms));
    case GO_CALL_OF_RANGE:
        return go_of_done(go_lsm_delete_range(txn, table, flags, a, a_len, b, b_len));
    default:
        return go_of_number(go_lsm_range_many(txn, table, flags, a, a_len, b, b_len, what, n,
                                              out));
    }
}

static inline go_answer go_calling(int call, uintptr_t txn, bool is_multi, go_table table,
                                   uintptr_t lsm, int what, uint32_t flags, const uint8_t *a,
                                   size_t a_len, const uint8_t *b, size_t b_len, const uint8_t *c,
                                   size_t c_len, const uint32_t *ends, size_t n, uintptr_t *out,
                                   uintptr_t cursor)
{
    GO_CATCHING(go_answer, lsm != 0
                               ? go_lsm_called(call, txn, lsm, what, flags, a, a_len, b, b_len, c,
                                               ends, n, out)
                               : go_called(call, txn, is_multi, table, what, flags, a, a_len, b,
                                           b_len, c, c_len, ends, n, out, cursor));
}

/* ---- calls that look at all tables */

static inline go_number go_copy_calling(uintptr_t env, uintptr_t txn, const char *path,
                                        bool compact, go_watch *watch)
{
    GO_CATCHING(go_number, go_copy(env, txn, path, compact, watch));
}

static inline go_number go_copy_to_fd_calling(uintptr_t env, uintptr_t txn, int fd, bool compact)
{
    GO_CATCHING(go_number, go_copy_to_fd(env, txn, fd, compact));
}

static inline go_done go_check_calling(uintptr_t env, go_watch *watch, huon_check_report *report)
{
    GO_CATCHING(go_done, go_check(env, watch, report));
}

/* ---- calls that may merge */

static inline go_number go_commit_calling(uintptr_t txn, int durability)
{
    GO_CATCHING(go_number, go_commit(txn, durability));
}

static inline go_handle go_commit_ticket_calling(uintptr_t txn, uint64_t *id)
{
    GO_CATCHING(go_handle, go_commit_ticket(txn, id));
}

static inline go_done go_lsm_apply_calling(uintptr_t txn, const uint8_t *at, size_t len)
{
    GO_CATCHING(go_done, go_lsm_apply(txn, at, len));
}

static inline go_number go_lsm_compact_calling(uintptr_t lsm, const uint8_t *key, size_t key_len,
                                               int how, go_watch *watch)
{
    GO_CATCHING(go_number, go_lsm_compact(lsm, key, key_len, how, watch));
}

#endif
