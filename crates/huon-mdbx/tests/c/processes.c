/* Several processes in one environment. */
#include "harness.h"
#include <signal.h>

/* A child that does its work, says so, and waits to be ended. */
struct child {
    pid_t pid;
    int says, hears;
};

static struct child start(void (*work)(void))
{
    int up[2], down[2];
    struct child child;
    char byte = 0;
    EXPECT(pipe(up) == 0 && pipe(down) == 0);
    child.pid = fork();
    if (child.pid == 0) {
        close(up[0]);
        close(down[1]);
        work();
        EXPECT(write(up[1], "r", 1) == 1);
        EXPECT(read(down[0], &byte, 1) <= 1);
        _exit(0);
    }
    close(up[1]);
    close(down[0]);
    child.says = up[0];
    child.hears = down[1];
    EXPECT(read(child.says, &byte, 1) == 1);
    return child;
}

static void end(struct child child, int how)
{
    int status = 0;
    if (how) kill(child.pid, how);
    else EXPECT(write(child.hears, "e", 1) == 1);
    EXPECT(waitpid(child.pid, &status, 0) == child.pid);
    EXPECT(how ? WIFSIGNALED(status) : status == 0);
    close(child.says);
    close(child.hears);
}

static void set(MDBX_env *env, const char *key, const char *value)
{
    MDBX_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), key, value, 0));
    OK(mdbx_txn_commit(txn));
}

static void expect_value(MDBX_env *env, const char *key, const char *value)
{
    MDBX_txn *txn = READ(env);
    MDBX_dbi dbi = table(txn, NULL, 0);
    if (value) EXPECT_GET(txn, dbi, key, value);
    else EXPECT_RC(get(txn, dbi, key), MDBX_NOTFOUND);
    OK(mdbx_txn_abort(txn));
}

static void has_begun_to_write(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "half", "done", 0));
}

static void one_writer_among_processes(void)
{
    struct child child = start(has_begun_to_write);
    MDBX_env *env = env_with(0);
    MDBX_txn *txn = NULL;
    EXPECT_RC(mdbx_txn_begin(env, NULL, MDBX_TXN_TRY, &txn), MDBX_BUSY);
    end(child, SIGKILL);
    set(env, "k", "v"); /* its right to write went with it */
    expect_value(env, "k", "v");
    expect_value(env, "half", NULL);
    OK(mdbx_env_close(env));
}

static void has_committed(void)
{
    MDBX_env *env = env_with(0);
    set(env, "k", "child's");
    OK(mdbx_env_close(env));
}

static void one_sees_what_another_has_committed(void)
{
    struct child child = start(has_committed);
    MDBX_env *env = env_with(0);
    expect_value(env, "k", "child's");
    end(child, 0);
    set(env, "k", "mine");
    OK(mdbx_env_close(env));
    child = start(has_committed);
    env = env_with(0);
    expect_value(env, "k", "child's");
    OK(mdbx_env_close(env));
    end(child, 0);
}

static void has_grown_the_file(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn = WRITE(env);
    MDBX_val key = text("large"), data = filled(20 << 20, 'x');
    OK(mdbx_put(txn, table(txn, NULL, 0), &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_commit(txn));
}

static void a_file_that_another_has_grown(void)
{
    MDBX_txn *txn;
    MDBX_val key = text("large"), data;
    struct child child;
    MDBX_env *env = env_with(0);
    set(env, "k", "v");
    OK(mdbx_env_close(env));
    child = start(has_grown_the_file);
    env = env_with(0);
    txn = READ(env);
    OK(mdbx_get(txn, table(txn, NULL, 0), &key, &data));
    EXPECT_NUM(data.iov_len, 20 << 20);
    EXPECT(((char *)data.iov_base)[data.iov_len - 1] == 'x');
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
    end(child, 0);
}

static void has_it_alone(void)
{
    MDBX_env *env = env_with(MDBX_EXCLUSIVE);
    set(env, "k", "v");
}

static void has_it_open(void)
{
    env_with(MDBX_SAFE_NOSYNC);
}

/* It is in use; libmdbx 0.11.8 says it in two ways. */
static void expect_in_use(int rc)
{
    EXPECT_RC(!OURS && rc == EAGAIN ? MDBX_BUSY : rc, MDBX_BUSY);
}

static void alone(void)
{
    struct child child = start(has_it_alone);
    MDBX_env *env = new_env();
    expect_in_use(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644));
    OK(mdbx_env_close(env));
    end(child, SIGKILL);
    child = start(has_it_open);
    env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_EXCLUSIVE, 0644), MDBX_BUSY);
    OK(mdbx_env_close(env));
    end(child, 0);
    env = env_with(MDBX_EXCLUSIVE);
    expect_value(env, "k", "v");
    OK(mdbx_env_close(env));
}

/* All that write agree about what a commit waits for. */
static void one_durability_for_all(void)
{
    struct child child = start(has_it_open);
    MDBX_env *env = new_env();
    unsigned flags = 0;
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_ENV_DEFAULTS, 0644), MDBX_INCOMPATIBLE);
    OK(mdbx_env_close(env));
    env = env_with(MDBX_ACCEDE);
    OK(mdbx_env_get_flags(env, &flags));
    EXPECT_NUM(flags & MDBX_UTTERLY_NOSYNC, MDBX_SAFE_NOSYNC); /* what the other has */
    OK(mdbx_env_close(env));
    env = env_with(MDBX_SAFE_NOSYNC);
    OK(mdbx_env_close(env));
    env = new_env();
    OK(mdbx_env_open(env, "./db", MDBX_RDONLY, 0)); /* a reader need not */
    OK(mdbx_env_close(env));
    end(child, 0);
}

static void not_deleted_while_it_is_used(void)
{
    struct child child = start(has_it_open);
    expect_in_use(mdbx_env_delete("./db", MDBX_ENV_ENSURE_UNUSED));
    end(child, 0);
    OK(mdbx_env_delete("./db", MDBX_ENV_ENSURE_UNUSED));
}

static void has_written_and_not_closed(void)
{
    MDBX_env *env = env_with(MDBX_SAFE_NOSYNC);
    set(env, "k", "unflushed");
}

/* Without a power loss nothing is lost, however the process ended. */
static void after_a_kill(void)
{
    struct child child = start(has_written_and_not_closed);
    MDBX_env *env;
    end(child, SIGKILL);
    env = new_env();
    EXPECT_RC(mdbx_env_open(env, "./db", MDBX_RDONLY, 0), OURS ? 0 : MDBX_WANNA_RECOVERY);
    OK(mdbx_env_close(env));
    env = env_with(0);
    expect_value(env, "k", "unflushed");
    OK(mdbx_env_close(env));
    env = new_env();
    OK(mdbx_env_open(env, "./db", MDBX_RDONLY, 0));
    expect_value(env, "k", "unflushed");
    OK(mdbx_env_close(env));
}

CASES(CASE(one_writer_among_processes), CASE(one_sees_what_another_has_committed),
      CASE(a_file_that_another_has_grown), CASE(alone), CASE(one_durability_for_all),
      CASE(not_deleted_while_it_is_used), CASE(after_a_kill))
