/* Records, cursors, multimaps and copies, as a program in C has them. */
#include "harness.h"

static void records_are_found_and_shown(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 1000);
    huon_txn *txn = reading(env);
    huon_bytes value;
    huon_pair pair;
    uint64_t count;
    OK(huon_get(txn, t, text("k00500"), &value));
    EXPECT_TEXT(value, "v00500");
    EXPECT_RC(huon_get(txn, t, text("k"), NULL), HUON_NOT_FOUND);
    OK(huon_first(txn, t, &pair));
    EXPECT_TEXT(pair.key, "k00000");
    OK(huon_last(txn, t, &pair));
    EXPECT_TEXT(pair.value, "v00999");
    OK(huon_at_or_above(txn, t, text("k00500x"), &pair));
    EXPECT_TEXT(pair.key, "k00501");
    OK(huon_at_or_below(txn, t, text("k00500x"), &pair));
    EXPECT_TEXT(pair.key, "k00500");
    OK(huon_count(txn, t, NULL, &count));
    EXPECT_NUM(count, 1000);
    OK(huon_abort(txn));
    OK(huon_close(env));
}

static void cursors_go_both_ways(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 500);
    huon_txn *txn = reading(env);
    huon_range range = {HUON_FROM | HUON_BEFORE, {NULL, 0}, {NULL, 0}};
    huon_cursor *cursor;
    huon_pair pairs[64];
    size_t count, all = 0;
    range.from = text("k00100"), range.to = text("k00300");
    OK(huon_cursor_open(txn, t, &range, &cursor));
    while (huon_cursor_next_many(cursor, txn, pairs, 64, &count) == HUON_OK) all += count;
    EXPECT_NUM(all, 200);
    EXPECT_RC(huon_cursor_next(cursor, txn, pairs), HUON_NOT_FOUND);
    OK(huon_cursor_prev(cursor, txn, pairs));
    EXPECT_TEXT(pairs[0].key, "k00299");
    OK(huon_cursor_prev_many(cursor, txn, pairs, 2, &count));
    EXPECT_TEXT(pairs[1].key, "k00297");
    OK(huon_cursor_to_start(cursor));
    EXPECT_RC(huon_cursor_prev(cursor, txn, pairs), HUON_NOT_FOUND);
    EXPECT_RC(huon_cursor_seek(cursor, text("k")), HUON_BAD_ARGUMENT);
    OK(huon_cursor_close(cursor));
    OK(huon_abort(txn));
    OK(huon_close(env));
}

/* What a transaction has shown moves when it changes something, also in the middle of a call. */
static void shown_records_are_stored_again(void)
{
    static char names[1000][8], packed[64 << 10];
    static huon_pair pairs[1000];
    huon_env *env = opened();
    huon_txn *txn = writing(env);
    huon_table t, whole;
    huon_cursor *cursor;
    huon_bytes shown;
    size_t count;
    unsigned i;
    OK(huon_table_create(txn, text("t"), NULL, &t));
    for (i = 0; i < 1000; i++) OK(huon_put(txn, t, numbered("k", i), numbered("v", i), NULL));
    OK(huon_cursor_open(txn, t, NULL, &cursor));
    OK(huon_cursor_next_many(cursor, txn, pairs, 1000, &count));
    for (i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "j%05u", i);
        pairs[i].key = text(names[i]);
    }
    OK(huon_put_many(txn, t, pairs, count, NULL));
    for (i = 0; i < 1000; i++) {
        OK(huon_get(txn, t, numbered("j", i), &shown));
        EXPECT_TEXT(shown, (const char *)numbered("v", i).data);
    }
    /* The same for records in one piece, which is a value of a table. */
    OK(huon_cursor_to_start(cursor));
    OK(huon_cursor_next_packed(cursor, txn, false, 100, (uint8_t *)packed, sizeof packed, &count,
                               &shown.len));
    shown.data = packed;
    OK(huon_table_create(txn, text("whole"), NULL, &whole));
    OK(huon_put(txn, whole, text("all"), shown, NULL));
    OK(huon_get(txn, whole, text("all"), &shown));
    OK(huon_put_packed(txn, whole, shown.data, shown.len, &count));
    EXPECT_NUM(count, 100);
    for (i = 0; i < 100; i++) {
        OK(huon_get(txn, whole, numbered("j", i), &shown));
        EXPECT_TEXT(shown, (const char *)numbered("v", i).data);
    }
    OK(huon_cursor_close(cursor));
    OK(huon_abort(txn));
    OK(huon_close(env));
}

