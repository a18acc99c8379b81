/* Numbers and layouts that programs were built with: they never change. */
#include <huon.h>
#include <stdio.h>

static int failed;

#define SAME(what, wanted) \
    do { \
        long found_ = (long)(what); \
        if (found_ != (long)(wanted)) failed += printf("%s: %ld\n", #what, found_) > 0; \
    } while (0)

int main(void)
{
    SAME(HUON_OK, 0);
    SAME(HUON_NOT_FOUND, -1);
    SAME(HUON_CONFLICT, -5);
    SAME(HUON_KEY_TOO_LONG, 1);
    SAME(HUON_TABLE_TYPE, 35);
    SAME(HUON_JOURNAL, 36);
    SAME(HUON_DIVERGED, 37);
    SAME(HUON_BAD_HANDLE, 101);
    SAME(HUON_TOO_MANY, 107);
    SAME(HUON_PAGE_BYTES, 1);
    SAME(HUON_SLOW_READERS_BEFORE_GROWING, 20);
    SAME(HUON_JOURNAL_BYTES, 32);
    SAME(HUON_PREFIX, 16);
    SAME(huon_version(), HUON_VERSION);

    SAME(sizeof(huon_bytes), 2 * sizeof(void *));
    SAME(sizeof(huon_pair), 4 * sizeof(void *));
    SAME(offsetof(huon_pair, value), 2 * sizeof(void *));
    SAME(sizeof(huon_table), 16);
    SAME(sizeof(huon_multi), 16);
    SAME(offsetof(huon_info, file_bytes), 16);
    SAME(offsetof(huon_error, message), 16);
    puts(failed ? "FAIL" : "ok layout");
    return failed;
}
