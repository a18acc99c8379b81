/* Berkeley DB calls that go through pointers in structures, as plain functions. Each answers 0, or
 * a code that db_strerror knows. */

#include <db.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bdb {
    DB_ENV *env;
    DB *db;
    u_int32_t commit_flags;
};

/* A transaction locks each page it changes, so there is room for four times as many locks as the
 * cache has pages of 4 KiB. The room is taken at once. */
#define CACHE_BYTES_A_LOCK 1024
/* Bytes of log in memory, in a file, and between checkpoints. */
#define LOG_BUFFER_BYTES (8u << 20)
#define LOG_FILE_BYTES (64u << 20)
#define CHECKPOINT_KBYTES (64u << 10)

int bdb_close(struct bdb *bdb) {
    int code = 0, next;
    if (bdb->db != NULL) code = bdb->db->close(bdb->db, 0);
    next = bdb->env->close(bdb->env, 0);
    free(bdb);
    return code != 0 ? code : next;
}

static int open_in(struct bdb *bdb, const char *dir, u_int64_t cache_bytes) {
    DB_ENV *env = bdb->env;
    u_int32_t env_flags = DB_CREATE | DB_RECOVER | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL |
                          DB_INIT_TXN | DB_THREAD | DB_PRIVATE;
    u_int32_t db_flags = DB_CREATE | DB_THREAD | DB_AUTO_COMMIT | DB_MULTIVERSION;
    u_int32_t gbytes = (u_int32_t)(cache_bytes >> 30);
    u_int32_t bytes = (u_int32_t)(cache_bytes & ((1u << 30) - 1));
    u_int32_t locks_max = (u_int32_t)(cache_bytes / CACHE_BYTES_A_LOCK);
    int code;
    if ((code = env->set_cachesize(env, gbytes, bytes, 1)) != 0) return code;
    if ((code = env->set_lk_max_locks(env, locks_max)) != 0) return code;
    if ((code = env->set_lk_max_objects(env, locks_max)) != 0) return code;
    if ((code = env->set_lk_detect(env, DB_LOCK_DEFAULT)) != 0) return code;
    if ((code = env->set_lg_bsize(env, LOG_BUFFER_BYTES)) != 0) return code;
    if ((code = env->set_lg_max(env, LOG_FILE_BYTES)) != 0) return code;
    if ((code = env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1)) != 0) return code;
    if ((code = env->open(env, dir, env_flags, 0600)) != 0) return code;
    if ((code = db_create(&bdb->db, env, 0)) != 0) return code;
    if ((code = bdb->db->set_pagesize(bdb->db, 4096)) != 0) return code;
    return bdb->db->open(bdb->db, NULL, "bench.db", NULL, DB_BTREE, db_flags, 0600);
}

int bdb_open(const char *dir, u_int64_t cache_bytes, int durable, struct bdb **result) {
    struct bdb *bdb = calloc(1, sizeof *bdb);
    int code;
    if (bdb == NULL) return ENOMEM;
    bdb->commit_flags = durable ? DB_TXN_SYNC : DB_TXN_WRITE_NOSYNC;
    if ((code = db_env_create(&bdb->env, 0)) != 0) {
        free(bdb);
        return code;
    }
    if ((code = open_in(bdb, dir, cache_bytes)) != 0) {
        bdb_close(bdb);
        return code;
    }
    *result = bdb;
    return 0;
}

/* Flushes the log, and brings all pages to the file. */
int bdb_checkpoint(struct bdb *bdb) {
    return bdb->env->txn_checkpoint(bdb->env, 0, 0, DB_FORCE);
}

int bdb_begin_read(struct bdb *bdb, DB_TXN **txn) {
    return bdb->env->txn_begin(bdb->env, NULL, txn, DB_TXN_SNAPSHOT);
}

int bdb_begin_write(struct bdb *bdb, DB_TXN **txn) {
    return bdb->env->txn_begin(bdb->env, NULL, txn, bdb->commit_flags);
}

/* Commits; now and then the pages are brought to the file, so that the log does not grow. */
int bdb_commit(struct bdb *bdb, DB_TXN *txn) {
    int code = txn->commit(txn, 0);
    if (code != 0) return code;
    return bdb->env->txn_checkpoint(bdb->env, CHECKPOINT_KBYTES, 0, 0);
}

int bdb_end_read(DB_TXN *txn) { return txn->commit(txn, 0); }

int bdb_abort(DB_TXN *txn) { return txn->abort(txn); }

static DBT input(const void *bytes, u_int32_t size) {
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = (void *)bytes;
    dbt.size = size;
    dbt.flags = DB_DBT_USERMEM;
    dbt.ulen = size;
    return dbt;
}

static DBT output(void *bytes, u_int32_t room) {
    DBT dbt;
    memset(&dbt, 0, sizeof dbt);
    dbt.data = bytes;
    dbt.ulen = room;
    dbt.flags = DB_DBT_USERMEM;
    return dbt;
}

/* Copies the value of a key to `value`. If there is no room, the code is DB_BUFFER_SMALL; in both
 * cases `value_bytes` says how long the value is. */
int bdb_get(struct bdb *bdb, DB_TXN *txn, const void *key, u_int32_t key_bytes, void *value,
            u_int32_t value_room, u_int32_t *value_bytes) {
    DBT k = input(key, key_bytes), v = output(value, value_room);
    int code = bdb->db->get(bdb->db, txn, &k, &v, 0);
    *value_bytes = v.size;
    return code;
}

int bdb_put(struct bdb *bdb, DB_TXN *txn, const void *key, u_int32_t key_bytes, const void *value,
            u_int32_t value_bytes) {
    DBT k = input(key, key_bytes), v = input(value, value_bytes);
    return bdb->db->put(bdb->db, txn, &k, &v, 0);
}

int bdb_delete(struct bdb *bdb, DB_TXN *txn, const void *key, u_int32_t key_bytes) {
    DBT k = input(key, key_bytes);
    return bdb->db->del(bdb->db, txn, &k, 0);
}

int bdb_cursor(struct bdb *bdb, DB_TXN *txn, DBC **cursor) {
    return bdb->db->cursor(bdb->db, txn, cursor, 0);
}

int bdb_cursor_close(DBC *cursor) { return cursor->close(cursor); }

/* Where a cursor is to go. */
enum step { FIRST, LAST, NEXT, PREVIOUS, RANGE };

/* Moves and copies key and value. For RANGE `key` holds `*key_bytes` of a bound, and the cursor
 * goes to the first key that is not below. If there is no room, the code is DB_BUFFER_SMALL, the
 * cursor stays, and the lengths say what is needed. */
int bdb_step(DBC *cursor, enum step step, void *key, u_int32_t key_room, u_int32_t *key_bytes,
             void *value, u_int32_t value_room, u_int32_t *value_bytes) {
    static const u_int32_t flags[] = {DB_FIRST, DB_LAST, DB_NEXT, DB_PREV, DB_SET_RANGE};
    DBT k = output(key, key_room), v = output(value, value_room);
    int code;
    if (step == RANGE) k.size = *key_bytes;
    code = cursor->get(cursor, &k, &v, flags[step]);
    *key_bytes = k.size;
    *value_bytes = v.size;
    return code;
}

int bdb_not_found(void) { return DB_NOTFOUND; }

int bdb_buffer_small(void) { return DB_BUFFER_SMALL; }

const char *bdb_version(void) { return db_version(NULL, NULL, NULL); }

const char *bdb_error(int code) { return db_strerror(code); }
