/*
 * Works on an environment beside others, in C and in Rust, until its standard input ends:
 * `mixed ROLE DIR`. Whatever it sees must hold.
 *
 * 1. The accounts of `c-accounts` have a constant sum in every snapshot, and so have those of
 *    `rust-accounts`, where a program in Rust keeps them.
 * 2. `c-index` has each account once, under what it holds in steps.
 * 3. All bytes of a blob are the same.
 */
#include "harness.h"

#include <poll.h>
#include <pthread.h>

#define ACCOUNTS 100
#define EACH 1000
#define STEP 100
#define BLOBS 40
#define BLOB_BYTES_MAX 9000
#define THREADS 3

struct tables {
    MDB_dbi accounts, index, blobs;
};

/* What is done on and on, with tables that are open. */
struct work {
    MDB_env *env;
    struct tables in;
    MDB_dbi of_rust;
    int renews;
};

static unsigned long rounds;

static int goes_on(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    __atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
    return poll(&input, 1, 0) == 0;
}

static unsigned below(unsigned end)
{
    static __thread unsigned seed;
    if (!seed) seed = getpid() ^ (unsigned)(uintptr_t)&seed;
    return rand_r(&seed) % end;
}

static struct tables open_tables(MDB_env *env, unsigned txn_flags, unsigned flags)
{
    MDB_txn *txn = begin(env, NULL, txn_flags);
    struct tables tables;
    tables.accounts = table(txn, "c-accounts", flags);
    tables.index = table(txn, "c-index", flags | MDB_DUPSORT);
    tables.blobs = table(txn, "c-blobs", flags);
    OK(mdb_txn_commit(txn));
    return tables;
}

/* ---- Changes ---- */

/* A number as a key: the highest byte first. */
static MDB_val number(unsigned char to[4], unsigned value)
{
    to[0] = value >> 24, to[1] = value >> 16, to[2] = value >> 8, to[3] = value;
    return bytes(to, 4);
}

static uint64_t amount_in(MDB_val data)
{
    uint64_t amount;
    EXPECT_NUM(data.mv_size, sizeof amount);
    memcpy(&amount, data.mv_data, sizeof amount);
    return amount;
}

static uint64_t held(MDB_txn *txn, struct tables in, unsigned account)
{
    unsigned char text[4];
    MDB_val key = number(text, account), data;
    OK(mdb_get(txn, in.accounts, &key, &data));
    return amount_in(data);
}

static void hold(MDB_txn *txn, struct tables in, unsigned account, uint64_t amount)
{
    unsigned char account_text[4], step_text[4];
    MDB_val key = number(account_text, account), data = bytes(&amount, sizeof amount), step;
    step = number(step_text, held(txn, in, account) / STEP);
    OK(mdb_del(txn, in.index, &step, &key));
    step = number(step_text, amount / STEP);
    OK(mdb_put(txn, in.index, &step, &key, MDB_NODUPDATA));
    OK(mdb_put(txn, in.accounts, &key, &data, 0));
}

static void transfer(MDB_txn *txn, struct tables in)
{
    unsigned from = below(ACCOUNTS), to = below(ACCOUNTS);
    uint64_t amount = below(held(txn, in, from) + 1);
    hold(txn, in, from, held(txn, in, from) - amount);
    hold(txn, in, to, held(txn, in, to) + amount);
}

static void change_blob(MDB_txn *txn, struct tables in)
{
    static char blob[BLOB_BYTES_MAX];
    MDB_val key = numbered("b", below(BLOBS)), data;
    if (below(4) == 0) {
        int rc = mdb_del(txn, in.blobs, &key, NULL);
        EXPECT(rc == 0 || rc == MDB_NOTFOUND);
        return;
    }
    data = bytes(blob, below(2) ? below(100) : below(BLOB_BYTES_MAX));
    memset(blob, below(256), data.mv_size);
    OK(mdb_put(txn, in.blobs, &key, &data, 0));
}

/* ---- What must hold ---- */

static void expect_sum(MDB_txn *txn, MDB_dbi accounts)
{
    MDB_cursor *cur = cursor(txn, accounts);
    MDB_val key, data;
    uint64_t sum = 0;
    int count = 0, rc;
    for (rc = mdb_cursor_get(cur, &key, &data, MDB_FIRST); rc == 0;
         rc = mdb_cursor_get(cur, &key, &data, MDB_NEXT)) {
        sum += amount_in(data);
        count++;
    }
    EXPECT_RC(rc, MDB_NOTFOUND);
    EXPECT_NUM(count, ACCOUNTS);
    EXPECT_NUM(sum, ACCOUNTS * EACH);
    mdb_cursor_close(cur);
}

/* Goes through the index by `first` and `next`. */
static void expect_index(MDB_txn *txn, struct tables in, MDB_cursor_op first, MDB_cursor_op next)
{
    MDB_cursor *cur = cursor(txn, in.index);
    MDB_val step, account;
    int count = 0, rc;
    for (rc = mdb_cursor_get(cur, &step, &account, first); rc == 0;
         rc = mdb_cursor_get(cur, &step, &account, next)) {
        unsigned char text[4];
        MDB_val data, wanted;
        OK(mdb_get(txn, in.accounts, &account, &data));
        wanted = number(text, amount_in(data) / STEP);
        EXPECT(step.mv_size == 4 && memcmp(step.mv_data, wanted.mv_data, 4) == 0);
        count++;
    }
    EXPECT_RC(rc, MDB_NOTFOUND);
    EXPECT_NUM(count, ACCOUNTS);
    mdb_cursor_close(cur);
}

