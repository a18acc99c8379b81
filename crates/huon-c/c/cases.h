/*
 * What the C programs of all interfaces share: cases that run one by one, and checks.
 *
 * 1. Each case runs in a process and an empty directory of its own, so one that crashes or hangs
 *    is a failure with a name, and the others run all the same. Where every instruction is watched
 *    (HUON_C_WATCHED) all run in one process, in which most of the library is translated once.
 * 2. A program prints a line for each case: `ok`, `FAIL` or `skip`, its name, and what was wrong.
 *
 * A file that includes it defines CODE_TEXT before, what a result means.
 */
#ifndef CASES_H
#define CASES_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE_SECONDS_MAX 300
#define SKIPPED 77

struct test_case {
    const char *name;
    void (*run)(void);
};

#define CASE(name) {#name, name}
#define CASES(...) \
    int main(void) \
    { \
        const struct test_case cases[] = {__VA_ARGS__}; \
        return run_cases(cases, sizeof cases / sizeof cases[0]); \
    }

#define UNUSED __attribute__((unused))

/* ---- The end of a case ---- */

UNUSED static int is_watched(void)
{
    return getenv("HUON_C_WATCHED") != NULL;
}

/* Where a case ends that has no process of its own. */
static jmp_buf end_of_case;
static int case_result;

/* Ends the case; the result is not 0. */
UNUSED static void end_case(int result)
{
    fflush(stdout);
    if (!is_watched()) _exit(result);
    case_result = result;
    longjmp(end_of_case, 1);
}

/* Ends a forked child whose environment may be open. At the end of a process valgrind looks for
 * leaks, in every page of the address space that an environment reserves, which takes minutes: the
 * child becomes another program first. What valgrind has seen by then, it has said. */
UNUSED static void leave(void)
{
    if (is_watched()) execlp("true", "true", (char *)NULL);
    _exit(0);
}

/* ---- Memory that lives as long as its case ---- */

struct room {
    struct room *next;
};

/* Those of the case that runs. */
static struct room *rooms;
static pthread_mutex_t rooms_lock = PTHREAD_MUTEX_INITIALIZER;

/* So many bytes. */
UNUSED static void *case_room(size_t size)
{
    struct room *room = malloc(sizeof *room + size);
    if (!room) abort();
    pthread_mutex_lock(&rooms_lock);
    room->next = rooms, rooms = room;
    pthread_mutex_unlock(&rooms_lock);
    return room + 1;
}

/* Gives them back before the case ends. */
UNUSED static void free_room(void *bytes)
{
    struct room *room = (struct room *)bytes - 1, **at = &rooms;
    pthread_mutex_lock(&rooms_lock);
    while (*at != room) at = &(*at)->next;
    *at = room->next;
    pthread_mutex_unlock(&rooms_lock);
    free(room);
}

/* ---- Checks: the first one that fails ends its case ---- */

UNUSED static void fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("  %s:%d: ", file, line);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    end_case(1);
}

#define EXPECT(what) \
    do { \
        if (!(what)) fail(__FILE__, __LINE__, "not so: %s", #what); \
    } while (0)

#define EXPECT_RC(call, wanted) \
    do { \
        int rc_ = (call), wanted_ = (wanted); \
        if (rc_ != wanted_) \
            fail(__FILE__, __LINE__, "%s: %d (%s), expected %d (%s)", #call, rc_, \
                 CODE_TEXT(rc_), wanted_, CODE_TEXT(wanted_)); \
    } while (0)

#define OK(call) EXPECT_RC(call, 0)

#define EXPECT_NUM(what, wanted) \
    do { \
        long long found_ = (long long)(what), wanted_ = (long long)(wanted); \
        if (found_ != wanted_) \
            fail(__FILE__, __LINE__, "%s: %lld, expected %lld", #what, found_, wanted_); \
    } while (0)

/* ---- Cases that are not for every library ---- */

/* Ends the case as skipped. */
UNUSED static void skip(const char *reason)
{
    printf("  %s\n", reason);
    end_case(SKIPPED);
}

/* How much of something is to be done: less where every instruction is watched. */
UNUSED static unsigned scaled(unsigned count)
{
    return is_watched() ? count / 10 : count;
}

/* ---- The run ---- */

/* Runs a case in this process; the result is not 0 if it failed or was skipped. */
UNUSED static int run_here(const struct test_case *test)
{
    alarm(CASE_SECONDS_MAX);
    case_result = 0;
    if (setjmp(end_of_case) == 0) test->run();
    while (rooms) free_room(rooms + 1);
    return case_result;
}

/* Runs a case in a process of its own; the result is its exit code. */
UNUSED static int run_apart(const struct test_case *test)
{
    int status;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(CASE_SECONDS_MAX);
        test->run();
        exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("  ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Runs one case in a directory of its own; the result is its exit code. */
UNUSED static int run_case(const struct test_case *test)
{
    const char *base = getenv("TMPDIR");
    char dir[256], command[300];
    int result;
    snprintf(dir, sizeof dir, "%s/%s.XXXXXX", base ? base : "/tmp", test->name);
    if (!mkdtemp(dir) || chdir(dir) != 0) {
        printf("  %s: no directory: %s\n", dir, strerror(errno));
        return 1;
    }
    result = is_watched() ? run_here(test) : run_apart(test);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (chdir("/") != 0 || system(command) != 0) printf("  %s: not removed\n", dir);
    return result;
}

/* Runs all cases, or the one that HUON_C_CASE names. */
UNUSED static int run_cases(const struct test_case *cases, size_t count)
{
    const char *only = getenv("HUON_C_CASE");
    int failed = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        int end;
        if (only && strcmp(only, cases[i].name) != 0) continue;
        end = run_case(&cases[i]);
        printf("%s %s\n", end == 0 ? "ok" : end == SKIPPED ? "skip" : "FAIL", cases[i].name);
        failed += end != 0 && end != SKIPPED;
    }
    return failed != 0;
}

#endif
