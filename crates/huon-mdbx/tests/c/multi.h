/* A table of many values a key, and a cursor in it. */
#include "harness.h"

struct place {
    MDBX_env *env;
    MDBX_txn *txn;
    MDBX_dbi dbi;
    MDBX_cursor *cur;
};

UNUSED static struct place multi(unsigned flags)
{
    struct place in;
    in.env = env_with(MDBX_UTTERLY_NOSYNC);
    in.txn = WRITE(in.env);
    in.dbi = table(in.txn, "t", MDBX_CREATE | MDBX_DUPSORT | flags);
    in.cur = cursor(in.txn, in.dbi);
    return in;
}

/* a: 1; b: 1 2 3; c: 5 */
UNUSED static struct place few(void)
{
    struct place in = multi(0);
    OK(put(in.txn, in.dbi, "a", "1", 0));
    OK(put(in.txn, in.dbi, "b", "3", 0));
    OK(put(in.txn, in.dbi, "b", "1", 0));
    OK(put(in.txn, in.dbi, "b", "2", 0));
    OK(put(in.txn, in.dbi, "c", "5", 0));
    return in;
}

UNUSED static void done(struct place in)
{
    mdbx_cursor_close(in.cur);
    OK(mdbx_txn_commit(in.txn));
    OK(mdbx_env_close(in.env));
}
