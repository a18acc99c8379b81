/* Environments: opening, files, flags, limits, sizes, and what is told of them. */
#include "harness.h"

static MDB_env *created(void)
{
    MDB_env *env = NULL;
    OK(mdb_env_create(&env));
    EXPECT(env != NULL);
    return env;
}

static MDB_envinfo info_of(MDB_env *env)
{
    MDB_envinfo info;
    OK(mdb_env_info(env, &info));
    return info;
}

static unsigned flags_of(MDB_env *env)
{
    unsigned flags = 1;
    OK(mdb_env_get_flags(env, &flags));
    return flags;
}

static int exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static unsigned mode_of(const char *path)
{
    struct stat stat_buf;
    EXPECT(stat(path, &stat_buf) == 0);
    return stat_buf.st_mode & 0777;
}

static void versions(void)
{
    int major = -1, minor = -1, patch = -1;
    char wanted[32];
    const char *found = mdb_version(&major, &minor, &patch);
    EXPECT_NUM(major, 0);
    EXPECT_NUM(minor, 9);
    snprintf(wanted, sizeof wanted, "LMDB 0.9.%d: (", patch);
    EXPECT(strncmp(found, wanted, strlen(wanted)) == 0);
    EXPECT(found == mdb_version(NULL, NULL, NULL));
}

/* Programs compare them, and look for them in logs. */
static void texts_of_errors(void)
{
    static const struct {
        int code;
        const char *text;
    } known[] = {
        {MDB_KEYEXIST, "MDB_KEYEXIST: Key/data pair already exists"},
        {MDB_NOTFOUND, "MDB_NOTFOUND: No matching key/data pair found"},
        {MDB_PAGE_NOTFOUND, "MDB_PAGE_NOTFOUND: Requested page not found"},
        {MDB_CORRUPTED, "MDB_CORRUPTED: Located page was wrong type"},
        {MDB_PANIC, "MDB_PANIC: Update of meta page failed or environment had fatal error"},
        {MDB_VERSION_MISMATCH, "MDB_VERSION_MISMATCH: Database environment version mismatch"},
        {MDB_INVALID, "MDB_INVALID: File is not an LMDB file"},
        {MDB_MAP_FULL, "MDB_MAP_FULL: Environment mapsize limit reached"},
        {MDB_DBS_FULL, "MDB_DBS_FULL: Environment maxdbs limit reached"},
        {MDB_READERS_FULL, "MDB_READERS_FULL: Environment maxreaders limit reached"},
        {MDB_TLS_FULL, "MDB_TLS_FULL: Thread-local storage keys full - too many environments open"},
        {MDB_TXN_FULL, "MDB_TXN_FULL: Transaction has too many dirty pages - transaction too big"},
        {MDB_CURSOR_FULL, "MDB_CURSOR_FULL: Internal error - cursor stack limit reached"},
        {MDB_PAGE_FULL, "MDB_PAGE_FULL: Internal error - page has no more space"},
        {MDB_MAP_RESIZED, "MDB_MAP_RESIZED: Database contents grew beyond environment mapsize"},
        {MDB_INCOMPATIBLE, "MDB_INCOMPATIBLE: Operation and DB incompatible, or DB flags changed"},
        {MDB_BAD_RSLOT, "MDB_BAD_RSLOT: Invalid reuse of reader locktable slot"},
        {MDB_BAD_TXN, "MDB_BAD_TXN: Transaction must abort, has a child, or is invalid"},
        {MDB_BAD_VALSIZE,
         "MDB_BAD_VALSIZE: Unsupported size of key/DB name/data, or wrong DUPFIXED size"},
        {MDB_BAD_DBI, "MDB_BAD_DBI: The specified DBI handle was closed/changed unexpectedly"},
        {MDB_SUCCESS, "Successful return: 0"},
    };
    static const int of_the_system[] = {EPERM, ENOENT, EIO, EAGAIN, ENOMEM, EACCES, EBUSY, EEXIST,
                                        EINVAL, ENOSPC, EROFS, 134, 1000};
    unsigned i;
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *found = mdb_strerror(known[i].code);
        if (strcmp(found, known[i].text) != 0)
            fail(__FILE__, __LINE__, "`%s`, expected `%s`", found, known[i].text);
        EXPECT(found == mdb_strerror(known[i].code));
    }
    EXPECT_NUM(sizeof known / sizeof known[0], MDB_LAST_ERRCODE - MDB_KEYEXIST + 2);
    for (i = 0; i < sizeof of_the_system / sizeof of_the_system[0]; i++)
        EXPECT(strcmp(mdb_strerror(of_the_system[i]), strerror(of_the_system[i])) == 0);
    if (!since(36)) skip("other texts of what is no code");
    EXPECT(strcmp(mdb_strerror(MDB_KEYEXIST - 1), "Invalid error code") == 0);
    EXPECT(strcmp(mdb_strerror(-1), "Invalid error code") == 0);
    EXPECT(strcmp(mdb_strerror(-30778), "Invalid error code") == 0);
}

