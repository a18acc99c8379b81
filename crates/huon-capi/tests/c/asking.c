/* Functions of the program's that are called back, and the journal. */
#include "harness.h"

static void counted(void *context, void *place, size_t len)
{
    memset(place, *(char *)context, len);
}

static void a_value_is_written_where_it_lies(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 100);
    huon_txn *txn = writing(env);
    huon_bytes value;
    char byte = 'x';
    OK(huon_reserve(txn, t, text("k00050"), 3, counted, &byte));
    OK(huon_reserve(txn, t, text("large"), 100000, counted, &byte));
    OK(huon_get(txn, t, text("k00050"), &value));
    EXPECT_TEXT(value, "xxx");
    OK(huon_commit(txn));
    txn = reading(env);
    OK(huon_get(txn, t, text("large"), &value));
    EXPECT_NUM(value.len, 100000);
    EXPECT_NUM(((const char *)value.data)[99999], 'x');
    OK(huon_abort(txn));
    OK(huon_close(env));
}

/* Keeps every other record; stops at the key that it is handed. */
static int kept(void *context, huon_bytes key, huon_bytes value)
{
    const char *last = (const char *)key.data + key.len - 1;
    EXPECT(value.len == key.len);
    if (context && key.len == strlen(context) && memcmp(key.data, context, key.len) == 0) return 2;
    return *last % 2 == 0;
}

static void a_function_says_what_stays(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, scaled(2000));
    huon_txn *txn = writing(env);
    huon_range range = {HUON_PREFIX, {NULL, 0}, {NULL, 0}};
    char stop[] = "k00017";
    uint64_t count;
    range.from = text("k0001");
    EXPECT_RC(huon_retain(txn, t, &range, kept, stop, &count), HUON_STOPPED);
    EXPECT_NUM(count, 3);
    OK(huon_retain(txn, t, NULL, kept, NULL, &count));
    EXPECT_NUM(count, scaled(2000) / 2 - 3);
    OK(huon_commit(txn));
    OK(huon_close(env));
}

static int joined(void *context, size_t index, huon_bytes value)
{
    char *all = context;
    sprintf(all + strlen(all), "%u%.*s ", (unsigned)index, (int)value.len,
            (const char *)value.data);
    return 0;
}

static void values_of_many_keys(void)
{
    huon_env *env = opened();
    huon_txn *txn = writing(env);
    huon_bytes keys[3], before[2];
    huon_multi m;
    huon_pair pair;
    char all[100] = "";
    size_t count;
    OK(huon_multi_create(txn, text("m"), NULL, &m));
    OK(huon_multi_put(txn, m, text("a"), text("2"), NULL));
    OK(huon_multi_put(txn, m, text("a"), text("1"), NULL));
    OK(huon_multi_put(txn, m, text("b"), text("3"), NULL));
    keys[0] = text("b"), keys[1] = text("none"), keys[2] = text("a");
    OK(huon_multi_get_many(txn, m, keys, 3, joined, all));
    EXPECT(strcmp(all, "03 21 22 ") == 0);
    OK(huon_multi_replace(txn, m, text("a"), text("9"), before, 2, &count));
    EXPECT_NUM(count, 2);
    EXPECT_TEXT(before[1], "2");
    OK(huon_multi_take(txn, m, text("a"), before, 2, &count));
    EXPECT_TEXT(before[0], "9");
    OK(huon_multi_pop_last(txn, m, &pair));
    EXPECT_TEXT(pair.value, "3");
    OK(huon_abort(txn));
    OK(huon_close(env));
}

/* Adds one to a number of one digit, or begins with 1; at 3 it goes away. */
static int count_up(void *context, const huon_bytes *old, huon_bytes *value)
{
    char *room = context;
    *room = old ? (char)(*(const char *)old->data + 1) : '1';
    if (*room == '3') return HUON_CHANGE_REMOVE;
    value->data = room, value->len = 1;
    return HUON_CHANGE_SET;
}

/* Gives no bytes, and says that there are some. */
static int lies(void *context, const huon_bytes *old, huon_bytes *value)
{
    (void)context, (void)old;
    value->data = NULL, value->len = 1;
    return HUON_CHANGE_SET;
}

static void a_function_says_what_becomes_of_a_value(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 1);
    huon_txn *txn = writing(env);
    huon_bytes value;
    huon_multi m;
    char room;
    bool was_there;
    OK(huon_multi_create(txn, text("m"), NULL, &m));
    OK(huon_update_with(txn, t, text("n"), count_up, &room, &was_there));
    EXPECT(!was_there);
    OK(huon_update_with(txn, t, text("n"), count_up, &room, NULL));
    OK(huon_get(txn, t, text("n"), &value));
    EXPECT_TEXT(value, "2");
    OK(huon_update_with(txn, t, text("n"), count_up, &room, &was_there));
    EXPECT(was_there);
    EXPECT_RC(huon_get(txn, t, text("n"), NULL), HUON_NOT_FOUND);
    OK(huon_multi_update_with(txn, m, text("n"), count_up, &room, NULL));
    EXPECT_RC(huon_multi_update_with(txn, m, text("n"), lies, NULL, NULL), HUON_BAD_ARGUMENT);
    OK(huon_multi_contains(txn, m, text("n"), text("1")));
    OK(huon_multi_put(txn, m, text("n"), text("0"), NULL));
    EXPECT_RC(huon_multi_update_with(txn, m, text("n"), count_up, &room, NULL), HUON_MANY_VALUES);
    OK(huon_commit(txn));
    OK(huon_close(env));
}

