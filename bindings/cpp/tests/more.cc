// What huon.hpp has beside records: multimaps, typed and write-optimised tables, tickets, copies,
// and callbacks that throw.
#include <huon.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)

template <typename Work>
static int code_of(Work work)
{
    try {
        work();
    } catch (const huon::error &error) {
        return error.code();
    }
    return HUON_OK;
}

struct stop {};

template <typename Work>
static bool stops(Work work)
{
    try {
        work();
    } catch (const stop &) {
        return true;
    }
    return false;
}

static std::string all_of(huon::values values)
{
    std::string all;
    for (std::string_view value : values) all += std::string(value) + " ";
    return all;
}

static void multimaps_hold_many_values()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::multi tags = env.create_multi(txn, "tags");
        EXPECT(tags.put(txn, "red", "b") && tags.put(txn, "red", "a"));
        EXPECT(!tags.put(txn, "red", "a"));
        EXPECT(tags.put(txn, "blue", "c") && tags.put(txn, "green", "d"));
        EXPECT(tags.get(txn, "red") == "a" && !tags.get(txn, "grey"));
        EXPECT(tags.count(txn, "red") == 2 && tags.size(txn) == 4);
        EXPECT(all_of(tags.values(txn, "red")) == "a b ");
        EXPECT(all_of(tags.values(txn, "red", true)) == "b a ");
        std::string pairs;
        for (auto [key, value] : tags.scan_back(txn, huon::range::all().from("c")))
            pairs += std::string(key) + "=" + std::string(value) + " ";
        EXPECT(pairs == "red=b red=a green=d ");
        std::map<std::size_t, std::string> found;
        std::vector<std::string> keys{"red", "grey", "blue"};
        tags.get_many(txn, keys, [&](std::size_t n, std::string_view value) { found[n] += value; });
        EXPECT(found.size() == 2 && found[0] == "ab" && found[2] == "c");
        EXPECT(stops([&] { tags.get_many(txn, keys, [](auto...) { throw stop(); }); }));
        EXPECT(tags.set(txn, "green", "e") == 1 && tags.contains(txn, "green", "e"));
        EXPECT(tags.remove(txn, "red", "a") && !tags.remove(txn, "red", "a"));
        EXPECT(tags.retain(txn, [](huon::record r) { return r.key != "blue"; }) == 1);
        EXPECT(stops([&] { tags.retain(txn, [](huon::record) -> bool { throw stop(); }); }));
        EXPECT(tags.size(txn) == 2 && tags.remove(txn, huon::range::prefix("g")) == 1);
        EXPECT(tags.remove(txn, "red") == 1 && tags.remove(txn, "red") == 0);
    });
    env.view([&](huon::txn &txn) {
        EXPECT(env.open_multi(txn, "tags")->size(txn) == 0 && !env.open_multi(txn, "none"));
        EXPECT(code_of([&] { env.open_table(txn, "tags"); }) == HUON_TABLE_KIND);
        EXPECT(env.table_names(txn) == std::vector<std::string>{"tags"});
    });
}

static void multimaps_change_values_and_show_their_ends()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::multi m = env.create_multi(txn, "m");
        EXPECT(m.put_many(txn, "a", std::vector<std::string>{"3", "1", "2"}) == 3);
        EXPECT(!m.put_if_absent(txn, "a", "4") && m.put_if_absent(txn, "b", "1"));
        EXPECT(m.update(txn, "a", "3", "5") && !m.update(txn, "a", "3", "6"));
        m.append(txn, "c", "9");
        EXPECT(m.first(txn)->value == "1" && m.last(txn)->key == "c");
        EXPECT(m.count(txn, huon::range::all().before("c")) == 4);
        huon::cursor cursor = m.cursor(txn);
        EXPECT(!cursor.position() && cursor.next(txn)->value == "1");
        huon::cursor copy = cursor.copy();
        cursor.skip_key();
        EXPECT(cursor.next(txn)->key == "b" && cursor.position() == "b");
        EXPECT(copy.next(txn)->value == "2");
        cursor.seek("a", "4");
        EXPECT(cursor.next(txn)->value == "5");
        cursor.skip_key_back();
        huon_pair room[8];
        EXPECT(!cursor.prev(txn) && cursor.next_many(txn, room, 8) == 5);
        EXPECT(cursor.prev_many(txn, room, 2) == 2 && room[0].key.len == 1);
        EXPECT(m.pop_first(txn)->value == "1" && m.pop_last(txn)->value == "9");
        m.rename(txn, "n");
        EXPECT(env.open_multi(txn, "n") && !env.open_multi(txn, "m"));
    });
}