static void files_of_a_directory(void)
{
    MDB_env *env = created();
    const char *path = NULL;
    umask(0);
    EXPECT(mkdir("dir", 0755) == 0);
    OK(mdb_env_open(env, "dir", 0, 0640));
    EXPECT(exists("dir/data.mdb") && exists("dir/lock.mdb"));
    EXPECT_NUM(mode_of("dir/data.mdb"), 0640);
    EXPECT_NUM(mode_of("dir/lock.mdb"), 0640);
    OK(mdb_env_get_path(env, &path));
    EXPECT(strcmp(path, "dir") == 0);
    mdb_env_close(env);
}

static void one_file_and_its_lock(void)
{
    MDB_env *env = created();
    const char *path = NULL;
    OK(mdb_env_open(env, "one", MDB_NOSUBDIR, 0600));
    EXPECT(exists("one") && exists("one-lock"));
    OK(mdb_env_get_path(env, &path));
    EXPECT(strcmp(path, "one") == 0);
    EXPECT_NUM(flags_of(env), MDB_NOSUBDIR);
    mdb_env_close(env);
}

static void no_lock_file_without_locks(void)
{
    MDB_env *env = env_with(MDB_NOLOCK);
    MDB_txn *txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(txn));
    EXPECT(exists("data.mdb"));
    if (!OURS) EXPECT(!exists("lock.mdb")); /* Huon's commits go through it */
    EXPECT_NUM(flags_of(env), MDB_NOLOCK);
    txn = READ(env);
    EXPECT_GET(txn, 1, "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void what_cannot_be_opened(void)
{
    MDB_env *env = created();
    EXPECT_RC(mdb_env_open(env, "nowhere", 0, 0644), ENOENT);
    mdb_env_close(env);
    env = created();
    EXPECT_RC(mdb_env_open(env, ".", MDB_RDONLY, 0644), ENOENT);
    mdb_env_close(env);
    env = created();
    EXPECT_RC(mdb_env_open(env, ".", 0x08000000, 0644), EINVAL);
    mdb_env_close(env);
    mdb_env_close(NULL);
}

static void a_file_of_something_else(void)
{
    MDB_env *env = created();
    FILE *file = fopen("data.mdb", "w");
    int i;
    for (i = 0; i < 4096; i++) fprintf(file, "junk%d", i);
    fclose(file);
    EXPECT_RC(mdb_env_open(env, ".", 0, 0644), MDB_INVALID);
    mdb_env_close(env);
}

static void opened_once(void)
{
    MDB_env *env = env_with(0);
    EXPECT_RC(mdb_env_open(env, ".", 0, 0644), EINVAL);
    OK(mdb_txn_commit(WRITE(env)));
    mdb_env_close(env);
}

static void a_fresh_environment(void)
{
    MDB_env *env = created();
    MDB_envinfo info;
    MDB_stat stat;
    unsigned readers = 0;
    int fd = -1;
    OK(mdb_env_open(env, ".", 0, 0644));
    info = info_of(env);
    EXPECT(info.me_mapaddr == NULL);
    EXPECT_NUM(info.me_mapsize, 1048576);
    EXPECT_NUM(info.me_last_txnid, 0);
    EXPECT_NUM(info.me_maxreaders, 126);
    EXPECT_NUM(info.me_numreaders, 0);
    OK(mdb_env_get_maxreaders(env, &readers));
    EXPECT_NUM(readers, 126);
    EXPECT_NUM(mdb_env_get_maxkeysize(env), 511);
    EXPECT_NUM(flags_of(env), 0);
    OK(mdb_env_stat(env, &stat));
    EXPECT(stat.ms_psize >= 512 && stat.ms_psize <= 65536);
    EXPECT((stat.ms_psize & (stat.ms_psize - 1)) == 0);
    EXPECT_NUM(stat.ms_depth, 0);
    EXPECT_NUM(stat.ms_entries, 0);
    EXPECT_NUM(stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages, 0);
    OK(mdb_env_get_fd(env, &fd));
    EXPECT(fcntl(fd, F_GETFD) >= 0);
    mdb_env_close(env);
}

static void numbers_of_transactions(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    EXPECT_NUM(mdb_txn_id(txn), 1);
    mdb_txn_abort(txn);
    txn = WRITE(env);
    EXPECT_NUM(mdb_txn_id(txn), 1);
    OK(mdb_txn_commit(txn)); /* empty: takes no number */
    txn = WRITE(env);
    EXPECT_NUM(mdb_txn_id(txn), 1);
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(txn));
    EXPECT_NUM(info_of(env).me_last_txnid, 1);
    txn = READ(env);
    EXPECT_NUM(mdb_txn_id(txn), 1);
    mdb_txn_abort(txn);
    txn = WRITE(env);
    EXPECT_NUM(mdb_txn_id(txn), 2);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void flags_that_change(void)
{
    MDB_env *env = created();
    OK(mdb_env_set_flags(env, MDB_NOSYNC, 1));
    EXPECT_RC(mdb_env_set_flags(env, MDB_WRITEMAP, 1), EINVAL);
    EXPECT_RC(mdb_env_set_flags(env, MDB_NOTLS, 0), EINVAL);
    EXPECT_RC(mdb_env_set_flags(env, MDB_NOSYNC | MDB_RDONLY, 1), EINVAL);
    OK(mdb_env_open(env, ".", MDB_NOTLS, 0644));
    EXPECT_NUM(flags_of(env), MDB_NOSYNC | MDB_NOTLS);
    OK(mdb_env_set_flags(env, MDB_NOMETASYNC | MDB_MAPASYNC | MDB_NOMEMINIT, 1));
    EXPECT_NUM(flags_of(env),
               MDB_NOSYNC | MDB_NOTLS | MDB_NOMETASYNC | MDB_MAPASYNC | MDB_NOMEMINIT);
    OK(mdb_env_set_flags(env, MDB_NOSYNC | MDB_MAPASYNC | MDB_NOMETASYNC | MDB_NOMEMINIT, 0));
    EXPECT_NUM(flags_of(env), MDB_NOTLS);
    mdb_env_close(env);
}

static void every_mode_of_writing(void)
{
    static const unsigned modes[] = {
        MDB_NOSYNC, MDB_NOMETASYNC, MDB_WRITEMAP, MDB_WRITEMAP | MDB_MAPASYNC,
        MDB_WRITEMAP | MDB_NOSYNC, MDB_NORDAHEAD | MDB_NOMEMINIT, MDB_NOTLS,
    };
    unsigned i;
    for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        MDB_env *env = env_with(modes[i]);
        MDB_txn *txn = WRITE(env);
        MDB_val key = numbered("k", i), data = text("v");
        EXPECT_NUM(flags_of(env), modes[i]);
        OK(mdb_put(txn, table(txn, NULL, 0), &key, &data, 0));
        OK(mdb_txn_commit(txn));
        OK(mdb_env_sync(env, 0));
        OK(mdb_env_sync(env, 1));
        txn = READ(env);
        EXPECT_NUM(entries(txn, table(txn, NULL, 0)), i + 1);
        mdb_txn_abort(txn);
        mdb_env_close(env);
    }
}

