/* Copies, the three metas, and walks through the pages. */
#include "harness.h"

enum { COUNT = 2000 };

/* An environment with k00000 to k01999 in the table `t`, after some changes. */
static MDBX_env *filled_env(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn = WRITE(env);
    MDBX_dbi dbi = table(txn, "t", MDBX_CREATE);
    MDBX_val data = filled(300, 'x');
    unsigned i;
    for (i = 0; i < 2 * COUNT; i++) {
        MDBX_val key = numbered("k", i);
        OK(mdbx_put(txn, dbi, &key, &data, MDBX_UPSERT));
    }
    OK(mdbx_txn_commit(txn));
    txn = WRITE(env);
    for (i = COUNT; i < 2 * COUNT; i++) {
        MDBX_val key = numbered("k", i);
        OK(mdbx_del(txn, dbi, &key, NULL));
    }
    OK(mdbx_txn_commit(txn));
    return env;
}

static void expect_whole(const char *path)
{
    MDBX_env *env = new_env();
    MDBX_txn *txn;
    MDBX_dbi dbi;
    OK(mdbx_env_open(env, path, MDBX_NOSUBDIR, 0));
    txn = WRITE(env);
    dbi = table(txn, "t", 0);
    EXPECT_NUM(entries(txn, dbi), COUNT);
    OK(get(txn, dbi, "k00000"));
    OK(get(txn, dbi, "k01999"));
    OK(put(txn, dbi, "more", "v", 0));
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
}

static off_t size_of(const char *path)
{
    struct stat stat_;
    EXPECT(stat(path, &stat_) == 0);
    return stat_.st_size;
}

static void to_a_file(void)
{
    MDBX_env *env = filled_env();
    OK(mdbx_env_copy(env, "./plain", MDBX_CP_DEFAULTS));
    OK(mdbx_env_copy(env, "./compact", MDBX_CP_COMPACT));
    OK(mdbx_env_copy(env, "./dynamic", (MDBX_copy_flags_t)(MDBX_CP_COMPACT |
                                                           MDBX_CP_FORCE_DYNAMIC_SIZE)));
    EXPECT_RC(mdbx_env_copy(env, "./plain", MDBX_CP_DEFAULTS), EEXIST);
    EXPECT(mdbx_env_copy(env, "./none/copy", MDBX_CP_DEFAULTS) != MDBX_SUCCESS);
    EXPECT_RC(mdbx_env_copy(env, NULL, MDBX_CP_DEFAULTS), MDBX_EINVAL);
    OK(mdbx_env_close(env));
    EXPECT(size_of("compact") < size_of("plain"));
    expect_whole("./plain");
    expect_whole("./compact");
    expect_whole("./dynamic");
}

/* Into a file, and through a pipe. */
static void to_a_descriptor(void)
{
    MDBX_env *env = filled_env();
    int ends[2], status = 0, fd = open("direct", O_CREAT | O_RDWR, 0644);
    pid_t child;
    OK(mdbx_env_copy2fd(env, fd, MDBX_CP_DEFAULTS));
    close(fd);
    EXPECT(pipe(ends) == 0);
    child = fork();
    if (child == 0) {
        char buffer[65536];
        ssize_t count;
        FILE *file = fopen("piped", "w");
        close(ends[1]);
        while ((count = read(ends[0], buffer, sizeof buffer)) > 0)
            fwrite(buffer, 1, (size_t)count, file);
        fclose(file);
        _exit(0);
    }
    close(ends[0]);
    OK(mdbx_env_copy2fd(env, ends[1], MDBX_CP_COMPACT));
    close(ends[1]);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    OK(mdbx_env_close(env));
    expect_whole("./direct");
    expect_whole("./piped");
}

/* What is committed meanwhile, and what is not, is not in it. */
static void beside_a_writer(void)
{
    MDBX_env *env = filled_env();
    MDBX_txn *txn;
    MDBX_dbi dbi;
    mdbx_setup_debug(MDBX_LOG_DONTCHANGE, MDBX_DBG_LEGACY_OVERLAP, MDBX_LOGGER_DONTCHANGE);
    txn = WRITE(env);
    dbi = table(txn, "t", 0);
    OK(put(txn, dbi, "not yet", "v", 0));
    OK(mdbx_env_copy(env, "./copy", MDBX_CP_COMPACT));
    OK(mdbx_txn_commit(txn));
    OK(mdbx_env_close(env));
    expect_whole("./copy");
}

#if OURS
/* Of what came to the interface later. */
static void of_one_snapshot(void)
{
    MDBX_env *env = filled_env();
    MDBX_txn *txn = READ(env);
    MDBX_envinfo info;
    int fd = open("second", O_CREAT | O_RDWR, 0644);
    OK(mdbx_txn_copy2pathname(txn, "./first", MDBX_CP_DEFAULTS));
    OK(mdbx_txn_copy2fd(txn, fd, MDBX_CP_COMPACT));
    close(fd);
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
    expect_whole("./first");
    expect_whole("./second");
    OK(mdbx_preopen_snapinfo("./first", &info, sizeof info));
    EXPECT_NUM(info.mi_dxb_pagesize, 4096);
    EXPECT_RC(mdbx_preopen_snapinfo("./none", &info, sizeof info), MDBX_ENOFILE);
}
#else
static void of_one_snapshot(void)
{
    ours_alone();
}
#endif

static void change(MDBX_env *env, const char *value)
{
    MDBX_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", value, 0));
    OK(mdbx_txn_commit(txn));
}