// A loop that makes each of its pairs when it is asked for.
struct made {
    struct iterator {
        int at;
        std::pair<std::string, std::string> operator*() const
        {
            if (at == 77) throw stop{};
            return {std::to_string(1000 + at / 10), std::to_string(at % 10)};
        }
        iterator &operator++() { return at++, *this; }
        bool operator!=(const iterator &other) const { return at != other.at; }
    };
    int from, to;
    iterator begin() const { return {from}; }
    iterator end() const { return {to}; }
};

static void many_records_are_filled_in()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        std::map<std::string, std::string> fruit{{"apple", "12"}, {"pear", "7"}};
        t.bulk_append(txn, fruit);
        t.bulk_append(txn, std::vector<huon::record>{{"plum", "3"}});
        EXPECT(t.size(txn) == 3 && t.get(txn, "pear") == "7" && t.get(txn, "plum") == "3");
        huon::multi m = env.create_multi(txn, "m");
        m.bulk_load(txn, made{100, 2000});
        EXPECT(m.size(txn) == 1900 && m.contains(txn, "1199", "9"));
        EXPECT(code_of([&] { m.bulk_load(txn, fruit); }) == HUON_INVALID);
        EXPECT(m.remove_values(txn, "1199", huon::range::all().from("3").before("9")) == 6);
        EXPECT(m.count(txn, "1199") == 4);
        EXPECT(m.remove_values(txn, "1199", huon::range::all()) == 4 && m.count(txn, "1199") == 0);
        huon::range prefix = huon::range::prefix("1");
        EXPECT(code_of([&] { m.remove_values(txn, "1198", prefix); }) == HUON_INVALID);
    });
    huon::txn txn = env.write();
    huon::multi n = env.create_multi(txn, "n");
    EXPECT(stops([&] { n.bulk_load(txn, made{0, 100}); }));
    EXPECT(code_of([&] { n.put(txn, "a", "b"); }) == HUON_TXN_BROKEN);
}

static void values_change_with_one_descent()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        huon::multi m = env.create_multi(txn, "m");
        auto count = [](std::optional<std::string_view> old, huon::change &to) {
            to.set(std::to_string(old ? std::stoi(std::string(*old)) + 1 : 1));
        };
        EXPECT(!t.update_with(txn, "hits", count) && t.update_with(txn, "hits", count));
        EXPECT(!m.update_with(txn, "hits", count) && m.update_with(txn, "hits", count));
        EXPECT(t.get(txn, "hits") == "2" && m.get(txn, "hits") == "2" && m.size(txn) == 1);
        auto nothing = [](std::optional<std::string_view>, huon::change &) {};
        EXPECT(t.update_with(txn, "hits", nothing) && !t.update_with(txn, "none", nothing));
        EXPECT(t.get(txn, "hits") == "2" && t.size(txn) == 1);
        auto throws = [](std::optional<std::string_view>, huon::change &to) {
            to.set("9");
            throw stop{};
        };
        EXPECT(stops([&] { t.update_with(txn, "hits", throws); }));
        EXPECT(stops([&] { m.update_with(txn, "hits", throws); }));
        EXPECT(t.get(txn, "hits") == "2" && m.get(txn, "hits") == "2");
        auto away = [](std::optional<std::string_view>, huon::change &to) { to.remove(); };
        EXPECT(t.update_with(txn, "hits", away) && t.size(txn) == 0);
        m.put(txn, "hits", "3");
        EXPECT(code_of([&] { m.update_with(txn, "hits", away); }) == HUON_MANY_VALUES);
        EXPECT(m.remove(txn, "hits", "3") && m.update_with(txn, "hits", away) && m.size(txn) == 0);
    });
}