static void expect_blob(MDB_val data)
{
    const char *blob = data.mv_data;
    if (data.mv_size > 1) EXPECT(memcmp(blob, blob + 1, data.mv_size - 1) == 0);
}

/* ---- Roles ---- */

static void fill(struct work *work)
{
    struct tables in = open_tables(work->env, 0, MDB_CREATE);
    MDB_txn *txn = WRITE(work->env);
    uint64_t amount = EACH;
    unsigned account;
    for (account = 0; account < ACCOUNTS; account++) {
        unsigned char account_text[4], step_text[4];
        MDB_val key = number(account_text, account), data = bytes(&amount, sizeof amount);
        MDB_val step = number(step_text, EACH / STEP);
        OK(mdb_put(txn, in.accounts, &key, &data, MDB_APPEND));
        OK(mdb_put(txn, in.index, &step, &key, MDB_APPENDDUP));
    }
    OK(mdb_txn_commit(txn));
}

static void writer(struct work *work)
{
    while (goes_on()) {
        MDB_txn *txn = WRITE(work->env);
        transfer(txn, work->in);
        if (below(3) == 0) change_blob(txn, work->in);
        if (below(5) == 0) {
            MDB_txn *child = begin(work->env, txn, 0);
            transfer(child, work->in);
            change_blob(child, work->in);
            if (below(2))
                OK(mdb_txn_commit(child));
            else
                mdb_txn_abort(child);
        }
        if (below(7))
            OK(mdb_txn_commit(txn));
        else
            mdb_txn_abort(txn);
        /* Nothing promises that the others have their turn. */
        usleep(below(300));
    }
}

/* Walks among the blobs, and puts and deletes where it stands. */
static void cursors(struct work *work)
{
    while (goes_on()) {
        MDB_txn *txn = WRITE(work->env);
        MDB_cursor *cur = cursor(txn, work->in.blobs);
        MDB_val key, data;
        int rc = mdb_cursor_get(cur, &key, &data, MDB_FIRST);
        for (; rc == 0; rc = mdb_cursor_get(cur, &key, &data, MDB_NEXT)) {
            char blob[600];
            expect_blob(data);
            if (below(8) == 0) {
                OK(mdb_cursor_del(cur, 0));
            } else if (below(8) == 0) {
                data = bytes(memset(blob, below(256), sizeof blob), below(sizeof blob));
                OK(mdb_cursor_put(cur, &key, &data, MDB_CURRENT));
            }
        }
        EXPECT_RC(rc, MDB_NOTFOUND);
        mdb_cursor_close(cur);
        expect_index(txn, work->in, MDB_LAST, MDB_PREV);
        OK(mdb_txn_commit(txn));
    }
}

static void *reader(void *arg)
{
    struct work *work = arg;
    MDB_txn *txn = READ(work->env);
    while (goes_on()) {
        MDB_val key, data;
        int rc;
        if (work->renews) {
            mdb_txn_reset(txn);
            OK(mdb_txn_renew(txn));
        } else {
            mdb_txn_abort(txn);
            txn = READ(work->env);
        }
        expect_sum(txn, work->in.accounts);
        expect_sum(txn, work->of_rust);
        expect_index(txn, work->in, MDB_FIRST, MDB_NEXT);
        key = numbered("b", below(BLOBS));
        rc = mdb_get(txn, work->in.blobs, &key, &data);
        if (rc != MDB_NOTFOUND) {
            OK(rc);
            expect_blob(data);
        }
    }
    mdb_txn_abort(txn);
    return NULL;
}

static void readers(struct work *work)
{
    struct work works[THREADS];
    pthread_t threads[THREADS];
    MDB_txn *txn = READ(work->env);
    int i;
    work->of_rust = table(txn, "rust-accounts", 0);
    OK(mdb_txn_commit(txn));
    for (i = 0; i < THREADS; i++) {
        works[i] = *work;
        works[i].renews = i > 0;
        EXPECT(pthread_create(&threads[i], NULL, reader, &works[i]) == 0);
    }
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(struct work *);
        unsigned flags;
    } roles[] = {
        {"fill", fill, 0},
        {"writer", writer, 0},
        {"lazy-writer", writer, MDB_NOSYNC},
        {"cursors", cursors, MDB_NOMETASYNC},
        {"readers", readers, MDB_RDONLY},
    };
    size_t i;
    EXPECT_NUM(argc, 3);
    EXPECT(chdir(argv[2]) == 0);
    for (i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        struct work work = {0};
        if (strcmp(argv[1], roles[i].name) != 0) continue;
        work.env = env_with(roles[i].flags);
        if (roles[i].run != fill) work.in = open_tables(work.env, MDB_RDONLY, 0);
        roles[i].run(&work);
        mdb_env_close(work.env);
        printf("%lu rounds\n", rounds);
        return 0;
    }
    fail(argv[1], 0, "no such role");
    return 1;
}
