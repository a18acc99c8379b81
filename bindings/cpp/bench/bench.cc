// Huon in C and C++ beside LMDB, in one process: a million records of 16 + 100 bytes, whose keys
// come in hashed order. Each cell is the best of three turns; what is printed is how many times as
// fast Huon is. With the library installed (make install-capi) and Debian's liblmdb-dev:
//
//     c++ -std=c++17 -O2 bench.cc -o bench $(pkg-config --cflags --libs huon) -llmdb
//     ./bench /a/directory/on/a/disk
#include <huon.hpp>
#include <lmdb.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <unistd.h>

static const unsigned RECORDS = 1000000, TURNS = 3, A_TRANSACTION = 1000, DURABLE = 200, MANY = 64;
static volatile std::size_t seen;

// A value that differs from those before: one that is there already costs Huon nothing.
static const std::string &next_value()
{
    static std::string value(100, 'v');
    static std::uint64_t number;
    std::memcpy(&value[0], &++number, sizeof number);
    return value;
}

// The key of a number: all differ, and neighbours lie far apart.
static std::string key_of(std::uint64_t n)
{
    std::uint64_t mixed = n * 0x9E3779B97F4A7C15ull;
    mixed ^= mixed >> 29;
    char key[17];
    std::snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(mixed));
    return key;
}

static void lmdb(int code)
{
    if (code == MDB_SUCCESS) return;
    std::fprintf(stderr, "LMDB: %s\n", mdb_strerror(code));
    std::exit(1);
}

static MDB_val val(std::string_view bytes)
{
    return {bytes.size(), const_cast<char *>(bytes.data())};
}

// Nanoseconds of each of so many.
static double time_of(std::size_t count, const std::function<void()> &work)
{
    auto started = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - started;
    return took.count() / static_cast<double>(count);
}

struct cell {
    const char *name;
    std::size_t count;
    std::function<void()> theirs, in_c, in_cpp;
};

static void measure(const cell &of)
{
    double best[3] = {1e300, 1e300, 1e300};
    const std::function<void()> *ways[3] = {&of.theirs, &of.in_c, &of.in_cpp};
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned way = 0; way < 3; way++)
            best[way] = std::min(best[way], time_of(of.count, *ways[way]));
    std::printf("| %s | %.2f | %.2f |\n", of.name, best[0] / best[1], best[0] / best[2]);
}