static void keys_have_orders()
{
    huon::env env = huon::env::in_memory();
    huon::layout reversed, falling;
    reversed.keys = huon::order::reversed();
    falling.keys = huon::order::custom("falling", [](std::string_view a, std::string_view b) {
        return b.compare(a);
    });
    falling.values = falling.keys;
    env.update([&](huon::txn &txn) {
        huon::table r = env.create_table(txn, "r", reversed);
        r.put(txn, "ab", ""), r.put(txn, "ba", "");
        EXPECT(r.first(txn)->key == "ba");
        huon::multi f = env.create_multi(txn, "f", falling);
        f.put(txn, "a", "1"), f.put(txn, "a", "2"), f.put(txn, "b", "1");
        EXPECT(f.first(txn)->key == "b" && all_of(f.values(txn, "a")) == "2 1 ");
        EXPECT(r.estimate(txn, huon::range::all()) == 2);
        r.rename(txn, "s");
        txn.set_markers({1, 2, 3});
        EXPECT(txn.state() == HUON_TXN_WRITES);
    });
    huon::txn txn = env.read();
    EXPECT(txn.markers()[2] == 3 && txn.state() == HUON_TXN_READS);
    EXPECT(env.open_table(txn, "s", reversed)->size(txn) == 2);
    EXPECT(code_of([&] { env.open_multi(txn, "f"); }) == HUON_TABLE_KIND);
    EXPECT(env.open_multi(txn, "f", falling)->size(txn) == 3);
    EXPECT(env.readers().size() == 1 && env.readers()[0].txnid == txn.id());
}

static void slow_readers_are_asked_about()
{
    static int asked = 0;
    huon::options how;
    how.set(HUON_DURABILITY, HUON_LAZY).set(HUON_MAX_BYTES, 1 << 20);
    how.on_slow_reader([](const huon_slow_reader &) { asked++; return HUON_SLOW_GIVE_UP; });
    huon::env env("slow.huon", how);
    EXPECT(env.setting(HUON_DURABILITY) == HUON_LAZY);
    env.update([&](huon::txn &txn) {
        env.create_table(txn, "t").put(txn, "a", std::string(400000, 'x'));
    });
    huon::txn reader = env.read();
    int code = HUON_OK;
    for (char byte = 'a'; byte < 'f' && code == HUON_OK; byte++)
        code = code_of([&] {
            env.update([&](huon::txn &txn) {
                env.open_table(txn, "t")->put(txn, "a", std::string(400000, byte));
            });
        });
    EXPECT(code == HUON_MAP_FULL && asked > 0);
}

template <typename T>
static void rise(huon::env &env, std::string_view name, const std::vector<T> &all)
{
    env.update([&](huon::txn &txn) {
        auto table = env.create_table<T, T>(txn, name);
        for (std::size_t n = all.size(); n > 0; n--) EXPECT(table.put(txn, all[n - 1], all[n - 1]));
        std::size_t at = 0;
        for (auto [key, value] : table.scan(txn)) {
            EXPECT(key == all[at] && value == all[at]);
            at++;
        }
        EXPECT(at == all.size() && table.first(txn)->first == all[0]);
    });
}

static void typed_tables_keep_the_order_of_their_keys()
{
    huon::env env = huon::env::in_memory();
    rise<std::uint64_t>(env, "u64", {0, 1, 255, 256, 1ull << 40, ~0ull});
    rise<std::int64_t>(env, "i64", {INT64_MIN, -256, -1, 0, 1, 1 << 20, INT64_MAX});
    rise<std::int16_t>(env, "i16", {INT16_MIN, -1, 0, 1, INT16_MAX});
    rise<std::uint8_t>(env, "u8", {0, 1, 127, 128, 255});
    double least = std::numeric_limits<double>::denorm_min(), none = HUGE_VAL;
    rise<double>(env, "f64", {-none, -1e300, -1, -least, 0, least, 0.5, 1, 1e300, none});
    rise<float>(env, "f32", {-1.5f, -0.25f, 0, 0.25f, 1.5f});
    rise<std::string>(env, "str", {"", "a", "aa", "b"});
    env.update([&](huon::txn &txn) {
        auto ages = env.create_table<std::string, std::uint32_t>(txn, "ages");
        EXPECT(ages.put(txn, "ada", 36) && ages.put(txn, "bob", 1) && ages.put(txn, "cyd", 70));
        EXPECT(ages.get(txn, "ada") == 36u && !ages.get(txn, "eve"));
        EXPECT(!ages.put_if_absent(txn, "ada", 3) && ages.contains(txn, "ada"));
        // As other languages write it.
        EXPECT(ages.raw().get(txn, "ada") == std::string_view("\0\0\0\x24", 4));
        auto rest = ages.scan_from(txn, "b"), back = ages.scan_back(txn, "cyd");
        EXPECT(rest.begin()->first == "bob" && back.begin()->second == 1);
        EXPECT(ages.scan_back(txn).begin()->first == "cyd");
        EXPECT(ages.prefix(txn, "a").begin()->second == 36 && ages.update(txn, "ada", 36));
        EXPECT(ages.at_or_above(txn, "b")->first == "bob" && !ages.at_or_below(txn, "a"));
        auto some = ages.scan(txn, "b", "c");
        EXPECT((*some.begin()).second == 1);
        EXPECT(ages.remove(txn, "bob") && ages.size(txn) == 2);
    });
    huon::txn txn = env.read();
    EXPECT((env.open_table<std::string, std::uint32_t>(txn, "ages")->get(txn, "cyd") == 70u));
    int code = code_of([&] { env.open_table<std::string, std::uint64_t>(txn, "ages"); });
    EXPECT(code == HUON_TABLE_TYPE);
    EXPECT(!(env.open_table<std::string, std::uint64_t>(txn, "none")));
}

