#include "calls.h"

/* Go's: see order.go. It sets *thrown to what the function has panicked with. */
extern int huonGoCompare(uintptr_t number, uint8_t *a, size_t a_len, uint8_t *b, size_t b_len,
                         char **thrown);

static __thread char *go_thrown;

int go_compare(void *number, huon_bytes a, huon_bytes b)
{
    char *thrown = NULL;
    int compared;
    /* After a panic the answer does not matter any more, and Go is not asked again. */
    if (go_thrown != NULL) return 0;
    compared = huonGoCompare((uintptr_t)number, (uint8_t *)a.data, a.len, (uint8_t *)b.data,
                             b.len, &thrown);
    go_thrown = thrown;
    return thrown == NULL ? compared : 0;
}

char *go_take_thrown(void)
{
    char *thrown = go_thrown;
    go_thrown = NULL;
    return thrown;
}