/* Opened at each of the three metas, it shows what that names; the newest is among them. */
static void opened_at_a_meta(void)
{
    MDBX_env *env = env_with(0);
    MDBX_txn *txn;
    unsigned meta, newest = 0;
    int rc;
    change(env, "1");
    change(env, "2");
    change(env, "3");
    OK(mdbx_env_close(env));
    for (meta = 0; meta < 3; meta++) {
        env = new_env();
        rc = mdbx_env_open_for_recovery(env, "./db", meta, false);
        if (rc == MDBX_SUCCESS) {
            MDBX_val key = text("k"), data = nothing();
            txn = READ(env);
            rc = mdbx_get(txn, table(txn, NULL, 0), &key, &data);
            EXPECT(rc == MDBX_SUCCESS || rc == MDBX_NOTFOUND);
            newest += rc == MDBX_SUCCESS && data.iov_len == 1 && *(char *)data.iov_base == '3';
            OK(mdbx_txn_abort(txn));
        }
        OK(mdbx_env_close(env));
    }
    EXPECT_NUM(newest, 1);
    env = new_env();
    EXPECT_RC(mdbx_env_open_for_recovery(env, "./db", 3, false), MDBX_EINVAL);
    OK(mdbx_env_close(env));
    env = env_with(0);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "3"); /* looking changed nothing */
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

/* One that is not the newest is made so. */
static void turned_to_a_meta(void)
{
    MDBX_env *env = env_with(0);
    MDBX_envinfo info;
    MDBX_txn *txn;
    uint64_t ids[3], newest;
    unsigned meta, target = 3;
    change(env, "1");
    change(env, "2");
    change(env, "3");
    OK(mdbx_env_info(env, &info, sizeof info));
    ids[0] = info.mi_meta0_txnid;
    ids[1] = info.mi_meta1_txnid;
    ids[2] = info.mi_meta2_txnid;
    newest = info.mi_recent_txnid;
    OK(mdbx_env_close(env));
    for (meta = 0; meta < 3; meta++)
        if (ids[meta] == newest - 1) target = meta;
    EXPECT(target < 3);
    env = new_env();
    OK(mdbx_env_open_for_recovery(env, "./db", target, true));
    OK(mdbx_env_turn_for_recovery(env, target));
    OK(mdbx_env_close(env));
    env = env_with(0);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "2");
    OK(mdbx_txn_abort(txn));
    change(env, "4");
    OK(mdbx_env_close(env));
}

struct walked {
    uint64_t pages, metas, leaves, branches, large, entries;
    int answer;
    MDBX_txn *txn;
    uint64_t id;
};

static int visit(const uint64_t pgno, const unsigned number, void *const ctx, const int deep,
                 const char *const dbi, const size_t page_size, const MDBX_page_type_t type,
                 const MDBX_error_t err, const size_t nentries, const size_t payload_bytes,
                 const size_t header_bytes, const size_t unused_bytes)
{
    struct walked *walked = (struct walked *)ctx;
    (void)pgno, (void)deep, (void)page_size, (void)unused_bytes, (void)header_bytes;
    EXPECT_RC((int)err, MDBX_SUCCESS);
    EXPECT(mdbx_txn_id(walked->txn) == walked->id); /* it may be used meanwhile */
    walked->pages += number;
    walked->metas += type == MDBX_page_meta ? number : 0;
    walked->large += type == MDBX_page_large ? number : 0;
    if (dbi == MDBX_PGWALK_META || dbi == MDBX_PGWALK_GC || dbi == MDBX_PGWALK_MAIN)
        return walked->answer;
    EXPECT(strcmp(dbi, "t") == 0);
    walked->leaves += type == MDBX_page_leaf;
    walked->branches += type == MDBX_page_branch;
    walked->entries += type == MDBX_page_leaf ? nentries : 0;
    EXPECT(payload_bytes > 0);
    return walked->answer;
}

static void walked_through(void)
{
    MDBX_env *env = filled_env();
    MDBX_txn *txn = WRITE(env);
    MDBX_dbi dbi = table(txn, "t", 0);
    MDBX_val key = text("large"), data = filled(20000, 'x');
    struct walked walked;
    MDBX_stat stat;
    OK(mdbx_put(txn, dbi, &key, &data, MDBX_UPSERT));
    OK(mdbx_txn_commit(txn));
    txn = READ(env);
    stat = shape(txn, table(txn, "t", 0));
    memset(&walked, 0, sizeof walked);
    walked.txn = txn;
    walked.id = mdbx_txn_id(txn);
    OK(mdbx_env_pgwalk(txn, visit, &walked, false));
    EXPECT_NUM(walked.metas, 3);
    EXPECT_NUM(walked.leaves, stat.ms_leaf_pages);
    EXPECT_NUM(walked.branches, stat.ms_branch_pages);
    EXPECT_NUM(walked.large, stat.ms_overflow_pages);
    EXPECT_NUM(walked.entries, COUNT + 1);
    walked.answer = 1234;
    EXPECT_RC(mdbx_env_pgwalk(txn, visit, &walked, true), 1234); /* which ends the walk */
    OK(mdbx_txn_abort(txn));
    OK(mdbx_env_close(env));
}

CASES(CASE(to_a_file), CASE(to_a_descriptor), CASE(beside_a_writer), CASE(of_one_snapshot),
      CASE(opened_at_a_meta), CASE(turned_to_a_meta), CASE(walked_through))