static void parts_are_undone_and_values_change()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        t.put_many(txn, std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}, {"c", "3"}});
        EXPECT(stops([&] {
            txn.nested([&](huon::txn &inner) {
                t.clear(inner);
                throw stop();
            });
        }));
        EXPECT(t.size(txn) == 3);
        txn.nested([&](huon::txn &inner) { EXPECT(t.replace(inner, "a", "4") == "1"); });
        EXPECT(t.update(txn, "a", "5") && !t.update(txn, "x", "5"));
        EXPECT(t.compare_and_set(txn, "a", "5", "6") && !t.compare_and_set(txn, "a", "5", "7"));
        EXPECT(t.compare_and_set(txn, "d", std::nullopt, "8"));
        EXPECT(t.compare_and_set(txn, "d", "8", std::nullopt) && !t.contains(txn, "d"));
        EXPECT(t.take(txn, "c") == "3" && !t.take(txn, "c") && !t.replace(txn, "e", "9"));
        EXPECT(t.pop_last(txn)->key == "e" && t.pop_first(txn)->value == "6");
        t.reserve(txn, "r", 3, [](char *place) { std::memcpy(place, "xyz", 3); });
        EXPECT(t.get(txn, "r") == "xyz" && t.count(txn, huon::range::prefix("r")) == 1);
        EXPECT(stops([&] { t.reserve(txn, "s", 3, [](char *) { throw stop(); }); }));
        EXPECT(t.sequence(txn, 5) == 0 && t.sequence(txn) == 5 && t.sequence(txn, 0) == 6);
        EXPECT(t.retain(txn, [](huon::record r) { return r.key < "r"; }) == 2);
        EXPECT(t.drop(txn));
    });
}

static void commits_are_waited_for()
{
    huon::env env("wait.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY));
    huon::txn txn = env.write();
    env.create_table(txn, "t").put(txn, "a", "1");
    huon::ticket ticket = txn.commit_ticket();
    EXPECT(txn.raw() == nullptr);
    std::thread waiter([&] { ticket.wait(); });
    waiter.join();
    EXPECT(ticket.wait(0) && env.info().durable >= ticket.id());
    EXPECT(!env.wait_for_commit(ticket.id(), 1));
    std::thread writer([&] {
        huon::txn txn = env.write();
        env.create_table(txn, "u");
        EXPECT(txn.commit(HUON_DURABLE) > ticket.id());
    });
    EXPECT(env.wait_for_commit(ticket.id(), 60000).value() > ticket.id());
    writer.join();
    env.close();
}

static void copies_are_whole()
{
    huon::env env("copied.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY));
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        for (int n = 0; n < 3000; n++) t.put(txn, std::to_string(n), std::string(500, 'x'));
    });
    huon::txn before = env.read();
    env.update([&](huon::txn &txn) { env.open_table(txn, "t")->clear(txn); });
    int asked = 0;
    huon::copying how;
    how.compact = true;
    how.snapshot = &before;
    how.progress = [&](const huon_progress &) { return ++asked > 0; };
    huon_copy_report told = env.copy_to("copy.huon", how);
    EXPECT(asked > 0 && told.txnid == before.id());
    how.progress = [](const huon_progress &) -> bool { throw stop(); };
    EXPECT(stops([&] { env.copy_to("none.huon", how); }));
    how.progress = [](const huon_progress &) { return false; };
    EXPECT(code_of([&] { env.copy_to("none.huon", how); }) == HUON_STOPPED);
    std::ofstream out("piped.huon", std::ios::binary);
    env.copy_to(out);
    out.close();
    EXPECT(code_of([&] { env.copy_to(out); }) == HUON_IO);
    huon::env copy("copy.huon"), piped("piped.huon");
    EXPECT(copy.check().empty() && piped.check().empty());
    copy.view([&](huon::txn &txn) { EXPECT(copy.open_table(txn, "t")->size(txn) == 3000); });
    piped.view([&](huon::txn &txn) { EXPECT(piped.open_table(txn, "t")->size(txn) == 0); });
    before.abort();
    EXPECT(env.compact().after_bytes <= env.info().file_bytes && env.stat().tables == 2);
}