static void for_reading_only(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn = WRITE(env);
    MDB_dbi dbi = table(txn, NULL, 0);
    OK(put(txn, dbi, "k", "v", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(MDB_RDONLY | MDB_WRITEMAP);
    EXPECT_NUM(flags_of(env), MDB_RDONLY);
    EXPECT_RC(mdb_txn_begin(env, NULL, 0, &txn), EACCES);
    EXPECT_RC(mdb_env_sync(env, 1), EACCES);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void limits_are_set_before(void)
{
    MDB_env *env = created();
    unsigned readers = 0;
    EXPECT_RC(mdb_env_set_maxreaders(env, 0), EINVAL);
    OK(mdb_env_set_maxreaders(env, 7));
    OK(mdb_env_set_maxdbs(env, 3));
    OK(mdb_env_set_mapsize(env, 4 << 20));
    OK(mdb_env_open(env, ".", 0, 0644));
    OK(mdb_env_get_maxreaders(env, &readers));
    EXPECT_NUM(readers, info_of(env).me_maxreaders);
    EXPECT(readers >= 7);
    EXPECT_RC(mdb_env_set_maxreaders(env, 8), EINVAL);
    EXPECT_RC(mdb_env_set_maxdbs(env, 8), EINVAL);
    EXPECT_NUM(info_of(env).me_mapsize, 4 << 20);
    mdb_env_close(env);
}

static void a_pointer_of_the_caller(void)
{
    int mine = 5;
    MDB_env *env = created();
    EXPECT(mdb_env_get_userctx(env) == NULL);
    OK(mdb_env_set_userctx(env, &mine));
    EXPECT(mdb_env_get_userctx(env) == &mine);
    OK(mdb_env_set_userctx(env, NULL));
    EXPECT(mdb_env_get_userctx(env) == NULL);
    OK(mdb_env_set_assert(env, NULL));
    mdb_env_close(env);
}

/* Puts records of 1000 bytes until one is refused, and gives back the reason. */
static int fill(MDB_txn *txn, MDB_dbi dbi, unsigned records_max)
{
    MDB_val data = filled(1000, 'x');
    unsigned i;
    for (i = 0; i < records_max; i++) {
        MDB_val key = numbered("k", i);
        int rc = mdb_put(txn, dbi, &key, &data, 0);
        if (rc != 0) return rc;
    }
    return 0;
}

static void a_full_map_and_a_larger_one(void)
{
    MDB_env *env = created();
    MDB_txn *txn;
    MDB_dbi dbi;
    OK(mdb_env_set_mapsize(env, 1 << 20));
    OK(mdb_env_open(env, ".", 0, 0644));
    txn = WRITE(env);
    dbi = table(txn, NULL, 0);
    EXPECT_RC(fill(txn, dbi, 5000), MDB_MAP_FULL);
    EXPECT_RC(put(txn, dbi, "k", "v", 0), MDB_BAD_TXN);
    EXPECT_RC(mdb_txn_commit(txn), MDB_BAD_TXN);
    txn = WRITE(env);
    OK(fill(txn, dbi, 100));
    EXPECT_RC(mdb_env_set_mapsize(env, 16 << 20), EINVAL); /* while this process writes */
    OK(mdb_txn_commit(txn));
    OK(mdb_env_set_mapsize(env, 16 << 20));
    EXPECT_NUM(info_of(env).me_mapsize, 16 << 20);
    txn = WRITE(env);
    OK(fill(txn, dbi, 5000));
    OK(mdb_txn_commit(txn));
    /* Less than what is in use becomes what is in use. */
    OK(mdb_env_set_mapsize(env, 1 << 16));
    EXPECT(info_of(env).me_mapsize > 4 << 20 && info_of(env).me_mapsize < 16 << 20);
    mdb_env_close(env);
    /* Growth was kept by the commit. */
    env = created();
    OK(mdb_env_open(env, ".", 0, 0644));
    EXPECT_NUM(info_of(env).me_mapsize, 16 << 20);
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 5000);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

/* Another process enlarges the file; one with the smaller map is told, and takes the new size
 * over. */
static void another_process_grows_the_file(void)
{
    MDB_env *env;
    MDB_txn *txn;
    int to_child[2], to_parent[2], status;
    char sign;
    EXPECT(pipe(to_child) == 0 && pipe(to_parent) == 0);
    if (fork() == 0) {
        EXPECT(read(to_child[0], &sign, 1) == 1);
        env = env_with(0);
        OK(mdb_env_set_mapsize(env, 32 << 20));
        txn = WRITE(env);
        OK(fill(txn, table(txn, NULL, 0), 5000));
        OK(mdb_txn_commit(txn));
        mdb_env_close(env);
        _exit(0);
    }
    env = created();
    OK(mdb_env_set_mapsize(env, 1 << 20));
    OK(mdb_env_open(env, ".", 0, 0644));
    EXPECT(write(to_child[1], "g", 1) == 1);
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_RC(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), MDB_MAP_RESIZED);
    OK(mdb_env_set_mapsize(env, 0));
    EXPECT(info_of(env).me_mapsize >= 32 << 20);
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, NULL, 0)), 5000);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static void data_outlives_the_environment(void)
{
    int round;
    for (round = 0; round < 4; round++) {
        MDB_env *env = env_with(round % 2 ? MDB_NOSYNC : 0);
        MDB_txn *txn = WRITE(env);
        MDB_dbi dbi = table(txn, "t", MDB_CREATE);
        MDB_val key = numbered("k", round), data = text("v");
        EXPECT_NUM(entries(txn, dbi), round);
        OK(mdb_put(txn, dbi, &key, &data, 0));
        OK(mdb_txn_commit(txn));
        mdb_env_close(env);
    }
}