static void a_walk_changes_what_it_passes(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, scaled(5000));
    huon_txn *txn = writing(env);
    huon_cursor *cursor;
    huon_pair pair;
    uint64_t count;
    unsigned n = 0;
    int code;
    OK(huon_cursor_open(txn, t, NULL, &cursor));
    while ((code = huon_cursor_next(cursor, txn, &pair)) == HUON_OK)
        if (n++ % 2 == 0)
            OK(huon_remove(txn, t, pair.key));
        else
            OK(huon_put(txn, t, pair.key, text("odd"), NULL));
    EXPECT_RC(code, HUON_NOT_FOUND);
    OK(huon_count(txn, t, NULL, &count));
    EXPECT_NUM(count, n / 2);
    OK(huon_cursor_close(cursor));
    OK(huon_commit(txn));
    OK(huon_close(env));
}

static void multimaps_have_values_in_order(void)
{
    huon_env *env = opened();
    huon_txn *txn = writing(env);
    huon_table_options with;
    huon_multi m;
    huon_bytes value;
    huon_cursor *cursor;
    huon_pair pair;
    uint64_t count;
    memset(&with, 0, sizeof with);
    with.bytes = sizeof with;
    with.value_bytes = 6;
    OK(huon_multi_create(txn, text("m"), &with, &m));
    OK(huon_multi_put(txn, m, text("a"), numbered("v", 2), NULL));
    OK(huon_multi_put(txn, m, text("a"), numbered("v", 1), NULL));
    EXPECT_RC(huon_multi_put(txn, m, text("a"), text("long value"), NULL), HUON_VALUE_LENGTH);
    OK(huon_multi_get(txn, m, text("a"), &value));
    EXPECT_TEXT(value, "v00001");
    OK(huon_multi_count_values(txn, m, text("a"), &count));
    EXPECT_NUM(count, 2);
    OK(huon_multi_values_open(txn, m, text("a"), &cursor));
    OK(huon_cursor_next(cursor, txn, &pair));
    OK(huon_cursor_next(cursor, txn, &pair));
    EXPECT_TEXT(pair.value, "v00002");
    EXPECT_RC(huon_cursor_next(cursor, txn, &pair), HUON_NOT_FOUND);
    OK(huon_cursor_close(cursor));
    OK(huon_abort(txn));
    OK(huon_close(env));
}

static int taken(void *context, const void *data, size_t len)
{
    FILE *file = context;
    return fwrite(data, 1, len, file) == len ? 0 : EIO;
}

static void copies_open_and_are_whole(void)
{
    huon_env *env = opened(), *copy;
    huon_copy_options with;
    huon_copy_report told;
    huon_check_report report;
    FILE *file = fopen("piped.huon", "wb");
    filled(env, 300);
    memset(&with, 0, sizeof with);
    with.bytes = sizeof with;
    with.flags = HUON_COPY_COMPACT;
    OK(huon_copy(env, "copy.huon", &with, &told));
    OK(huon_copy_to_writer(env, taken, file, NULL, &told));
    EXPECT_NUM(ftell(file), told.bytes);
    OK(fclose(file));
    OK(huon_open("piped.huon", NULL, &copy));
    OK(huon_check(copy, NULL, &report));
    EXPECT_NUM(report.problems, 0);
    OK(huon_close(copy));
    OK(huon_close(env));
}

static void errors_say_what_and_where(void)
{
    huon_env *env;
    huon_error error;
    EXPECT_RC(huon_open("/nowhere/at/all.huon", NULL, &env), HUON_IO);
    huon_last_error(&error);
    EXPECT_NUM(error.code, HUON_IO);
    EXPECT_NUM(error.system, ENOENT);
    EXPECT(strstr(error.message, "/nowhere/at") != NULL);
    EXPECT(strncmp(error.message, "huon_open: ", 11) == 0);
    EXPECT(strcmp(huon_strerror(HUON_NOT_FOUND), "not found") == 0);
    EXPECT(huon_strerror(12345) == NULL);
}

CASES(CASE(records_are_found_and_shown), CASE(cursors_go_both_ways),
      CASE(shown_records_are_stored_again),
      CASE(a_walk_changes_what_it_passes), CASE(multimaps_have_values_in_order),
      CASE(copies_open_and_are_whole), CASE(errors_say_what_and_where))
