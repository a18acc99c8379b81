/* What the C programs share beside `cases.h`: short words for common calls. */
#ifndef HARNESS_H
#define HARNESS_H

#include <huon.h>

#define CODE_TEXT(code) ((code) > 0 ? huon_error_message() : huon_strerror(code))
#include <cases.h>

#define EXPECT_TEXT(bytes, text) expect_text(__FILE__, __LINE__, #bytes, (bytes), text)

UNUSED static void expect_text(const char *file, int line, const char *what, huon_bytes found,
                               const char *text)
{
    if (found.len != strlen(text) || memcmp(found.data, text, found.len) != 0)
        fail(file, line, "%s: `%.*s`, expected `%s`", what, (int)found.len,
             (const char *)found.data, text);
}

UNUSED static huon_bytes text(const char *text)
{
    return huon_str(text);
}

/* `head` and a number of five digits, in one of a few places that are used in turn. */
UNUSED static huon_bytes numbered(const char *head, unsigned number)
{
    static __thread char names[16][32];
    static __thread unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s%05u", head, number);
    return text(name);
}

/* An environment in the case's directory, with lazy commits. */
UNUSED static huon_env *opened(void)
{
    huon_options *options;
    huon_env *env;
    OK(huon_options_new(&options));
    OK(huon_options_set(options, HUON_DURABILITY, HUON_LAZY));
    OK(huon_open("case.huon", options, &env));
    OK(huon_options_free(options));
    return env;
}

UNUSED static huon_txn *reading(huon_env *env)
{
    huon_txn *txn;
    OK(huon_begin_read(env, &txn));
    return txn;
}

UNUSED static huon_txn *writing(huon_env *env)
{
    huon_txn *txn;
    OK(huon_begin_write(env, -1, &txn));
    return txn;
}

/* A table with so many records, whose keys and values are `k` and `v` with a number. */
UNUSED static huon_table filled(huon_env *env, unsigned count)
{
    huon_txn *txn = writing(env);
    huon_table table;
    unsigned i;
    OK(huon_table_create(txn, text("t"), NULL, &table));
    for (i = 0; i < count; i++)
        OK(huon_put(txn, table, numbered("k", i), numbered("v", i), NULL));
    OK(huon_commit(txn));
    return table;
}

#endif
