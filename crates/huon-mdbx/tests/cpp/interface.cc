// A program for the C++ interface of libmdbx 0.11.8, as it is in that release.
#include <mdbx.h++>

#include <cstdio>
#include <cstdlib>
#include <string>

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)

template <typename Thrown, typename Work>
static bool throws(Work work)
{
    try {
        work();
    } catch (const Thrown &) {
        return true;
    }
    return false;
}

static mdbx::env_managed opened()
{
    mdbx::env_managed::create_parameters create;
    create.geometry.make_dynamic(1 << 20, 64 << 20);
    mdbx::env::operate_parameters operate(8, 16, mdbx::env::mode::write_file_io);
    return mdbx::env_managed(std::string("case.mdbx"), create, operate);
}

static void records_come_and_go(mdbx::env &env)
{
    auto txn = env.start_write();
    auto map = txn.create_map("map", mdbx::key_mode::usual, mdbx::value_mode::single);
    for (int n = 100; n < 200; n++) {
        std::string key = std::to_string(n);
        txn.insert(map, mdbx::slice(key), mdbx::slice("v" + key));
    }
    EXPECT(throws<mdbx::exception>([&] { txn.insert(map, "150", "again"); }));
    txn.upsert(map, "150", "w");
    EXPECT(txn.erase(map, "199") && !txn.erase(map, "199"));
    txn.commit();

    auto reader = env.start_read();
    map = reader.open_map("map");
    EXPECT(reader.get(map, "150") == mdbx::slice("w"));
    EXPECT(throws<mdbx::not_found>([&] { reader.get(map, "none"); }));
    EXPECT(reader.get_map_stat(map).ms_entries == 99);
    auto cursor = reader.open_cursor(map);
    int count = 0;
    for (auto at = cursor.to_first(false); at; at = cursor.to_next(false)) count++;
    EXPECT(count == 99);
    EXPECT(cursor.lower_bound("1495").key == mdbx::slice("150"));
    EXPECT(throws<mdbx::permission_denied_or_not_writeable>([&] { reader.upsert(map, "a", "b"); }));
}

static void keys_have_many_values(mdbx::env &env)
{
    auto txn = env.start_write();
    auto map = txn.create_map("multi", mdbx::key_mode::usual, mdbx::value_mode::multi);
    for (std::string value : {"3", "1", "2"}) txn.upsert(map, "key", mdbx::slice(value));
    auto cursor = txn.open_cursor(map);
    EXPECT(cursor.find("key").value == mdbx::slice("1"));
    EXPECT(cursor.count_multivalue() == 3);
    EXPECT(cursor.to_current_last_multi().value == mdbx::slice("3"));
    cursor.close();
    EXPECT(txn.erase(map, "key", "2"));
    {
        auto nested = txn.start_nested();
        nested.clear_map(map);
        nested.abort();
    }
    EXPECT(txn.get_map_stat(map).ms_entries == 2);
    txn.abort();
}

int main()
{
    auto env = opened();
    records_come_and_go(env);
    keys_have_many_values(env);
    EXPECT(env.get_stat().ms_psize >= 256 && env.get_info().mi_maxreaders >= 1);
    env.sync_to_disk();
    env.close();
    EXPECT(throws<std::exception>([&] { env.start_read(); }));
    std::puts("ok interface");
}
