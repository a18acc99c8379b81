/*
 * calls.h: calls that may call back into Go, for tables whose keys or values a Go function
 * compares.
 *
 * 1. The functions of bridge.h that are called most are declared to Go as ones that do not call
 *    back, so that keys and rooms may lie on a goroutine's stack. A table with a function of Go's
 *    goes by go_calling, of which no declaration says so; Go hands it memory that does not move.
 * 2. A panic does not pass through C. What the function has panicked with is left with the thread,
 *    and go_calling answers with it: HUON_STOPPED.
 */

#ifndef HUON_BRIDGE_CALLS_H
#define HUON_BRIDGE_CALLS_H

#include "care.h"
#include "multi.h"

/* An order that Go has registered; never freed. */
typedef struct {
    const char *name;
    uintptr_t number;
} go_order;

/* Compares by the function of Go's with that number; calls.c has it. */
int go_compare(void *number, huon_bytes a, huon_bytes b);

/* What a function of Go's has panicked with in this thread, in memory of C, or NULL. */
char *go_take_thrown(void);

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

/* Puts a panic in the place of an answer. */
static inline go_answer go_after_calls(go_answer answer)
{
    char *thrown = go_take_thrown();
    size_t len;
    if (thrown == NULL) return answer;
    free(answer.fault);
    answer.code = HUON_STOPPED;
    len = strlen(thrown) + 1;
    answer.fault = malloc(sizeof *answer.fault + len);
    if (answer.fault != NULL) {
        answer.fault->system = 0;
        answer.fault->page = UINT32_MAX;
        memcpy(answer.fault->message, thrown, len);
    }
    free(thrown);
    return answer;
}

static inline go_number go_number_after_calls(go_number told)
{
    go_answer answer = go_after_calls(go_of_number(told));
    go_number number = {answer.code, answer.fault, answer.number};
    return number;
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

static inline go_answer go_calling(int call, uintptr_t txn, bool is_multi, go_table table,
                                   int what, uint32_t flags, const uint8_t *a, size_t a_len,
                                   const uint8_t *b, size_t b_len, const uint8_t *c, size_t c_len,
                                   const uint32_t *ends, size_t n, uintptr_t *out,
                                   uintptr_t cursor)
{
    return go_after_calls(go_called(call, txn, is_multi, table, what, flags, a, a_len, b, b_len,
                                    c, c_len, ends, n, out, cursor));
}

/* Calls that look at all tables. */

static inline go_number go_copy_calling(uintptr_t env, uintptr_t txn, const char *path,
                                        bool compact, go_watch *watch)
{
    return go_number_after_calls(go_copy(env, txn, path, compact, watch));
}

static inline go_number go_copy_to_fd_calling(uintptr_t env, uintptr_t txn, int fd, bool compact)
{
    return go_number_after_calls(go_copy_to_fd(env, txn, fd, compact));
}

static inline go_done go_check_calling(uintptr_t env, go_watch *watch, huon_check_report *report)
{
    go_answer answer = go_after_calls(go_of_done(go_check(env, watch, report)));
    go_done done = {answer.code, answer.fault};
    return done;
}

#endif
