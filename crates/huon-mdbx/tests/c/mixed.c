/*
 * Works on an environment beside others, in C and in Rust, until its standard input ends:
 * `mixed ROLE DIR`. Whatever it sees must hold.
 *
 * 1. The accounts of `c-accounts` have a constant sum in every snapshot, and so have those of
 *    `rust-accounts`, where a program in Rust keeps them.
 * 2. `c-index` has each account once, under what it holds in steps.
 * 3. The sequence of `c-accounts` counts the transfers that were committed, and so does the first
 *    of the three numbers of the environment.
 */
#include "harness.h"

#include <poll.h>
#include <pthread.h>

#define ACCOUNTS 100
#define EACH 1000
#define STEP 100
#define THREADS 3

struct work {
    MDBX_env *env;
    unsigned txn_flags;
    MDBX_dbi accounts, index, of_rust;
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

/* A number as a key: the highest byte first. */
static MDBX_val number(unsigned char to[4], unsigned value)
{
    to[0] = value >> 24, to[1] = value >> 16, to[2] = value >> 8, to[3] = value;
    return bytes(to, 4);
}

static uint64_t amount_in(MDBX_val data)
{
    uint64_t amount;
    EXPECT_NUM(data.iov_len, sizeof amount);
    memcpy(&amount, data.iov_base, sizeof amount);
    return amount;
}

/* Changes what an account holds, and returns what it held before. */
static uint64_t hold(MDBX_txn *txn, const struct work *work, unsigned account, int64_t more)
{
    unsigned char account_text[4], step_text[4];
    MDBX_val key = number(account_text, account), data, old, step;
    uint64_t before, amount;
    OK(mdbx_get(txn, work->accounts, &key, &data));
    before = amount_in(data);
    amount = before + more;
    step = number(step_text, before / STEP);
    OK(mdbx_del(txn, work->index, &step, &key));
    step = number(step_text, amount / STEP);
    OK(mdbx_put(txn, work->index, &step, &key, MDBX_NODUPDATA));
    data = bytes(&amount, sizeof amount);
    old = bytes(&before, sizeof before);
    OK(mdbx_replace(txn, work->accounts, &key, &data, &old, MDBX_UPSERT));
    return before;
}

static void transfer(MDBX_txn *txn, const struct work *work)
{
    unsigned from = below(ACCOUNTS), to = below(ACCOUNTS);
    int64_t moved = below((unsigned)hold(txn, work, from, 0) + 1);
    MDBX_canary count;
    uint64_t before;
    hold(txn, work, from, -moved);
    hold(txn, work, to, moved);
    OK(mdbx_dbi_sequence(txn, work->accounts, &before, 1));
    OK(mdbx_canary_get(txn, &count));
    EXPECT_NUM(count.x, before);
    count.x++;
    OK(mdbx_canary_put(txn, &count));
}

/* ---- What must hold ---- */

static void expect_sum(MDBX_txn *txn, MDBX_dbi accounts)
{
    MDBX_cursor *cur = cursor(txn, accounts);
    MDBX_val key, data;
    uint64_t sum = 0;
    int count = 0, rc;
    for (rc = mdbx_cursor_get(cur, &key, &data, MDBX_FIRST); rc == 0;
         rc = mdbx_cursor_get(cur, &key, &data, MDBX_NEXT)) {
        sum += amount_in(data);
        count++;
    }
    EXPECT_RC(rc, MDBX_NOTFOUND);
    EXPECT_NUM(count, ACCOUNTS);
    EXPECT_NUM(sum, ACCOUNTS * EACH);
    mdbx_cursor_close(cur);
}

static void expect_index(MDBX_txn *txn, const struct work *work)
{
    MDBX_cursor *cur = cursor(txn, work->index);
    MDBX_val step, account;
    int count = 0, rc;
    for (rc = mdbx_cursor_get(cur, &step, &account, MDBX_LAST); rc == 0;
         rc = mdbx_cursor_get(cur, &step, &account, MDBX_PREV)) {
        unsigned char text[4];
        MDBX_val data, wanted;
        OK(mdbx_get(txn, work->accounts, &account, &data));
        wanted = number(text, amount_in(data) / STEP);
        EXPECT(step.iov_len == 4 && memcmp(step.iov_base, wanted.iov_base, 4) == 0);
        count++;
    }
    EXPECT_RC(rc, MDBX_NOTFOUND);
    EXPECT_NUM(count, ACCOUNTS);
    mdbx_cursor_close(cur);
}

/* ---- Roles ---- */

static void open_tables(struct work *work, unsigned txn_flags, unsigned flags)
{
    MDBX_txn *txn = begin(work->env, NULL, txn_flags);
    work->accounts = table(txn, "c-accounts", flags);
    work->index = table(txn, "c-index", flags | MDBX_DUPSORT);
    OK(mdbx_txn_commit(txn));
}

static void fill(struct work *work)
{
    uint64_t amount = EACH;
    unsigned account;
    MDBX_txn *txn = WRITE(work->env);
    for (account = 0; account < ACCOUNTS; account++) {
        unsigned char account_text[4], step_text[4];
        MDBX_val key = number(account_text, account), data = bytes(&amount, sizeof amount);
        MDBX_val step = number(step_text, EACH / STEP);
        OK(mdbx_put(txn, work->accounts, &key, &data, MDBX_APPEND));
        OK(mdbx_put(txn, work->index, &step, &key, MDBX_APPENDDUP));
    }
    OK(mdbx_txn_commit(txn));
}

static void writer(struct work *work)
{
    while (goes_on()) {
        MDBX_txn *txn = begin(work->env, NULL, work->txn_flags);
        transfer(txn, work);
        if (below(5) == 0) {
            MDBX_txn *child = begin(work->env, txn, 0);
            transfer(child, work);
            OK(below(2) ? mdbx_txn_commit(child) : mdbx_txn_abort(child));
        }
        OK(below(7) ? mdbx_txn_commit(txn) : mdbx_txn_abort(txn));
        /* Nothing promises that the others have their turn. */
        usleep(below(300));
    }
}

static void *reader(void *arg)
{
    const struct work *work = arg;
    MDBX_txn *txn = READ(work->env);
    while (goes_on()) {
        MDBX_canary count;
        uint64_t sequence;
        OK(mdbx_txn_reset(txn));
        OK(mdbx_txn_renew(txn));
        expect_sum(txn, work->accounts);
        expect_sum(txn, work->of_rust);
        expect_index(txn, work);
        OK(mdbx_dbi_sequence(txn, work->accounts, &sequence, 0));
        OK(mdbx_canary_get(txn, &count));
        EXPECT_NUM(count.x, sequence);
    }
    OK(mdbx_txn_abort(txn));
    return NULL;
}

static void readers(struct work *work)
{
    pthread_t threads[THREADS];
    MDBX_txn *txn = READ(work->env);
    int i;
    work->of_rust = table(txn, "rust-accounts", 0);
    OK(mdbx_txn_commit(txn));
    for (i = 0; i < THREADS; i++) EXPECT(pthread_create(&threads[i], NULL, reader, work) == 0);
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(struct work *);
        unsigned env_flags, txn_flags;
    } roles[] = {
        {"fill", fill, 0, 0},
        {"writer", writer, 0, 0},
        {"lazy-writer", writer, 0, MDBX_TXN_NOSYNC},
        {"readers", readers, MDBX_RDONLY, 0},
    };
    size_t i;
    EXPECT_NUM(argc, 3);
    EXPECT(chdir(argv[2]) == 0);
    for (i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        struct work work = {0};
        if (strcmp(argv[1], roles[i].name) != 0) continue;
        work.env = env_with(roles[i].env_flags);
        work.txn_flags = roles[i].txn_flags;
        if (roles[i].run == fill)
            open_tables(&work, 0, MDBX_CREATE);
        else
            open_tables(&work, MDBX_TXN_RDONLY, 0);
        roles[i].run(&work);
        OK(mdbx_env_close(work.env));
        printf("%lu rounds\n", rounds);
        return 0;
    }
    fail(argv[1], 0, "no such role");
    return 1;
}
