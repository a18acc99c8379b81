/* What needs no environment: texts, limits, orders, numbers as keys, what is logged. */
#include "harness.h"
#include <math.h>
#include <signal.h>

/* Programs compare them, and look for them in logs: letter for letter those of libmdbx 0.11. */
static const struct {
    int code;
    const char *text;
} texts[] = {
    {MDBX_KEYEXIST, "MDBX_KEYEXIST: Key/data pair already exists"},
    {MDBX_NOTFOUND, "MDBX_NOTFOUND: No matching key/data pair found"},
    {MDBX_PAGE_NOTFOUND, "MDBX_PAGE_NOTFOUND: Requested page not found"},
    {MDBX_CORRUPTED, "MDBX_CORRUPTED: Database is corrupted"},
    {MDBX_PANIC, "MDBX_PANIC: Environment had fatal error"},
    {MDBX_VERSION_MISMATCH, "MDBX_VERSION_MISMATCH: DB version mismatch libmdbx"},
    {MDBX_INVALID, "MDBX_INVALID: File is not an MDBX file"},
    {MDBX_MAP_FULL, "MDBX_MAP_FULL: Environment mapsize limit reached"},
    {MDBX_DBS_FULL, "MDBX_DBS_FULL: Too many DBI-handles (maxdbs reached)"},
    {MDBX_READERS_FULL, "MDBX_READERS_FULL: Too many readers (maxreaders reached)"},
    {MDBX_TXN_FULL,
     "MDBX_TXN_FULL: Transaction has too many dirty pages, i.e transaction is too big"},
    {MDBX_CURSOR_FULL,
     "MDBX_CURSOR_FULL: Cursor stack limit reachedn - this usually indicates corruption, "
     "i.e branch-pages loop"},
    {MDBX_PAGE_FULL, "MDBX_PAGE_FULL: Internal error - Page has no more space"},
    {MDBX_UNABLE_EXTEND_MAPSIZE,
     "MDBX_UNABLE_EXTEND_MAPSIZE: Database engine was unable to extend mapping, e.g. "
     "since address space is unavailable or busy, or Operation system not supported such "
     "operations"},
    {MDBX_INCOMPATIBLE,
     "MDBX_INCOMPATIBLE: Environment or database is not compatible with the requested "
     "operation or the specified flags"},
    {MDBX_BAD_RSLOT,
     "MDBX_BAD_RSLOT: Invalid reuse of reader locktable slot, e.g. read-transaction "
     "already run for current thread"},
    {MDBX_BAD_TXN,
     "MDBX_BAD_TXN: Transaction is not valid for requested operation, e.g. had errored "
     "and be must aborted, has a child, or is invalid"},
    {MDBX_BAD_VALSIZE,
     "MDBX_BAD_VALSIZE: Invalid size or alignment of key or data for target database, "
     "either invalid subDB name"},
    {MDBX_BAD_DBI,
     "MDBX_BAD_DBI: The specified DBI-handle is invalid or changed by another "
     "thread/transaction"},
    {MDBX_PROBLEM, "MDBX_PROBLEM: Unexpected internal error, transaction should be aborted"},
    {MDBX_BUSY,
     "MDBX_BUSY: Another write transaction is running, or environment is already used "
     "while opening with MDBX_EXCLUSIVE flag"},
    {MDBX_EMULTIVAL, "MDBX_EMULTIVAL: The specified key has more than one associated value"},
    {MDBX_EBADSIGN,
     "MDBX_EBADSIGN: Wrong signature of a runtime object(s), e.g. memory corruption or "
     "double-free"},
    {MDBX_WANNA_RECOVERY,
     "MDBX_WANNA_RECOVERY: Database should be recovered, but this could NOT be done "
     "automatically for now since it opened in read-only mode"},
    {MDBX_EKEYMISMATCH,
     "MDBX_EKEYMISMATCH: The given key value is mismatched to the current cursor position"},
    {MDBX_TOO_LARGE,
     "MDBX_TOO_LARGE: Database is too large for current system, e.g. could NOT be mapped "
     "into RAM"},
    {MDBX_THREAD_MISMATCH,
     "MDBX_THREAD_MISMATCH: A thread has attempted to use a not owned object, e.g. a "
     "transaction that started by another thread"},
    {MDBX_TXN_OVERLAPPING,
     "MDBX_TXN_OVERLAPPING: Overlapping read and write transactions for the current thread"},
    {MDBX_SUCCESS, "MDBX_SUCCESS: Successful"},
};

