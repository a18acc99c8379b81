/*
 * care.h: what Go calls of huon.h to copy, check, compact and tell. See bridge.h.
 */

#ifndef HUON_BRIDGE_CARE_H
#define HUON_BRIDGE_CARE_H

#include "bridge.h"

/* What Go and a call that takes long tell each other, in memory of C. */
typedef struct {
    int stop; /* set by Go */
    uint64_t done_bytes, total_bytes;
    size_t len, capacity;
    char *text; /* the problems of a check, each with a line feed */
} go_watch;

static inline void go_watch_free(go_watch *watch)
{
    free(watch->text);
    free(watch);
}

static inline int go_progress(void *context, const huon_progress *progress)
{
    go_watch *watch = context;
    __atomic_store_n(&watch->done_bytes, progress->done_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&watch->total_bytes, progress->total_bytes, __ATOMIC_RELAXED);
    return __atomic_load_n(&watch->stop, __ATOMIC_RELAXED);
}

static inline void go_stop(go_watch *watch)
{
    __atomic_store_n(&watch->stop, 1, __ATOMIC_RELAXED);
}

static inline uint64_t go_done_bytes(go_watch *watch)
{
    return __atomic_load_n(&watch->done_bytes, __ATOMIC_RELAXED);
}

static inline uint64_t go_total_bytes(go_watch *watch)
{
    return __atomic_load_n(&watch->total_bytes, __ATOMIC_RELAXED);
}

/* Problems are kept up to a megabyte; what comes later is counted only. */
static inline void go_problem(void *context, const char *text)
{
    go_watch *watch = context;
    size_t len = strlen(text), capacity = 2 * (watch->len + len + 1);
    char *grown;
    if (watch->len + len + 1 > 1 << 20) return;
    if (watch->len + len + 1 > watch->capacity) {
        grown = realloc(watch->text, capacity);
        if (grown == NULL) return;
        watch->text = grown;
        watch->capacity = capacity;
    }
    memcpy(watch->text + watch->len, text, len);
    watch->text[watch->len + len] = '\n';
    watch->len += len + 1;
}

static inline huon_copy_options go_copy_options(uintptr_t txn, bool compact, go_watch *watch)
{
    huon_copy_options with = {sizeof with};
    with.flags = compact ? HUON_COPY_COMPACT : 0;
    with.snapshot = GO_TXN;
    with.progress = watch == NULL ? NULL : go_progress;
    with.context = watch;
    return with;
}

static inline go_number go_copy(uintptr_t env, uintptr_t txn, const char *path, bool compact,
                                go_watch *watch)
{
    huon_copy_options with = go_copy_options(txn, compact, watch);
    huon_copy_report report = {0};
    int code = huon_copy(GO_ENV, path, &with, &report);
    return go_told_number(code, report.bytes);
}

static inline go_number go_copy_to_fd(uintptr_t env, uintptr_t txn, int fd, bool compact)
{
    huon_copy_options with = go_copy_options(txn, compact, NULL);
    huon_copy_report report = {0};
    int code = huon_copy_to_fd(GO_ENV, fd, &with, &report);
    return go_told_number(code, report.bytes);
}

static inline go_done go_check(uintptr_t env, go_watch *watch, huon_check_report *report)
{
    huon_check_options with = {sizeof with};
    with.problem = go_problem;
    with.progress = go_progress;
    with.context = watch;
    return go_told(huon_check(GO_ENV, &with, report));
}

static inline go_done go_compact(uintptr_t env, go_watch *watch, double target,
                                 uint64_t time_limit_ms, huon_compact_report *report)
{
    huon_compact_options with = {sizeof with};
    with.target = target;
    with.time_limit_ms = time_limit_ms;
    with.progress = go_progress;
    with.context = watch;
    return go_told(huon_compact(GO_ENV, &with, report));
}

static inline go_done go_info(uintptr_t env, huon_info *info)
{
    return go_told(huon_get_info(GO_ENV, info, sizeof *info));
}

static inline go_done go_stat(uintptr_t env, huon_stat *stat)
{
    return go_told(huon_get_stat(GO_ENV, stat, sizeof *stat));
}

static inline go_done go_txn_info(uintptr_t txn, huon_txn_info *info)
{
    return go_told(huon_get_txn_info(GO_TXN, info, sizeof *info));
}

static inline go_number go_readers(uintptr_t env, huon_reader *readers, size_t capacity)
{
    size_t count = 0;
    int code = huon_readers(GO_ENV, readers, capacity, &count);
    return go_told_number(code, count);
}

/* ---- snapshots beyond a transaction */

static inline huon_bytes go_text(const uint8_t *data, size_t len)
{
    huon_bytes bytes = {data, len};
    return bytes;
}

static inline go_done go_name_snapshot(uintptr_t env, const uint8_t *name, size_t len,
                                       huon_snapshot *named)
{
    return go_told(huon_name_snapshot(GO_ENV, go_text(name, len), named));
}

static inline go_done go_drop_snapshot(uintptr_t env, const uint8_t *name, size_t len)
{
    return go_told(huon_drop_snapshot(GO_ENV, go_text(name, len)));
}

static inline go_handle go_begin_read_named(uintptr_t env, const uint8_t *name, size_t len)
{
    huon_txn *txn;
    int code = huon_begin_read_named(GO_ENV, go_text(name, len), &txn);
    return go_told_handle(code, txn);
}

/* Adds a snapshot to the text: id, checksum and length of the name in 8 bytes each, the name. */
static inline int go_add_named(void *context, huon_bytes name, const huon_snapshot *snapshot)
{
    go_watch *watch = context;
    uint64_t words[3] = {snapshot->id, snapshot->checksum, name.len};
    char *grown = realloc(watch->text, watch->len + sizeof words + name.len);
    if (grown == NULL) return 1;
    memcpy(grown + watch->len, words, sizeof words);
    memcpy(grown + watch->len + sizeof words, name.data, name.len);
    watch->text = grown;
    watch->len += sizeof words + name.len;
    return 0;
}

static inline go_done go_named_snapshots(uintptr_t env, go_watch *watch)
{
    return go_told(huon_named_snapshots(GO_ENV, go_add_named, watch));
}

static inline go_done go_backup_to_fd(uintptr_t env, int fd, const uint8_t *name, size_t len,
                                      huon_snapshot since, huon_backup_report *report)
{
    huon_backup_options with = {sizeof with};
    with.snapshot = go_text(name, len);
    with.since = since;
    return go_told(huon_backup_to_fd(GO_ENV, fd, &with, report));
}

static inline go_done go_restore(const char *path, const char **backups, size_t count,
                                 huon_snapshot *restored)
{
    return go_told(huon_restore(path, backups, count, restored));
}

#endif
