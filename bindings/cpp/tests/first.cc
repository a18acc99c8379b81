// What huon.hpp promises: ownership, ranges, exceptions for errors and none for what is not there.
#include <huon.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)

static void records_are_walked_both_ways()
{
    huon::env env = huon::env::in_memory();
    std::map<std::string, std::string> model;
    env.update([&](huon::txn &txn) {
        huon::table ages = env.create_table(txn, "ages");
        for (int n = 0; n < 500; n++) {
            std::string key = (n % 2 ? "odd" : "even") + std::to_string(n);
            EXPECT(ages.put(txn, key, std::to_string(n)));
            model[key] = std::to_string(n);
        }
    });
    huon::txn txn = env.read();
    huon::table ages = env.open_table(txn, "ages").value();
    EXPECT(!env.open_table(txn, "none"));
    EXPECT(ages.size(txn) == 500);
    EXPECT(ages.get(txn, "odd7") == "7");
    EXPECT(!ages.get(txn, "odd8"));
    auto expected = model.begin();
    for (auto [key, value] : ages.scan(txn)) {
        EXPECT(key == expected->first && value == expected->second);
        ++expected;
    }
    EXPECT(expected == model.end());
    auto back = model.rbegin();
    for (auto [key, value] : ages.scan_back(txn)) {
        EXPECT(key == back->first && value == back->second);
        ++back;
    }
    EXPECT(back == model.rend());
    auto odd = ages.scan(txn, huon::range::prefix("odd"));
    EXPECT(std::distance(odd.begin(), odd.end()) == 250);
    auto none = ages.scan(txn, huon::range::all().after("odd99"));
    EXPECT(none.begin() == none.end());
    auto many = ages.get_many(txn, std::vector<std::string>{"odd1", "x", "even2"});
    EXPECT(many[0] == "1" && !many[1] && many[2] == "2");
    EXPECT(ages.at_or_above(txn, "even499")->key == "even50");
    EXPECT(ages.first(txn)->key == "even0");
    EXPECT(!ages.at_or_above(txn, "z"));
}

static void what_throws_is_undone()
{
    huon::env env = huon::env::in_memory();
    bool caught = false;
    try {
        env.update([&](huon::txn &txn) {
            huon::table t = env.create_table(txn, "t");
            t.append(txn, "b", "1");
            t.append(txn, "a", "1");
        });
    } catch (const huon::error &error) {
        caught = error.code() == HUON_KEY_OUT_OF_ORDER;
        EXPECT(std::string(error.what()).find("huon_append: ") == 0);
    }
    EXPECT(caught);
    env.view([&](huon::txn &txn) { EXPECT(!env.open_table(txn, "t")); });
}

static void a_cursor_lives_beside_changes()
{
    huon::env env("cursor.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY));
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        for (char c = 'a'; c <= 'z'; c++) t.put(txn, std::string(1, c), "");
        huon::cursor cursor = t.cursor(txn, huon::range::all().from("c").before("x"));
        while (auto record = cursor.next(txn)) EXPECT(t.remove(txn, record->key));
        EXPECT(t.size(txn) == 5);
        EXPECT(t.remove(txn, huon::range::all().to("b")) == 2);
        EXPECT(!t.put_if_absent(txn, "x", "y"));
        txn.savepoint("s");
        EXPECT(t.remove(txn, "x"));
        txn.roll_back_to("s");
        EXPECT(t.contains(txn, "x"));
    });
    huon::txn first = env.read();
    huon::txn moved = std::move(first);
    EXPECT(first.raw() == nullptr && moved.id() > 0);
    moved.abort();
    EXPECT(env.sync() > 0);
    env.close();
}

int main()
{
    records_are_walked_both_ways();
    what_throws_is_undone();
    a_cursor_lives_beside_changes();
    std::puts("ok first");
}