static void texts_of_results(void)
{
    char buffer[300];
    unsigned i;
    for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *found = mdbx_strerror(texts[i].code);
        if (strcmp(found, texts[i].text) != 0)
            fail(__FILE__, __LINE__, "`%s`, expected `%s`", found, texts[i].text);
        EXPECT(strcmp(mdbx_liberr2str(texts[i].code), texts[i].text) == 0);
        EXPECT(strcmp(mdbx_strerror_r(texts[i].code, buffer, sizeof buffer), texts[i].text) == 0);
    }
    for (i = 1; i < 150; i++) EXPECT(strcmp(mdbx_strerror((int)i), strerror((int)i)) == 0);
    EXPECT(strcmp(mdbx_strerror(-1), "error -1") == 0);
    EXPECT(strcmp(mdbx_strerror(-30777), "error -30777") == 0);
    EXPECT(strcmp(mdbx_strerror(100000), "Unknown error 100000") == 0);
    EXPECT(mdbx_liberr2str(-1) == NULL);
}

static void results_have_texts(void)
{
    char buffer[100];
    EXPECT(strstr(mdbx_strerror(MDBX_NOTFOUND), "MDBX_NOTFOUND") != NULL);
    EXPECT(strstr(mdbx_liberr2str(MDBX_BAD_DBI), "MDBX_BAD_DBI") != NULL);
    EXPECT(strstr(mdbx_strerror(MDBX_SUCCESS), "MDBX_SUCCESS") != NULL);
    EXPECT(mdbx_liberr2str(ENOENT) == NULL);
    EXPECT(strcmp(mdbx_strerror(ENOENT), strerror(ENOENT)) == 0);
    EXPECT(mdbx_strerror(-12345) != NULL);
    EXPECT(strcmp(mdbx_strerror_r(ENOENT, buffer, sizeof buffer), strerror(ENOENT)) == 0);
    EXPECT(strstr(mdbx_strerror_r(MDBX_BUSY, buffer, sizeof buffer), "MDBX_BUSY") != NULL);
    EXPECT(mdbx_strerror_r(ENOENT, NULL, 0) == NULL);
}

static void limits(void)
{
    const intptr_t sizes[] = {256, 1024, 4096, 16384, 65536};
    unsigned i;
    EXPECT_NUM(mdbx_limits_pgsize_min(), MDBX_MIN_PAGESIZE);
    EXPECT_NUM(mdbx_limits_pgsize_max(), MDBX_MAX_PAGESIZE);
    EXPECT_NUM(mdbx_default_pagesize(), 4096);
    for (i = 0; i < 5; i++) {
        const intptr_t half = sizes[i] / 2;
        const intptr_t key = mdbx_limits_keysize_max(sizes[i], MDBX_DB_DEFAULTS);
        EXPECT_NUM(key, half - 26);
        EXPECT(mdbx_limits_keysize_max(sizes[i], MDBX_DUPSORT) <= key);
        EXPECT(mdbx_limits_keysize_max(sizes[i], MDBX_DUPSORT) >= key - 48);
        EXPECT_NUM(mdbx_limits_keysize_max(sizes[i], MDBX_INTEGERKEY), 8);
        EXPECT_NUM(mdbx_limits_valsize_max(sizes[i], MDBX_DUPSORT), key);
        EXPECT_NUM(mdbx_limits_valsize_max(sizes[i], DB_FLAGS(MDBX_DUPSORT | MDBX_INTEGERDUP)), 8);
        EXPECT_NUM(mdbx_limits_valsize_max(sizes[i], MDBX_DB_DEFAULTS), 0x7ff00000);
        EXPECT(mdbx_limits_dbsize_min(sizes[i]) > 0);
        EXPECT(mdbx_limits_dbsize_max(sizes[i]) >> 39 > 0 || sizes[i] < 4096);
        EXPECT(mdbx_limits_txnsize_max(sizes[i]) > mdbx_limits_dbsize_min(sizes[i]));
    }
    EXPECT_NUM(mdbx_limits_keysize_max(-1, MDBX_DB_DEFAULTS), 2022); /* of 4 KiB */
    EXPECT_NUM(mdbx_limits_keysize_max(1000, MDBX_DB_DEFAULTS), -1);
    EXPECT_NUM(mdbx_limits_valsize_max(1000, MDBX_DB_DEFAULTS), -1);
    EXPECT_NUM(mdbx_limits_dbsize_min(1000), -1);
    EXPECT_NUM(mdbx_limits_dbsize_max(1 << 20), -1);
    EXPECT_NUM(mdbx_limits_txnsize_max(128), -1);
}

static void memory(void)
{
    intptr_t page = 0, total = 0, avail = 0;
    OK(mdbx_get_sysraminfo(&page, &total, &avail));
    EXPECT_NUM(page, sysconf(_SC_PAGESIZE));
    EXPECT(total > 0 && avail >= 0 && avail <= total);
    OK(mdbx_get_sysraminfo(NULL, &total, NULL));
    EXPECT_RC(mdbx_get_sysraminfo(NULL, NULL, NULL), MDBX_EINVAL);
    YES(mdbx_is_readahead_reasonable(1 << 20, 0));
    NO(mdbx_is_readahead_reasonable((size_t)1 << 46, 0));
}

