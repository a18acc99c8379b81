/*
 * Puts as many records as it is told in one transaction, nothing else, so that the
 * caller can count what that costs: `growth COUNT` in an empty directory.
 */
#include "harness.h"

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? atoi(argv[1]) : 0, i;
    MDB_env *env = env_with(MDB_NOSYNC);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, "t", MDB_CREATE);
    MDB_val data = filled(1500, 'v');
    for (i = 0; i < count; i++) {
        /* Not in order, and each once: the factor is odd. */
        MDB_val key = numbered("k", i * 40503u % 65536);
        OK(mdb_put(txn, dbi, &key, &data, 0));
    }
    EXPECT_NUM(entries(txn, dbi), count);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return 0;
}