static void snapshots_are_named_and_saved()
{
    huon::env env("named.huon");
    auto put = [&](std::string_view value) {
        env.update([&](huon::txn &txn) { env.create_table(txn, "t").put(txn, "key", value); });
    };
    put("old");
    huon_snapshot before = env.name_snapshot("before");
    put("new");
    std::optional<huon::txn> named = env.read("before");
    EXPECT(named && named->id() == before.id && !env.read("other"));
    EXPECT(env.open_table(*named, "t")->get(*named, "key") == "old");
    auto all = env.named_snapshots();
    EXPECT(all.size() == 1 && all[0].first == "before" && all[0].second.id == before.id);

    std::ofstream one("one.backup", std::ios::binary), two("two.backup", std::ios::binary);
    huon_backup_report first = env.backup_to(one, {0, 0}, "before");
    huon_backup_report second = env.backup_to(two, first.snapshot);
    one.close();
    two.close();
    EXPECT(second.since.id == before.id && first.since.id == 0);
    EXPECT(code_of([&] { env.backup_to(two); }) == HUON_IO);
    EXPECT(huon::restore("back.huon", {"one.backup", "two.backup"}).id == second.snapshot.id);
    EXPECT(code_of([] { huon::restore("half.huon", {"two.backup"}); }) == HUON_DIVERGED);
    huon::env back("back.huon");
    back.view([&](huon::txn &txn) { EXPECT(back.open_table(txn, "t")->get(txn, "key") == "new"); });
    named->abort();
    EXPECT(env.drop_snapshot("before") && !env.drop_snapshot("before"));
}

static void write_optimised_tables_merge()
{
    huon::env env = huon::env::in_memory();
    huon::lsm lsm(env);
    huon_lsm_merger merger = {};
    merger.name = huon_str("last");
    merger.merge = [](void *, huon_bytes, huon_bytes newer, huon_bytes *value) -> int {
        *value = newer;
        return 0;
    };
    huon::lsm_table t = lsm.table("t", &merger);
    env.update([&](huon::txn &txn) {
        for (int n = 0; n < 1000; n++) t.put(txn, std::to_string(n * 7919 % 1009), "v");
        t.merge(txn, "5", "w");
        t.remove(txn, "6");
        t.remove(txn, huon::range::prefix("7"));
    });
    huon::compactor merges = lsm.compactor();
    huon::batch batch = lsm.batch();
    batch.put(t, "x", "1").put(t, "y", "1").remove(t, "x").merge(t, "y", "2");
    EXPECT(lsm.write(std::move(batch)) > 0 && !batch.raw());
    lsm.compact(HUON_LSM_ALL);
    env.view([&](huon::txn &txn) {
        EXPECT(t.get(txn, "5") == "w" && !t.get(txn, "6") && !t.get(txn, "77"));
        auto eights = t.scan(txn, huon::range::prefix("8"));
        EXPECT((*eights.begin()).key == "8");
        auto many = t.get_many(txn, std::vector<std::string>{"x", "y"});
        EXPECT(!many[0] && many[1] == "2");
    });
    env.update([&](huon::txn &txn) {
        EXPECT(t.put_if_absent(txn, "x", "3") && !t.put_if_absent(txn, "x", "4"));
        EXPECT(t.update(txn, "x", "5") && !t.update(txn, "z", "5"));
        t.put_until(txn, "past", "1", 1);
    });
    env.update([&](huon::txn &txn) {
        EXPECT(t.get(txn, "x") == "5" && !t.get(txn, "past"));
        t.clear(txn);
        EXPECT(!t.get(txn, "x") && t.drop(txn));
    });
}

int main()
{
    multimaps_hold_many_values();
    multimaps_change_values_and_show_their_ends();
    many_records_are_filled_in();
    values_change_with_one_descent();
    keys_have_orders();
    slow_readers_are_asked_about();
    typed_tables_keep_the_order_of_their_keys();
    parts_are_undone_and_values_change();
    commits_are_waited_for();
    copies_are_whole();
    snapshots_are_named_and_saved();
    write_optimised_tables_merge();
    std::puts("ok more");
}