static void numbers_as_keys(void)
{
    const int64_t integers[] = {INT64_MIN, -1000000007, -2, -1, 0, 1, 2, 1 << 20, INT64_MAX};
    const double doubles[] = {-INFINITY, -1e300, -1.5, -1, -1e-300, 0, 1e-300, 1, 1.5, INFINITY};
    uint64_t last = 0, key;
    uint32_t small, last_small = 0;
    MDBX_val val;
    unsigned i;
    for (i = 0; i < sizeof integers / sizeof integers[0]; i++, last = key) {
        key = mdbx_key_from_int64(integers[i]);
        val = bytes(&key, sizeof key);
        EXPECT(mdbx_int64_from_key(val) == integers[i]);
        EXPECT(i == 0 || key > last);
        small = mdbx_key_from_int32((int32_t)integers[i]);
        val = bytes(&small, sizeof small);
        EXPECT(mdbx_int32_from_key(val) == (int32_t)integers[i]);
    }
    for (i = 0; i < sizeof doubles / sizeof doubles[0]; i++, last = key, last_small = small) {
        const float single = (float)doubles[i];
        key = mdbx_key_from_double(doubles[i]);
        val = bytes(&key, sizeof key);
        EXPECT(mdbx_double_from_key(val) == doubles[i]);
        EXPECT(key == mdbx_key_from_ptrdouble(&doubles[i]));
        EXPECT(i == 0 || key > last);
        small = mdbx_key_from_float(single);
        val = bytes(&small, sizeof small);
        EXPECT(mdbx_float_from_key(val) == single);
        EXPECT(small == mdbx_key_from_ptrfloat(&single));
        EXPECT(i == 0 || small >= last_small);
    }
    EXPECT(mdbx_key_from_int64(0) == (uint64_t)1 << 63 && mdbx_key_from_int32(-1) == 0x7fffffff);
    EXPECT(mdbx_key_from_double(1.0) == 0xbff0000000000000u);
}

/* Integers and fractions in one order. */
static void numbers_of_json(void)
{
    const int64_t there_and_back[] = {1, -1, 42, ((int64_t)1 << 53) - 1, -((int64_t)1 << 53)};
    MDBX_val val;
    uint64_t key;
    unsigned i;
    for (i = 0; i < 5; i++) {
        key = mdbx_key_from_jsonInteger(there_and_back[i]);
        val = bytes(&key, sizeof key);
        EXPECT(mdbx_jsonInteger_from_key(val) == there_and_back[i]);
        EXPECT(key == mdbx_key_from_double((double)there_and_back[i]));
    }
    EXPECT(mdbx_key_from_jsonInteger(1) < mdbx_key_from_double(1.5));
    EXPECT(mdbx_key_from_jsonInteger(2) > mdbx_key_from_double(1.5));
    key = mdbx_key_from_double(-2.75);
    val = bytes(&key, sizeof key);
    EXPECT_NUM(mdbx_jsonInteger_from_key(val), -2);
    if (OURS) { /* libmdbx 0.11.8 has the largest integer for 0 */
        key = mdbx_key_from_jsonInteger(0);
        val = bytes(&key, sizeof key);
        EXPECT_NUM(mdbx_jsonInteger_from_key(val), 0);
    }
}

static void orders(void)
{
    MDBX_val ab = text("ab"), b = text("b"), same = text("ab");
    uint64_t one = 1, many = 256;
    MDBX_val low = bytes(&one, sizeof one), high = bytes(&many, sizeof many);
    EXPECT(mdbx_get_keycmp(MDBX_DB_DEFAULTS)(&ab, &b) < 0);
    EXPECT(mdbx_get_keycmp(MDBX_DB_DEFAULTS)(&ab, &same) == 0);
    EXPECT(mdbx_get_keycmp(MDBX_REVERSEKEY)(&ab, &b) > 0);
    EXPECT(mdbx_get_keycmp(MDBX_INTEGERKEY)(&low, &high) < 0);
    EXPECT(mdbx_get_datacmp(MDBX_DUPSORT)(&ab, &b) < 0);
    EXPECT(mdbx_get_datacmp(DB_FLAGS(MDBX_DUPSORT | MDBX_REVERSEDUP))(&ab, &b) > 0);
    EXPECT(mdbx_get_datacmp(DB_FLAGS(MDBX_DUPSORT | MDBX_INTEGERDUP))(&low, &high) < 0);
    EXPECT(mdbx_get_datacmp(MDBX_DB_DEFAULTS)(&ab, &b) != 0);
    EXPECT(mdbx_get_datacmp(MDBX_DB_DEFAULTS)(&ab, &same) == 0);
}

