/* Readers of a user who may write neither file, beside an owner who writes. */
#include "harness.h"
#include <strangers.h>

/* Where the lock file may be read only. */
static struct stranger only_ours(void (*run)(int side))
{
    ours_alone();
    return stranger(run);
}

static void write_value(MDBX_env *env, const char *value)
{
    MDBX_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", value, MDBX_UPSERT));
    OK(mdbx_txn_commit(txn));
}

/* Many commits, so that pages are used again if nothing keeps them. */
static void write_much(MDBX_env *env)
{
    char value[8];
    for (int i = 0; i < 300; i++) {
        snprintf(value, sizeof value, "%d", i);
        write_value(env, value);
    }
}

struct rows {
    int count;
    mdbx_pid_t pid;
    uint64_t txnid, lag;
    size_t bytes_retained;
};

static int take(void *ctx, int num, int slot, mdbx_pid_t pid, mdbx_tid_t thread, uint64_t txnid,
                uint64_t lag, size_t bytes_used, size_t bytes_retained)
{
    struct rows *rows = (struct rows *)ctx;
    (void)num, (void)slot, (void)thread, (void)bytes_used;
    rows->count++;
    rows->pid = pid;
    rows->txnid = txnid;
    rows->lag = lag;
    rows->bytes_retained = bytes_retained;
    return 0;
}

static uint64_t last_txn(MDBX_env *env)
{
    MDBX_envinfo info;
    OK(mdbx_env_info_ex(env, NULL, &info, sizeof info));
    return info.mi_recent_txnid;
}

/* The readers that are listed are one, which has no process and pins this snapshot; or none. */
static void expect_listed(MDBX_env *env, uint64_t txnid)
{
    struct rows rows = {0, -1, 0, 0, 0};
    EXPECT_RC(mdbx_reader_list(env, take, &rows), txnid ? MDBX_SUCCESS : MDBX_RESULT_TRUE);
    EXPECT_NUM(rows.count, txnid != 0);
    if (txnid == 0) return;
    EXPECT_NUM(rows.pid, 0);
    EXPECT_NUM(rows.txnid, txnid);
    EXPECT_NUM(rows.lag, last_txn(env) - txnid);
    EXPECT((rows.lag > 1) == (rows.bytes_retained > 0));
}

static void may_not_write(MDBX_env *env)
{
    MDBX_txn *txn = NULL;
    MDBX_dbi dbi = 0;
    unsigned flags = 0;
    int dead = -1;
    EXPECT_RC(mdbx_txn_begin(env, NULL, MDBX_TXN_READWRITE, &txn), MDBX_EACCESS);
    EXPECT_RC(mdbx_env_sync(env), MDBX_EACCESS);
    EXPECT_RC(mdbx_env_set_flags(env, MDBX_SAFE_NOSYNC, 1), MDBX_EACCESS);
    OK(mdbx_reader_check(env, &dead));
    EXPECT_NUM(dead, 0);
    OK(mdbx_env_get_flags(env, &flags));
    EXPECT((flags & MDBX_RDONLY) != 0);
    txn = READ(env);
    EXPECT_RC(mdbx_dbi_open(txn, "new", MDBX_CREATE, &dbi), MDBX_EACCESS);
    EXPECT_RC(put(txn, table(txn, NULL, 0), "k", "v", 0), MDBX_EACCESS);
    OK(mdbx_txn_abort(txn));
}

static void read_in_turns(int side)
{
    MDBX_env *env = env_with(MDBX_RDONLY | MDBX_NOTLS);
    MDBX_txn *old = READ(env), *now;
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    may_not_write(env);
    give_turn(side);
    await_turn(side);
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    now = READ(env);
    EXPECT_GET(now, table(now, NULL, 0), "k", "299");
    OK(mdbx_txn_reset(now));
    take_turns(side);
    OK(mdbx_txn_renew(now));
    EXPECT_GET(now, table(now, NULL, 0), "k", "again");
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    OK(mdbx_txn_abort(now));
    OK(mdbx_txn_abort(old));
    take_turns(side);
    OK(mdbx_env_close(env));
}

static void reads_beside_the_owner(void)
{
    struct stranger guest = only_ours(read_in_turns);
    MDBX_env *env = env_with(0);
    uint64_t pinned;
    write_value(env, "first");
    pinned = last_txn(env);
    take_turns(guest.side);
    expect_listed(env, pinned);
    write_much(env);
    take_turns(guest.side);
    expect_listed(env, pinned);
    /* The owner comes and goes. */
    OK(mdbx_env_close(env));
    env = env_with(0);
    expect_listed(env, pinned);
    write_value(env, "again");
    take_turns(guest.side);
    expect_listed(env, 0);
    let_end(guest);
    OK(mdbx_env_close(env));
}

static void look_again(int side)
{
    MDBX_env *env = env_with(MDBX_RDONLY | MDBX_NOTLS);
    MDBX_txn *txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "first");
    take_turns(side);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "first");
    OK(mdbx_txn_abort(txn));
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "299");
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

static void comes_first(void)
{
    struct stranger guest = only_ours(look_again);
    MDBX_env *env = env_with(0);
    write_value(env, "first");
    OK(mdbx_env_close(env));
    take_turns(guest.side);
    env = env_with(0);
    write_much(env);
    let_end(guest);
    OK(mdbx_env_close(env));
}

static void read_and_wait(int side)
{
    EXPECT(READ(env_with(MDBX_RDONLY)) != NULL);
    take_turns(side);
}

static void is_killed(void)
{
    struct stranger guest = only_ours(read_and_wait);
    MDBX_env *env = env_with(0);
    int dead = -1;
    write_value(env, "first");
    take_turns(guest.side);
    expect_listed(env, last_txn(env));
    let_die(guest);
    expect_listed(env, 0);
    OK(mdbx_reader_check(env, &dead));
    EXPECT_NUM(dead, 0); /* the system has seen to it */
    OK(mdbx_env_close(env));
}

/* Nothing can be read, or it is not there. */
static void is_refused(int side)
{
    MDBX_env *env;
    OK(mdbx_env_create(&env));
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_RDONLY, 0644), MDBX_ENOFILE);
    OK(mdbx_env_close(env));
    take_turns(side);
    OK(mdbx_env_create(&env));
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_RDONLY, 0644), MDBX_EACCESS);
    OK(mdbx_env_close(env));
}

static void sees_nothing(void)
{
    struct stranger guest = stranger(is_refused);
    MDBX_env *env;
    take_turns(guest.side);
    env = env_with(0);
    EXPECT(chmod("db/mdbx.dat", 0600) == 0);
    let_end(guest);
    OK(mdbx_env_close(env));
}

static void ask_for_too_much(int side)
{
    MDBX_env *env;
    (void)side;
    OK(mdbx_env_create(&env));
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644), MDBX_EACCESS);
    OK(mdbx_env_close(env));
}

static void is_to_say_that_it_reads(void)
{
    struct stranger guest = stranger(ask_for_too_much);
    MDBX_env *env = env_with(0);
    write_value(env, "first");
    let_end(guest);
    OK(mdbx_env_close(env));
}

CASES(CASE(reads_beside_the_owner), CASE(comes_first), CASE(is_killed), CASE(sees_nothing),
      CASE(is_to_say_that_it_reads))