struct pairs {
    unsigned next, count;
    char key[16], value[16];
};

/* Ten values for each key. */
static int next_pair(void *context, huon_pair *pair)
{
    struct pairs *pairs = context;
    if (pairs->next == pairs->count) return HUON_NOT_FOUND;
    pair->key.data = pairs->key, pair->value.data = pairs->value;
    pair->key.len = (size_t)sprintf(pairs->key, "k%05u", pairs->next / 10);
    pair->value.len = (size_t)sprintf(pairs->value, "%u", pairs->next % 10);
    pairs->next++;
    return HUON_OK;
}

static void a_multimap_is_filled_and_emptied(void)
{
    huon_env *env = opened();
    huon_txn *txn = writing(env);
    huon_range some = {HUON_FROM | HUON_BEFORE, {NULL, 0}, {NULL, 0}};
    struct pairs pairs = {0, scaled(2000), "", ""};
    huon_multi m;
    uint64_t count;
    OK(huon_multi_create(txn, text("m"), NULL, &m));
    OK(huon_multi_bulk_load(txn, m, next_pair, &pairs));
    OK(huon_multi_count(txn, m, NULL, &count));
    EXPECT_NUM(count, pairs.count);
    some.from = text("3"), some.to = text("7");
    OK(huon_multi_remove_values(txn, m, text("k00004"), &some, &count));
    EXPECT_NUM(count, 4);
    OK(huon_multi_remove_values(txn, m, text("k00004"), NULL, &count));
    EXPECT_NUM(count, 6);
    OK(huon_multi_remove_values(txn, m, text("k00004"), NULL, &count));
    EXPECT_NUM(count, 0);
    OK(huon_commit(txn));
    OK(huon_close(env));
}

struct seen {
    unsigned tables, records, pages;
};

static int table(void *context, huon_bytes name, const huon_table_stat *stat)
{
    struct seen *seen = context;
    seen->tables++;
    EXPECT(name.len == 0 || stat->entries == 100);
    return HUON_VISIT;
}

static int record(void *context, huon_bytes key, huon_bytes value)
{
    struct seen *seen = context;
    EXPECT(key.len == 6 && value.len == 6);
    seen->records++;
    return HUON_VISIT;
}

static int page(void *context, const huon_page *page)
{
    struct seen *seen = context;
    seen->pages += page->page_count;
    return 0;
}

static void a_file_is_walked_over(void)
{
    huon_env *env = opened();
    struct seen seen = {0, 0, 0};
    huon_visitor visitor;
    huon_info info;
    uint64_t id;
    filled(env, 100);
    memset(&visitor, 0, sizeof visitor);
    visitor.bytes = sizeof visitor;
    visitor.table = table, visitor.record = record, visitor.context = &seen;
    OK(huon_visit_records(env, &visitor, &id));
    OK(huon_salvage(env, &visitor, NULL));
    EXPECT_NUM(seen.tables, 4);
    EXPECT_NUM(seen.records, 200);
    OK(huon_visit_pages(env, page, &seen, NULL));
    OK(huon_get_info(env, &info, sizeof info));
    EXPECT_NUM(seen.pages, info.used_bytes / info.page_bytes);
    EXPECT_NUM(id, info.newest);
    OK(huon_close(env));
}

static void durable_commits_go_by_a_journal(void)
{
    huon_options *options;
    huon_env *env;
    huon_info info;
    unsigned i;
    OK(huon_options_new(&options));
    OK(huon_options_set(options, HUON_JOURNAL_BYTES, 1 << 20));
    OK(huon_open("case.huon", options, &env));
    OK(huon_options_free(options));
    for (i = 0; i < 3; i++) filled(env, i + 1);
    OK(huon_get_info(env, &info, sizeof info));
    EXPECT_NUM(info.journal, HUON_JOURNAL_RUNNING);
    EXPECT_NUM(info.journal_batches, 2);
    OK(huon_close(env));
}

CASES(CASE(a_value_is_written_where_it_lies), CASE(a_function_says_what_stays),
      CASE(values_of_many_keys), CASE(a_function_says_what_becomes_of_a_value),
      CASE(a_multimap_is_filled_and_emptied), CASE(a_file_is_walked_over),
      CASE(durable_commits_go_by_a_journal))