// What both engines hold, and how to ask them.
class engines {
public:
    explicit engines(const std::filesystem::path &dir)
        : env(dir / "bench.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY))
    {
        for (unsigned n = 0; n < RECORDS; n++) keys.push_back(key_of(n));
        lmdb(mdb_env_create(&their_env));
        lmdb(mdb_env_set_mapsize(their_env, std::size_t(4) << 30));
        lmdb(mdb_env_open(their_env, (dir / "bench.mdb").c_str(), MDB_NOSUBDIR | MDB_NOSYNC, 0600));
        MDB_txn *txn = their_write();
        lmdb(mdb_dbi_open(txn, nullptr, 0, &dbi));
        lmdb(mdb_txn_commit(txn));
        env.update([&](huon::txn &by) { table = env.create_table(by, "t"); });
    }
    ~engines() { mdb_env_close(their_env); }

    void put(unsigned from, unsigned count)
    {
        MDB_txn *txn = their_write();
        for (unsigned n = from; n < from + count; n++) {
            MDB_val key = val(keys[n % RECORDS]), value = val(next_value());
            lmdb(mdb_put(txn, dbi, &key, &value, 0));
        }
        lmdb(mdb_txn_commit(txn));
    }
    void put_in_c(unsigned from, unsigned count, int durability)
    {
        huon_txn *txn;
        huon::detail::checked(huon_begin_write(env.raw(), -1, &txn));
        for (unsigned n = from; n < from + count; n++)
            huon::detail::checked(huon_put(txn, table.raw(), bytes(keys[n % RECORDS]),
                                           bytes(next_value()), nullptr));
        huon::detail::checked(huon_commit_with(txn, durability, nullptr));
    }
    void put_in_cpp(unsigned from, unsigned count, int durability)
    {
        huon::txn txn = env.write();
        for (unsigned n = from; n < from + count; n++)
            table.put(txn, keys[n % RECORDS], next_value());
        txn.commit(durability);
    }

    static huon_bytes bytes(std::string_view of) { return huon::detail::bytes(of); }

    MDB_txn *their_write()
    {
        MDB_txn *txn;
        lmdb(mdb_txn_begin(their_env, nullptr, 0, &txn));
        return txn;
    }
    MDB_txn *their_read()
    {
        MDB_txn *txn;
        lmdb(mdb_txn_begin(their_env, nullptr, MDB_RDONLY, &txn));
        return txn;
    }

    huon::env env;
    huon::table table{huon_table{}};
    MDB_env *their_env = nullptr;
    MDB_dbi dbi = 0;
    std::vector<std::string> keys;
};

static void get(engines &of)
{
    // Another order than that of the puts.
    auto at = [&](unsigned n) -> const std::string & {
        return of.keys[n * std::uint64_t(7919) % RECORDS];
    };
    MDB_txn *txn = of.their_read();
    huon::txn by = of.env.read();
    auto theirs = [&] {
        for (unsigned n = 0; n < RECORDS; n++) {
            MDB_val key = val(at(n)), value;
            lmdb(mdb_get(txn, of.dbi, &key, &value));
            seen = seen + *static_cast<const unsigned char *>(value.mv_data);
        }
    };
    auto in_c = [&] {
        for (unsigned n = 0; n < RECORDS; n++) {
            huon_bytes value;
            huon::detail::checked(huon_get(by.raw(), of.table.raw(), of.bytes(at(n)), &value));
            seen = seen + *static_cast<const unsigned char *>(value.data);
        }
    };
    auto in_cpp = [&] {
        for (unsigned n = 0; n < RECORDS; n++)
            seen = seen + static_cast<unsigned char>((*of.table.get(by, at(n)))[0]);
    };
    measure({"get", RECORDS, theirs, in_c, in_cpp});

    auto many_in_c = [&] {
        huon_bytes keys[MANY], values[MANY];
        for (unsigned n = 0; n < RECORDS; n += MANY) {
            for (unsigned i = 0; i < MANY; i++) keys[i] = of.bytes(at(n + i));
            huon::detail::checked(huon_get_many(by.raw(), of.table.raw(), keys, MANY, values,
                                                nullptr));
            for (huon_bytes value : values)
                seen = seen + *static_cast<const unsigned char *>(value.data);
        }
    };
    auto many_in_cpp = [&] {
        std::array<std::string_view, MANY> keys;
        for (unsigned n = 0; n < RECORDS; n += MANY) {
            for (unsigned i = 0; i < MANY; i++) keys[i] = at(n + i);
            for (auto value : of.table.get_many(by, keys))
                seen = seen + static_cast<unsigned char>((*value)[0]);
        }
    };
    measure({"get, 64 a call", RECORDS, theirs, many_in_c, many_in_cpp});
    mdb_txn_abort(txn);
}

static void scan(engines &of)
{
    MDB_txn *txn = of.their_read();
    huon::txn by = of.env.read();
    auto theirs = [&] {
        MDB_cursor *cursor;
        MDB_val key, value;
        lmdb(mdb_cursor_open(txn, of.dbi, &cursor));
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS)
            seen = seen + value.mv_size;
        mdb_cursor_close(cursor);
    };
    auto in_c = [&] {
        huon_cursor *cursor;
        huon_pair pairs[MANY];
        std::size_t count;
        huon::detail::checked(huon_cursor_open(by.raw(), of.table.raw(), nullptr, &cursor));
        while (huon_cursor_next_many(cursor, by.raw(), pairs, MANY, &count) == HUON_OK)
            for (std::size_t i = 0; i < count; i++) seen = seen + pairs[i].value.len;
        huon_cursor_close(cursor);
    };
    auto in_cpp = [&] {
        for (auto [key, value] : of.table.scan(by)) seen = seen + value.size();
    };
    measure({"scan", RECORDS, theirs, in_c, in_cpp});
    mdb_txn_abort(txn);
}

static void put(engines &of)
{
    const unsigned some = 200 * A_TRANSACTION;
    auto parts = [&](const std::function<void(unsigned)> &part) {
        for (unsigned n = 0; n < some; n += A_TRANSACTION) part(n);
    };
    auto theirs = [&] { parts([&](unsigned n) { of.put(n, A_TRANSACTION); }); };
    auto in_c = [&] { parts([&](unsigned n) { of.put_in_c(n, A_TRANSACTION, HUON_LAZY); }); };
    auto in_cpp = [&] { parts([&](unsigned n) { of.put_in_cpp(n, A_TRANSACTION, HUON_LAZY); }); };
    measure({"put, 1000 a transaction, not flushed", some, theirs, in_c, in_cpp});

    lmdb(mdb_env_sync(of.their_env, 1));
    of.env.sync();
    lmdb(mdb_env_set_flags(of.their_env, MDB_NOSYNC, 0));
    auto each = [&](const std::function<void(unsigned)> &one) {
        for (unsigned n = 0; n < DURABLE; n++) one(n * 7919 % RECORDS);
    };
    auto theirs_flushed = [&] { each([&](unsigned n) { of.put(n, 1); }); };
    auto c_flushed = [&] { each([&](unsigned n) { of.put_in_c(n, 1, HUON_DURABLE); }); };
    auto cpp_flushed = [&] { each([&](unsigned n) { of.put_in_cpp(n, 1, HUON_DURABLE); }); };
    measure({"put, durable, one a transaction", DURABLE, theirs_flushed, c_flushed, cpp_flushed});
}

int main(int argc, char **argv)
{
    std::filesystem::path dir = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
    dir /= "huon-bench-" + std::to_string(getpid());
    std::filesystem::create_directory(dir);
    {
        engines of(dir);
        for (unsigned n = 0; n < RECORDS; n += A_TRANSACTION) {
            of.put(n, A_TRANSACTION);
            of.put_in_c(n, A_TRANSACTION, HUON_LAZY);
        }
        std::puts("| times as fast as LMDB | C | C++ |\n|---|---|---|");
        get(of);
        scan(of);
        put(of);
    }
    std::filesystem::remove_all(dir);
}
