/* Write-optimised tables, as a program in C has them. */
#include "harness.h"

static void puts_in_any_order_come_back_in_order(void)
{
    huon_env *env = opened();
    huon_lsm *lsm;
    huon_lsm_table *events;
    huon_batch *batch;
    huon_cursor *cursor;
    huon_pair pairs[32];
    huon_txn *txn;
    huon_bytes value;
    unsigned i, all = 0, wanted = scaled(2000);
    size_t count;
    OK(huon_lsm_open(env, NULL, &lsm));
    OK(huon_lsm_table_open(lsm, text("events"), NULL, &events));
    for (i = 0; i < wanted; i++) {
        if (i % 100 == 0) OK(huon_batch_new(lsm, &batch));
        OK(huon_batch_put(batch, events, numbered("k", i * 7919 % wanted), numbered("v", i)));
        if (i % 100 == 99) OK(huon_lsm_write(lsm, batch, NULL));
    }
    txn = writing(env);
    OK(huon_lsm_put(txn, events, text("a"), text("1")));
    OK(huon_lsm_delete(txn, events, text("k00000")));
    OK(huon_commit(txn));
    OK(huon_lsm_compact(lsm, text("events"), HUON_LSM_ALL));
    txn = reading(env);
    OK(huon_lsm_get(txn, events, text("a"), &value));
    EXPECT_TEXT(value, "1");
    EXPECT_RC(huon_lsm_get(txn, events, text("k00000"), NULL), HUON_NOT_FOUND);
    OK(huon_lsm_cursor_open(txn, events, NULL, &cursor));
    while (huon_cursor_next_many(cursor, txn, pairs, 32, &count) == HUON_OK) all += count;
    EXPECT_NUM(all, wanted);
    OK(huon_cursor_close(cursor));
    OK(huon_abort(txn));
    OK(huon_lsm_table_close(events));
    OK(huon_lsm_close(lsm));
    OK(huon_close(env));
}

CASES(CASE(puts_in_any_order_come_back_in_order))
