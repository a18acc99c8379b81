/* The programs of docs/C.md, each a case; a test compares them with what the page shows. */
#include "harness.h"

#define main first_program
#include "../../../../docs/c/first.c"
#undef main

#define main batches_program
#include "../../../../docs/c/batches.c"
#undef main

static void the_first_program_runs(void)
{
    EXPECT_NUM(first_program(), 0);
    EXPECT_NUM(first_program(), 0);
}

static void the_program_of_batches_runs(void)
{
    EXPECT_NUM(batches_program(), 0);
}

CASES(CASE(the_first_program_runs), CASE(the_program_of_batches_runs))
