// What a program may do wrong in C++, and what it may do that looks wrong.
#include <huon.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
        EXPECT(*error.what() != 0);
        return error.code();
    }
    return HUON_OK;
}

static huon::table filled(const huon::env &env, int count)
{
    return env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        for (int n = 0; n < count; n++) t.put(txn, std::to_string(1000 + n), std::to_string(n));
        return t;
    });
}

// A commit that fails ends its transaction: another one can begin, and nothing is committed.
static void a_commit_that_fails_ends_its_transaction()
{
    huon::env env = huon::env::in_memory();
    huon::table t = filled(env, 1);
    for (int wrong : {99, -1, HUON_DURABILITY}) {
        huon::txn txn = env.write();
        t.put(txn, "none", "");
        EXPECT(code_of([&] { txn.commit(wrong); }) == HUON_BAD_ARGUMENT && !txn.raw());
        EXPECT(code_of([&] { txn.commit(); }) == HUON_BAD_HANDLE);
    }
    EXPECT(env.view([&](huon::txn &txn) { return t.size(txn); }) == 1);
    huon::txn reader = env.read();
    EXPECT(code_of([&] { reader.commit_ticket(); }) == HUON_BAD_TXN && !reader.raw());
    EXPECT(env.info().readers == 0);
}

// A transaction that ends within a callback of its own goes on, and is ended later.
static void a_transaction_in_use_is_kept()
{
    huon::env env = huon::env::in_memory();
    huon::table t = filled(env, 3);
    huon::txn txn = env.write();
    auto commits = [&](huon::record) -> bool { txn.commit(); return true; };
    EXPECT(code_of([&] { t.retain(txn, commits); }) == HUON_IN_USE);
    EXPECT(txn.raw());
    t.retain(txn, [&](huon::record) { txn.abort(); return true; });
    EXPECT(txn.raw() && t.remove(txn, "1000"));
    txn.commit();
    {
        huon::txn open = env.write();
        t.retain(open, [&](huon::record) { open.abort(); return false; });
    }
    EXPECT(env.update([&](huon::txn &own) { return t.size(own); }) == 2);
}

// What a transaction runs may end it, and gives something back.
static void updates_give_back_what_their_work_does()
{
    huon::env env = huon::env::in_memory();
    huon::table t = filled(env, 1);
    EXPECT(env.update([&](huon::txn &txn) { return t.sequence(txn); }) == 0);
    env.update([&](huon::txn &txn) { t.put(txn, "a", "1"); txn.commit(); });
    std::string kept = env.update([&](huon::txn &txn) {
        t.put(txn, "a", "2");
        txn.abort();
        return std::string("aborted");
    });
    EXPECT(kept == "aborted");
    EXPECT(env.view([&](huon::txn &txn) { return std::string(*t.get(txn, "a")); }) == "1");
}

static void scans_begin_again()
{
    huon::env env = huon::env::in_memory();
    huon::table t = filled(env, 500);
    huon::txn txn = env.read();
    auto all = t.scan(txn), back = t.scan_back(txn);
    for (int round = 0; round < 3; round++) {
        EXPECT(all.begin() != all.end() && all.begin()->key == "1000");
        EXPECT(std::distance(all.begin(), all.end()) == 500);
        EXPECT(std::distance(back.begin(), back.end()) == 500 && back.begin()->key == "1499");
    }
    auto from = t.scan(txn, huon::range::all().after("1100"));
    auto at = from.begin();
    std::string_view first = (*at++).key;
    EXPECT(first == "1101" && at->key == "1102" && at->value.size() == 3);
    std::vector<std::string> keys;
    std::transform(at, from.end(), std::back_inserter(keys),
                   [](huon::record of) { return std::string(of.key); });
    EXPECT(keys.size() == 398 && keys.back() == "1499");
    auto none = t.scan(txn, huon::range::prefix("9"));
    EXPECT(none.begin() == none.end() && none.begin() == none.end());
    // On from the last key that was seen, within a prefix.
    std::size_t count = 0;
    for (std::string last = "11"; auto found = t.at_or_above(txn, last); count++) {
        auto rest = t.scan(txn, huon::range::prefix("11").after(last));
        if (rest.begin() == rest.end()) break;
        last = rest.begin()->key;
    }
    EXPECT(count == 100);
    EXPECT(t.count(txn, huon::range::prefix("11").before("1110")) == 10);
    EXPECT(code_of([&] { t.count(txn, huon::range::prefix("1").from("2").to("3")); }) ==
           HUON_BAD_ARGUMENT);
}