static void values_are_shown(void)
{
    char buffer[64];
    MDBX_val val = text("hello");
    EXPECT(strcmp(mdbx_dump_val(&val, buffer, sizeof buffer), "hello") == 0);
    EXPECT(mdbx_dump_val(&val, buffer, 3) == NULL);
    val = bytes("\1\2\xff", 3);
    EXPECT(strstr(mdbx_dump_val(&val, buffer, sizeof buffer), "0102ff") != NULL);
    val = bytes("", 0);
    EXPECT(mdbx_dump_val(&val, buffer, sizeof buffer) != NULL);
    EXPECT(mdbx_dump_val(NULL, buffer, sizeof buffer) != NULL);
}

static void how_it_behaves(void)
{
    int before = mdbx_setup_debug(MDBX_LOG_WARN, MDBX_DBG_LEGACY_OVERLAP, NULL);
    int after = mdbx_setup_debug(MDBX_LOG_DONTCHANGE, MDBX_DBG_DONTCHANGE, MDBX_LOGGER_DONTCHANGE);
    EXPECT_NUM(before & MDBX_DBG_LEGACY_OVERLAP, 0);
    EXPECT_NUM(after >> 16, MDBX_LOG_WARN);
    EXPECT(after & MDBX_DBG_LEGACY_OVERLAP);
}

static void which_it_is(void)
{
    EXPECT_NUM(mdbx_version.major, MDBX_VERSION_MAJOR);
    EXPECT_NUM(mdbx_version.minor, MDBX_VERSION_MINOR);
    EXPECT(mdbx_version.git.describe && mdbx_version.sourcery);
    EXPECT(mdbx_build.target && mdbx_build.compiler && mdbx_build.options && mdbx_build.flags);
    if (OURS) EXPECT(strstr(mdbx_version.sourcery, "Huon") != NULL);
}

static void logs(MDBX_log_level_t level, const char *function, int line, const char *format,
                 va_list args)
{
    char text[200];
    FILE *log = fopen("log", "a");
    vsnprintf(text, sizeof text, format, args);
    fprintf(log, "%d %s %d %s", level, function ? function : "", line, text);
    fclose(log);
}

/* Whether a child that does this ends itself by SIGABRT, and what it had logged. */
static void ends_the_process(void (*work)(void), const char *logged)
{
    char log[300];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        mdbx_setup_debug(MDBX_LOG_FATAL, MDBX_DBG_NONE, logs);
        work();
        leave();
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (logged) {
        FILE *file = fopen("log", "r");
        EXPECT(file != NULL);
        log[fread(log, 1, sizeof log - 1, file)] = 0;
        fclose(file);
        if (!strstr(log, logged)) fail(__FILE__, __LINE__, "`%s`, expected `%s`", log, logged);
    }
}

static void panics(void)
{
    mdbx_panic("the sky is at 100%% of its height");
}

static void asserts(void)
{
    mdbx_assert_fail(NULL, "1 < 0 at 100%", "asserts", 42);
}

#if OURS
static char line_of_text[16];

static void takes(MDBX_log_level_t level, const char *function, int line, const char *msg,
                  unsigned length)
{
    FILE *log = fopen("log", "w");
    (void)function, (void)line;
    fprintf(log, "%d %u %s %d", level, length, msg, msg == line_of_text);
    fclose(log);
}

static void panics_in_few_words(void)
{
    mdbx_setup_debug_nofmt(MDBX_LOG_FATAL, MDBX_DBG_NONE, takes, line_of_text,
                           sizeof line_of_text);
    mdbx_setup_debug_nofmt(MDBX_LOG_DONTCHANGE, MDBX_DBG_DONTCHANGE, MDBX_LOGGER_NOFMT_DONTCHANGE,
                           NULL, 0);
    mdbx_panic("too long for the memory of the program");
}

/* Of what came to the interface later. */
static void logged_as_one_text(void)
{
    ends_the_process(panics_in_few_words, "0 15 too long for th 1");
}
#else
static void logged_as_one_text(void)
{
    ours_alone();
}
#endif

static void the_end_of_the_process(void)
{
    ends_the_process(panics, OURS ? "the sky is at 100" : NULL);
    ends_the_process(asserts, OURS ? "0 asserts 42 1 < 0 at 100%" : NULL);
}

CASES(CASE(texts_of_results), CASE(results_have_texts),
      CASE(limits), CASE(memory), CASE(numbers_as_keys),
      CASE(numbers_of_json), CASE(orders), CASE(values_are_shown), CASE(how_it_behaves),
      CASE(which_it_is), CASE(the_end_of_the_process), CASE(logged_as_one_text))
