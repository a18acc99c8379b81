#include <huon.h>
#include <stdio.h>

/* Prints the records whose keys begin so, 64 with each call. */
static int print(huon_txn *txn, huon_table table, const char *prefix)
{
    huon_range range = {HUON_PREFIX, huon_str(prefix), {NULL, 0}};
    huon_cursor *cursor;
    huon_pair pairs[64];
    size_t count, i;
    int code = huon_cursor_open(txn, table, &range, &cursor);
    if (code != HUON_OK) return code;
    while ((code = huon_cursor_next_many(cursor, txn, pairs, 64, &count)) == HUON_OK)
        for (i = 0; i < count; i++)
            printf("%.*s: %.*s\n", (int)pairs[i].key.len, (const char *)pairs[i].key.data,
                   (int)pairs[i].value.len, (const char *)pairs[i].value.data);
    huon_cursor_close(cursor);
    return code == HUON_NOT_FOUND ? HUON_OK : code;
}

int main(void)
{
    huon_pair stock[3];
    huon_bytes keys[2], values[2];
    huon_env *env;
    huon_txn *txn;
    huon_table table;
    int code = huon_open(NULL, NULL, &env); /* in memory */
    if (code != HUON_OK) return code;
    stock[0].key = huon_str("apple"), stock[0].value = huon_str("12");
    stock[1].key = huon_str("apricot"), stock[1].value = huon_str("3");
    stock[2].key = huon_str("pear"), stock[2].value = huon_str("7");
    keys[0] = huon_str("pear"), keys[1] = huon_str("plum");

    huon_begin_write(env, -1, &txn);
    huon_table_create(txn, huon_str("stock"), NULL, &table);
    code = huon_put_many(txn, table, stock, 3, NULL);
    if (code == HUON_OK) code = print(txn, table, "ap");
    if (code == HUON_OK) code = huon_get_many(txn, table, keys, 2, values, NULL);
    if (code == HUON_OK && (values[0].data == NULL || values[1].data != NULL)) code = 1;
    if (code == HUON_OK)
        code = huon_commit(txn);
    else
        huon_abort(txn);
    huon_close(env);
    return code;
}