// A call of many takes what the transaction itself has shown, and callbacks read.
static void what_is_shown_is_given_again()
{
    huon::env env = huon::env::in_memory();
    env.update([&](huon::txn &txn) {
        huon::table t = env.create_table(txn, "t");
        for (int n = 0; n < 500; n++) t.put(txn, std::to_string(1000 + n), std::to_string(n));
        std::vector<std::pair<std::string, std::string_view>> renamed;
        for (auto [key, value] : t.scan(txn)) renamed.push_back({"0" + std::string(key), value});
        t.put_many(txn, renamed);
        for (int n = 0; n < 500; n++)
            EXPECT(t.get(txn, "0" + std::to_string(1000 + n)) == std::to_string(n));
        std::vector<huon::record> same{{"a", "1"}, {"b", "2"}};
        t.put_many(txn, same);
        huon::multi m = env.create_multi(txn, "m");
        m.put(txn, "x", "1000"), m.put(txn, "x", "1001"), m.put(txn, "y", "1002");
    });
    huon::txn txn = env.read();
    huon::table t = env.open_table(txn, "t").value();
    std::string joined;
    std::vector<std::string_view> keys{"x", "y"};
    env.open_multi(txn, "m")->get_many(txn, keys, [&](std::size_t, std::string_view key) {
        joined += std::string(*t.get(txn, key)) + " ";
    });
    EXPECT(joined == "0 1 2 ");
    huon_bytes wanted[] = {huon_str("1003"), huon_str("none")}, found[2];
    EXPECT(t.get_many(txn, wanted, 2, found) == 1 && !found[1].data);
}

static void what_other_languages_cannot_read_is_refused()
{
    huon::env env = huon::env::in_memory();
    huon::txn txn = env.write();
    auto t = env.create_table<std::string, std::uint32_t>(txn, "t");
    for (std::string_view good : {"", "plain text that is long", "gr\xc3\xbc\xc3\x9f" "e",
                                  "\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf", "\xf0\x90\x80\x80",
                                  "\xf4\x8f\xbf\xbf"})
        EXPECT(t.put(txn, std::string(good), 1));
    for (const char *wrong : {"\xff", "long enough, and then \x80", "\xc3", "\xc0\x80",
                              "\xe0\x9f\x80", "\xed\xa0\x80", "\xf0\x8f\x80\x80",
                              "\xf4\x90\x80\x80", "\xe2\x82", "\xf5\x80\x80\x80",
                              "\xc3\xbc then \xc3("})
        EXPECT(code_of([&] { t.put(txn, wrong, 1); }) == HUON_ENCODE);
    t.raw().put(txn, "short", "123");
    EXPECT(code_of([&] { t.get(txn, "short"); }) == HUON_DECODE);
    t.raw().put(txn, "\xff", std::string_view("\0\0\0\1", 4));
    EXPECT(code_of([&] { t.last(txn); }) == HUON_DECODE);
    auto flags = env.create_table<std::uint8_t, bool>(txn, "flags");
    flags.put(txn, 1, true);
    flags.raw().put(txn, "\2", "\2");
    EXPECT(flags.get(txn, 1) == true && code_of([&] { flags.get(txn, 2); }) == HUON_DECODE);
}

static void handles_that_are_gone_are_refused()
{
    EXPECT(code_of([] { huon::env(std::string("a\0b", 3)); }) == HUON_BAD_ARGUMENT);
    huon::env env("misuse.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY));
    huon::table t = filled(env, 1);
    huon::txn txn = env.read(), moved = std::move(txn);
    EXPECT(code_of([&] { t.get(txn, "1000"); }) == HUON_BAD_HANDLE && t.contains(moved, "1000"));
    huon::env other = huon::env::in_memory();
    huon::table same = filled(other, 1);
    EXPECT(code_of([&] { same.get(moved, "1000"); }) == HUON_INVALID);
    huon::cursor cursor = t.cursor(moved);
    cursor.next(moved);
    EXPECT(code_of([&] { cursor.next(other.read()); }) == HUON_INVALID);
    env.close();
    EXPECT(t.contains(moved, "1000") && code_of([&] { env.read(); }) == HUON_BAD_HANDLE);
    moved.abort();
    EXPECT(code_of([&] { cursor.next(moved); }) == HUON_BAD_HANDLE);
}

int main()
{
    a_commit_that_fails_ends_its_transaction();
    a_transaction_in_use_is_kept();
    updates_give_back_what_their_work_does();
    scans_begin_again();
    what_is_shown_is_given_again();
    what_other_languages_cannot_read_is_refused();
    handles_that_are_gone_are_refused();
    std::puts("ok misuse");
}
