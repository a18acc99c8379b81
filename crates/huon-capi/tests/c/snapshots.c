/* Named snapshots, backups and what is made of them. */
#include "harness.h"
#include <fcntl.h>
#include <unistd.h>

static void put(huon_env *env, huon_table t, const char *key, const char *value)
{
    huon_txn *txn = writing(env);
    OK(huon_put(txn, t, text(key), text(value), NULL));
    OK(huon_commit(txn));
}

static void expect(huon_txn *txn, huon_table t, const char *key, const char *value)
{
    huon_bytes found;
    OK(huon_get(txn, t, text(key), &found));
    EXPECT_TEXT(found, value);
}

struct listed {
    unsigned count;
    char names[64];
    huon_snapshot last;
};

static int list(void *context, huon_bytes name, const huon_snapshot *snapshot)
{
    struct listed *all = context;
    sprintf(all->names + strlen(all->names), "%.*s ", (int)name.len, (const char *)name.data);
    all->last = *snapshot;
    return ++all->count == 3;
}

static void a_named_snapshot_stays(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 10);
    struct listed all = {0, "", {0, 0}};
    huon_snapshot first, again;
    huon_txn *txn;
    put(env, t, "key", "old");
    OK(huon_name_snapshot(env, text("before"), &first));
    put(env, t, "key", "new");
    OK(huon_name_snapshot(env, text("after"), NULL));
    OK(huon_close(env));

    env = opened();
    OK(huon_begin_read_named(env, text("before"), &txn));
    OK(huon_table_open(txn, text("t"), NULL, &t));
    expect(txn, t, "key", "old");
    OK(huon_abort(txn));
    OK(huon_named_snapshots(env, list, &all));
    EXPECT(strcmp(all.names, "before after ") == 0);
    EXPECT_RC(huon_named_snapshots(env, list, &all), HUON_STOPPED);
    EXPECT_NUM(all.last.id, first.id);
    EXPECT(all.last.checksum == first.checksum);

    OK(huon_drop_snapshot(env, text("before")));
    EXPECT_RC(huon_drop_snapshot(env, text("before")), HUON_NOT_FOUND);
    EXPECT_RC(huon_begin_read_named(env, text("before"), &txn), HUON_NOT_FOUND);
    EXPECT(txn == NULL);
    EXPECT_RC(huon_name_snapshot(env, text(""), NULL), HUON_INVALID);
    EXPECT_RC(huon_name_snapshot(env, text("\xff"), NULL), HUON_BAD_ARGUMENT);
    OK(huon_name_snapshot(env, text("after"), &again));
    EXPECT(again.id > first.id);
    OK(huon_close(env));
}

static int refused(void *context, const void *data, size_t len)
{
    (void)context, (void)data, (void)len;
    return 28; /* ENOSPC */
}

static void save(huon_env *env, const char *path, huon_backup_options *with,
                 huon_backup_report *report)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    EXPECT(fd >= 0);
    OK(huon_backup_to_fd(env, fd, with, report));
    EXPECT(close(fd) == 0);
}

static void backups_are_restored(void)
{
    huon_env *env = opened();
    huon_table t = filled(env, 1000);
    const char *both[2] = {"one.backup", "two.backup"};
    huon_backup_options with;
    huon_backup_report one, two;
    huon_snapshot restored;
    huon_error error;
    huon_txn *txn;
    put(env, t, "key", "old");
    OK(huon_name_snapshot(env, text("monday"), NULL));
    put(env, t, "key", "new");
    memset(&with, 0, sizeof with);
    with.bytes = sizeof with;
    with.snapshot = text("monday");
    save(env, both[0], &with, &one);
    EXPECT_NUM(one.since.id, 0);
    with.snapshot = text("");
    with.since = one.snapshot;
    save(env, both[1], &with, &two);
    EXPECT(two.since.id == one.snapshot.id && two.pages < one.pages && two.bytes > 4096);
    with.snapshot = text("nothing");
    EXPECT_RC(huon_backup_to_writer(env, refused, NULL, &with, NULL), HUON_NOT_FOUND);
    EXPECT_RC(huon_backup_to_writer(env, refused, NULL, NULL, NULL), HUON_IO);
    huon_last_error(&error);
    EXPECT_NUM(error.system, 28);
    EXPECT_RC(huon_backup_to_fd(env, -1, NULL, NULL), HUON_BAD_ARGUMENT);
    OK(huon_close(env));

    OK(huon_restore("restored.huon", both, 2, &restored));
    EXPECT_NUM(restored.id, two.snapshot.id);
    EXPECT_RC(huon_restore("restored.huon", both, 2, NULL), HUON_IO);
    EXPECT_RC(huon_restore("half.huon", both + 1, 1, NULL), HUON_DIVERGED);
    EXPECT_RC(huon_restore("none.huon", NULL, 1, NULL), HUON_BAD_ARGUMENT);
    OK(huon_open("restored.huon", NULL, &env));
    txn = reading(env);
    OK(huon_table_open(txn, text("t"), NULL, &t));
    expect(txn, t, "key", "new");
    OK(huon_abort(txn));
    OK(huon_close(env));
}

CASES(CASE(a_named_snapshot_stays), CASE(backups_are_restored))