/* Locks the whole file without waiting, or unlocks it. */
static int locked(MDB_env *env, short kind)
{
    struct flock lock = {0};
    int fd;
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    OK(mdb_env_get_fd(env, &fd));
    return fcntl(fd, F_SETLK, &lock) == 0;
}

static void locks_of_the_program_itself(void)
{
    MDB_env *env = created();
    MDB_txn *txn;
    int status;
    OK(mdb_env_open(env, "one", MDB_NOSUBDIR | MDB_NOLOCK, 0644));
    EXPECT(locked(env, F_WRLCK));
    txn = WRITE(env);
    OK(put(txn, table(txn, NULL, 0), "k", "v", 0));
    OK(mdb_txn_commit(txn));
    EXPECT(locked(env, F_UNLCK));
    if (fork() == 0) {
        struct stat there, opened;
        int fd;
        env = created();
        OK(mdb_env_open(env, "one", MDB_NOSUBDIR | MDB_NOLOCK | MDB_RDONLY, 0644));
        EXPECT(locked(env, F_RDLCK));
        txn = READ(env);
        EXPECT_GET(txn, table(txn, NULL, 0), "k", "v");
        mdb_txn_abort(txn);
        EXPECT(locked(env, F_UNLCK));
        /* Readers ask what became of the file, too. */
        OK(mdb_env_get_fd(env, &fd));
        EXPECT(fstat(fd, &opened) == 0 && stat("one", &there) == 0);
        EXPECT(opened.st_ino == there.st_ino);
        mdb_env_close(env);
        _exit(0);
    }
    wait(&status);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    mdb_env_close(env);
}

