/* Readers of a user who may write neither file, beside an owner who writes. */
#include "harness.h"
#include <strangers.h>

/* Where the lock file may be read only. */
static struct stranger only_ours(void (*run)(int side))
{
    ours_alone();
    return stranger(run);
}

static void write_value(MDB_env *env, const char *value)
{
    MDB_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", value, 0));
    OK(mdb_txn_commit(txn));
}

/* Many commits, so that pages are used again if nothing keeps them. */
static void write_much(MDB_env *env)
{
    char value[8];
    for (int i = 0; i < 300; i++) {
        snprintf(value, sizeof value, "%d", i);
        write_value(env, value);
    }
}

static int collect(const char *msg, void *ctx)
{
    char *text = ctx;
    strncat(text, msg, 500 - strlen(text));
    return 0;
}

/* The readers that are listed are one, which has no process and pins this snapshot; or none. */
static void expect_listed(MDB_env *env, size_t txnid)
{
    char text[501] = "";
    unsigned long thread;
    size_t found = 0;
    int pid = -1;
    EXPECT(mdb_reader_list(env, collect, text) >= 0);
    if (txnid == 0) {
        EXPECT(strcmp(text, "(no active readers)\n") == 0);
        return;
    }
    EXPECT(strncmp(text, "    pid     thread     txnid\n", 29) == 0);
    EXPECT_NUM(sscanf(text + 29, "%d %lx %zu\n", &pid, &thread, &found), 3);
    EXPECT_NUM(pid, 0);
    EXPECT_NUM(found, txnid);
    EXPECT(strchr(text + 29, '\n')[1] == 0);
}

static size_t last_txn(MDB_env *env)
{
    MDB_envinfo info;
    OK(mdb_env_info(env, &info));
    return info.me_last_txnid;
}

static void may_not_write(MDB_env *env)
{
    MDB_txn *txn;
    MDB_dbi dbi;
    unsigned flags = 0;
    int dead = -1;
    EXPECT_RC(mdb_txn_begin(env, NULL, 0, &txn), EACCES);
    EXPECT_RC(mdb_env_sync(env, 1), EACCES);
    OK(mdb_reader_check(env, &dead));
    EXPECT_NUM(dead, 0);
    OK(mdb_env_get_flags(env, &flags));
    EXPECT((flags & MDB_RDONLY) != 0);
    txn = READ(env);
    EXPECT_RC(mdb_dbi_open(txn, "new", MDB_CREATE, &dbi), EACCES);
    EXPECT_RC(put(txn, table(txn, NULL, 0), "k", "v", 0), EACCES);
    mdb_txn_abort(txn);
}

static void read_in_turns(int side)
{
    MDB_env *env = env_with(MDB_RDONLY | MDB_NOTLS);
    MDB_txn *old = READ(env), *now;
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    may_not_write(env);
    give_turn(side);
    await_turn(side);
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    now = READ(env);
    EXPECT_GET(now, table(now, NULL, 0), "k", "299");
    mdb_txn_reset(now);
    take_turns(side);
    OK(mdb_txn_renew(now));
    EXPECT_GET(now, table(now, NULL, 0), "k", "again");
    EXPECT_GET(old, table(old, NULL, 0), "k", "first");
    mdb_txn_abort(now);
    mdb_txn_abort(old);
    take_turns(side);
    mdb_env_close(env);
}

static void reads_beside_the_owner(void)
{
    struct stranger guest = only_ours(read_in_turns);
    MDB_env *env = env_with(0);
    size_t pinned;
    write_value(env, "first");
    pinned = last_txn(env);
    take_turns(guest.side);
    expect_listed(env, pinned);
    write_much(env);
    take_turns(guest.side);
    expect_listed(env, pinned);
    /* The owner comes and goes. */
    mdb_env_close(env);
    env = env_with(0);
    expect_listed(env, pinned);
    write_value(env, "again");
    take_turns(guest.side);
    expect_listed(env, 0);
    let_end(guest);
    mdb_env_close(env);
}

static void look_again(int side)
{
    MDB_env *env = env_with(MDB_RDONLY | MDB_NOTLS);
    MDB_txn *txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "first");
    take_turns(side);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "first");
    mdb_txn_abort(txn);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "299");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void comes_first(void)
{
    struct stranger guest = only_ours(look_again);
    MDB_env *env = env_with(0);
    write_value(env, "first");
    mdb_env_close(env);
    take_turns(guest.side);
    env = env_with(0);
    write_much(env);
    let_end(guest);
    mdb_env_close(env);
}

static void read_and_wait(int side)
{
    EXPECT(READ(env_with(MDB_RDONLY)) != NULL);
    take_turns(side);
}

static void is_killed(void)
{
    struct stranger guest = only_ours(read_and_wait);
    MDB_env *env = env_with(0);
    int dead = -1;
    write_value(env, "first");
    take_turns(guest.side);
    expect_listed(env, last_txn(env));
    let_die(guest);
    expect_listed(env, 0);
    OK(mdb_reader_check(env, &dead));
    EXPECT_NUM(dead, 0); /* the system has seen to it */
    mdb_env_close(env);
}

/* Nothing can be read, or it is not there. */
static void is_refused(int side)
{
    MDB_env *env;
    OK(mdb_env_create(&env));
    EXPECT_RC(mdb_env_open(env, ".", MDB_RDONLY, 0644), ENOENT);
    mdb_env_close(env);
    take_turns(side);
    OK(mdb_env_create(&env));
    EXPECT_RC(mdb_env_open(env, ".", MDB_RDONLY, 0644), EACCES);
    mdb_env_close(env);
}

static void sees_nothing(void)
{
    struct stranger guest = stranger(is_refused);
    MDB_env *env;
    take_turns(guest.side);
    env = env_with(0);
    EXPECT(chmod("data.mdb", 0600) == 0);
    let_end(guest);
    mdb_env_close(env);
}

static void ask_for_too_much(int side)
{
    MDB_env *env;
    (void)side;
    OK(mdb_env_create(&env));
    EXPECT_RC(mdb_env_open(env, ".", 0, 0644), EACCES);
    mdb_env_close(env);
}

static void is_to_say_that_it_reads(void)
{
    struct stranger guest = stranger(ask_for_too_much);
    MDB_env *env = env_with(0);
    write_value(env, "first");
    let_end(guest);
    mdb_env_close(env);
}

CASES(CASE(reads_beside_the_owner), CASE(comes_first), CASE(is_killed), CASE(sees_nothing),
      CASE(is_to_say_that_it_reads))
