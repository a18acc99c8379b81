#include "calls.h"

#include <pthread.h>

/* Go's: see calls.go, order.go and merger.go. What a function fails with goes to *failed, unless
 * that has something already, or is NULL. */
extern void huonGoForget(uintptr_t failed);
extern int huonGoCompare(uintptr_t number, uint8_t *a, size_t a_len, uint8_t *b, size_t b_len,
                         uintptr_t *failed);
extern int huonGoMerge(uintptr_t merger, uint8_t *older, size_t older_len, uint8_t *newer,
                       size_t newer_len, void **made, size_t *made_len, uintptr_t *failed);

/* The innermost call of Go's in this thread; NULL in threads of the library's. */
static __thread go_catch *go_here;

void go_catch_in(go_catch *here)
{
    here->outer = go_here;
    here->failed = 0;
    here->is_told = false;
    go_here = here;
}

void go_catch_out(go_catch *here, int *code, go_fault **fault)
{
    go_here = here->outer;
    if (here->failed == 0) return;
    /* A commit whose merges fail is one all the same. */
    if (here->is_told && *code != HUON_INVALID) {
        huonGoForget(here->failed);
        return;
    }
    free(*fault);
    *code = HUON_STOPPED;
    *fault = calloc(1, sizeof **fault + 1);
    if (*fault == NULL) {
        huonGoForget(here->failed);
        return;
    }
    (*fault)->failed = here->failed;
    (*fault)->page = UINT32_MAX;
}

static uintptr_t *go_failed(void) { return go_here == NULL ? NULL : &go_here->failed; }

int go_compare(void *number, huon_bytes a, huon_bytes b)
{
    /* After a panic the answer does not matter any more, and Go is not asked again. */
    if (go_here != NULL && go_here->failed != 0) return 0;
    return huonGoCompare((uintptr_t)number, (uint8_t *)go_address(a), a.len,
                         (uint8_t *)go_address(b), b.len, go_failed());
}

/* The value that a function has made last in this thread. */
static pthread_key_t go_made;
static pthread_once_t go_made_once = PTHREAD_ONCE_INIT;
static bool go_has_made;

static void go_make(void) { go_has_made = pthread_key_create(&go_made, free) == 0; }

int go_merge(void *merger, huon_bytes older, huon_bytes newer, huon_bytes *value)
{
    void *made = NULL;
    size_t made_len = 0;
    if (pthread_once(&go_made_once, go_make) != 0 || !go_has_made) return 1;
    if (huonGoMerge((uintptr_t)merger, (uint8_t *)go_address(older), older.len,
                    (uint8_t *)go_address(newer), newer.len, &made, &made_len, go_failed()) != 0) {
        if (go_here != NULL) go_here->is_told = true;
        return 1;
    }
    free(pthread_getspecific(go_made));
    if (pthread_setspecific(go_made, made) != 0) {
        free(made);
        return 1;
    }
    *value = go_slice(made, made_len);
    return 0;
}