/* As Knot Resolver does, so that its cache never finds the disk full. */
static void blocks_for_the_whole_map(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn;
    MDB_dbi dbi;
    unsigned i;
    int fd, round;
    OK(mdb_env_get_fd(env, &fd));
    OK(posix_fallocate(fd, 0, 4 << 20));
    for (round = 0; round < 3; round++) {
        txn = WRITE(env);
        dbi = table(txn, "t", MDB_CREATE);
        for (i = 0; i < 1000; i++) {
            MDB_val key = numbered("k", i), data = filled(2000 + round, i);
            OK(mdb_put(txn, dbi, &key, &data, 0));
        }
        OK(mdb_txn_commit(txn));
        if (round == 1) {
            mdb_env_close(env);
            env = env_with(0);
        }
    }
    txn = READ(env);
    EXPECT_NUM(entries(txn, table(txn, "t", 0)), 1000);
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

static int takes_a_line(const char *line, void *count)
{
    EXPECT(strlen(line) > 0);
    ++*(int *)count;
    return 0;
}

/* What is told of an environment that was made and not opened, and where nothing is asked. */
static void before_it_is_open(void)
{
    MDB_env *env = created();
    const char *path = "some";
    mdb_filehandle_t fd = 77;
    unsigned number = 77;
    int dead = 77, lines = 0;
    OK(mdb_env_get_fd(env, &fd));
    EXPECT_NUM(fd, -1);
    OK(mdb_env_get_path(env, &path));
    EXPECT(path == NULL);
    OK(mdb_env_get_flags(env, &number));
    EXPECT_NUM(number, 0);
    OK(mdb_env_get_maxreaders(env, &number));
    EXPECT_NUM(number, 126);
    OK(mdb_reader_check(env, &dead));
    EXPECT_NUM(dead, 0);
    OK(mdb_reader_list(env, takes_a_line, &lines));
    EXPECT_NUM(lines, 1); /* that there are none */
    EXPECT_RC(mdb_reader_list(NULL, takes_a_line, &lines), -1);
    EXPECT_RC(mdb_reader_list(env, NULL, NULL), -1);
    EXPECT_RC(mdb_env_get_fd(env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_path(env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_flags(env, NULL), EINVAL);
    EXPECT_RC(mdb_env_get_fd(NULL, &fd), EINVAL);
    OK(mdb_env_open(env, ".", 0, 0644));
    OK(mdb_env_get_fd(env, &fd));
    EXPECT(fd > 2);
    EXPECT_RC(mdb_reader_list(env, NULL, NULL), -1);
    mdb_env_close(env);
}

/* Of LMDB's master line: the meta before the newest, which gives up what is newer. */
static void the_snapshot_before(void)
{
    MDB_env *env = env_with(0);
    MDB_txn *txn;
    MDB_dbi dbi;
    int i;
    if (!OURS) skip("not in LMDB 0.9");
    for (i = 0; i < 3; i++) {
        txn = WRITE(env);
        dbi = table(txn, NULL, 0);
        OK(put(txn, dbi, "k", i == 2 ? "new" : "old", 0));
        OK(mdb_txn_commit(txn));
        OK(mdb_env_sync(env, 1));
    }
    mdb_env_close(env);
    env = env_with(MDB_RDONLY | MDB_PREVSNAPSHOT); /* a look */
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "old");
    mdb_txn_abort(txn);
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    EXPECT_GET(txn, table(txn, NULL, 0), "k", "new");
    mdb_txn_abort(txn);
    {
        MDB_env *beside = created(); /* not while others go on from what is newer */
        EXPECT_RC(mdb_env_open(beside, ".", MDB_PREVSNAPSHOT, 0644), EAGAIN);
        mdb_env_close(beside);
    }
    mdb_env_close(env);
    env = env_with(MDB_PREVSNAPSHOT);
    txn = WRITE(env);
    dbi = table(txn, NULL, 0);
    EXPECT_GET(txn, dbi, "k", "old");
    OK(put(txn, dbi, "l", "other", 0));
    OK(mdb_txn_commit(txn));
    mdb_env_close(env);
    env = env_with(0);
    txn = READ(env);
    dbi = table(txn, NULL, 0);
    EXPECT_GET(txn, dbi, "k", "old");
    EXPECT_GET(txn, dbi, "l", "other");
    mdb_txn_abort(txn);
    mdb_env_close(env);
}

CASES(CASE(versions), CASE(texts_of_errors), CASE(files_of_a_directory),
      CASE(one_file_and_its_lock), CASE(no_lock_file_without_locks), CASE(what_cannot_be_opened),
      CASE(a_file_of_something_else), CASE(opened_once), CASE(a_fresh_environment),
      CASE(numbers_of_transactions), CASE(flags_that_change), CASE(every_mode_of_writing),
      CASE(for_reading_only), CASE(limits_are_set_before), CASE(a_pointer_of_the_caller),
      CASE(a_full_map_and_a_larger_one), CASE(another_process_grows_the_file),
      CASE(data_outlives_the_environment), CASE(locks_of_the_program_itself),
      CASE(blocks_for_the_whole_map),
      CASE(before_it_is_open), CASE(the_snapshot_before))
