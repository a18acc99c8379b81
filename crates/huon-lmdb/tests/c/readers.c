/* The table of readers: its list, dead readers, and what a long one keeps. */
#include "harness.h"

struct lines {
    char text[4096];
    int count;
    int enough;
};

static int collect(const char *msg, void *ctx)
{
    struct lines *lines = ctx;
    lines->count++;
    strncat(lines->text, msg, sizeof lines->text - strlen(lines->text) - 1);
    return lines->count == lines->enough ? -1 : 0;
}

static struct lines list(MDB_env *env)
{
    struct lines lines;
    memset(&lines, 0, sizeof lines);
    EXPECT(mdb_reader_list(env, collect, &lines) >= 0);
    return lines;
}

static unsigned numreaders(MDB_env *env)
{
    MDB_envinfo info;
    OK(mdb_env_info(env, &info));
    return info.me_numreaders;
}

static void commit_something(MDB_env *env)
{
    static unsigned count; /* an equal value would be no change to Huon */
    MDB_txn *txn = WRITE(env);
    MDB_val key = text("count"), data = bytes(&count, sizeof count);
    count++;
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_put(txn, table(txn, NULL, 0), &key, &data, 0));
    OK(mdb_txn_commit(txn));
}

static void no_reader(void)
{
    MDB_env *env = env_with(0);
    EXPECT(strcmp(list(env).text, "(no active readers)\n") == 0);
    mdb_env_close(env);
    env = env_with(MDB_NOLOCK);
    EXPECT(strcmp(list(env).text, "(no reader locks)\n") == 0);
    mdb_env_close(env);
}

static void readers_are_listed(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *one, *two;
    struct lines lines;
    char *line;
    size_t txnid = 0;
    unsigned long thread;
    int pid = 0;
    commit_something(env);
    one = READ(env);
    commit_something(env);
    two = READ(env);
    lines = list(env);
    EXPECT(strncmp(lines.text, "    pid     thread     txnid\n", 29) == 0);
    line = lines.text + 29;
    EXPECT_NUM(sscanf(line, "%d %lx %zu\n", &pid, &thread, &txnid), 3);
    EXPECT_NUM(pid, getpid());
    EXPECT_NUM(txnid, 1);
    line = strchr(line, '\n') + 1;
    EXPECT_NUM(sscanf(line, "%d %lx %zu\n", &pid, &thread, &txnid), 3);
    EXPECT_NUM(txnid, 2);
    EXPECT(strchr(line, '\n')[1] == 0);
    EXPECT_NUM(numreaders(env), 2);
    mdb_txn_reset(one);
    lines = list(env);
    line = lines.text + 29;
    EXPECT(strstr(line, " -\n") != NULL); /* it keeps its slot, and reads nothing */
    mdb_txn_abort(one);
    mdb_txn_abort(two);
    EXPECT_NUM(numreaders(env), 2); /* as many as there were at most */
    mdb_env_close(env);
}

static void enough_is_enough(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn = READ(env);
    struct lines lines;
    memset(&lines, 0, sizeof lines);
    lines.enough = 1;
    EXPECT(mdb_reader_list(env, collect, &lines) < 0);
    EXPECT_NUM(lines.count, 1);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void a_reader_that_died(void)
{
    MDB_env *env = env_with(0);
    int status, dead = -1;
    commit_something(env);
    if (fork() == 0) {
        MDB_env *mine = env_with(0);
        EXPECT(READ(mine) != NULL);
        leave(); /* without an end */
    }
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(mdb_reader_check(env, &dead));
    EXPECT_NUM(dead, 1);
    OK(mdb_reader_check(env, &dead));
    EXPECT_NUM(dead, 0);
    OK(mdb_reader_check(env, NULL));
    EXPECT(strcmp(list(env).text, "(no active readers)\n") == 0);
    mdb_env_close(env);
}

static void a_reader_of_another_process(void)
{
    MDB_env *env = env_with(MDB_NOTLS);
    MDB_txn *txn;
    int to_child[2], to_parent[2], status, pid, child;
    char sign;
    commit_something(env);
    EXPECT(pipe(to_child) == 0 && pipe(to_parent) == 0);
    child = fork();
    if (child == 0) {
        MDB_env *mine = env_with(0);
        txn = READ(mine);
        EXPECT(write(to_parent[1], "r", 1) == 1 && read(to_child[0], &sign, 1) == 1);
        EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
        mdb_txn_abort(txn);
        mdb_env_close(mine);
        leave();
    }
    EXPECT(read(to_parent[0], &sign, 1) == 1);
    EXPECT(sscanf(list(env).text + 29, "%d", &pid) == 1);
    EXPECT_NUM(pid, child);
    OK(mdb_reader_check(env, &pid));
    EXPECT_NUM(pid, 0); /* it lives */
    txn = WRITE(env);
    OK(mdb_drop(txn, table(txn, NULL, 0), 0));
    OK(mdb_txn_commit(txn));
    EXPECT(write(to_child[1], "g", 1) == 1);
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    mdb_env_close(env);
}

static void as_many_slots_as_asked_for(void)
{
    MDB_env *env;
    MDB_txn *txns[200], *more;
    int i;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxreaders(env, 200));
    OK(mdb_env_open(env, ".", MDB_NOTLS, 0644));
    for (i = 0; i < 200; i++) txns[i] = READ(env);
    EXPECT_RC(mdb_txn_begin(env, NULL, MDB_RDONLY, &more), MDB_READERS_FULL);
    for (i = 0; i < 200; i++) mdb_txn_abort(txns[i]);
    mdb_env_close(env);
}

static void many_thousand_slots(void)
{
    MDB_env *env;
    MDB_txn *txn;
    OK(mdb_env_create(&env));
    OK(mdb_env_set_maxreaders(env, 100000)); /* as Samba does */
    OK(mdb_env_open(env, ".", MDB_NOTLS, 0644));
    commit_something(env);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

CASES(CASE(no_reader), CASE(readers_are_listed), CASE(enough_is_enough),
      CASE(a_reader_that_died), CASE(a_reader_of_another_process),
      CASE(as_many_slots_as_asked_for), CASE(many_thousand_slots))
