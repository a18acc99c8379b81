// What lives until the program or a thread ends is closed by its destructor, which calls the
// library when that remembers nothing of the thread any more.
#include <huon.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#define EXPECT(what) \
    do { \
        if (!(what)) { \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::_Exit(1); \
        } \
    } while (0)

static bool is_over = false;

// Writes its last words when the program ends, and looks what is left open then.
struct store {
    huon::env env{"ends.huon", huon::options().set(HUON_DURABILITY, HUON_LAZY)};

    ~store()
    {
        if (!is_over) return;
        env.update([&](huon::txn &txn) { env.create_table(txn, "log").put(txn, "end", "1"); });
        env.view([&](huon::txn &txn) {
            huon::table log = env.open_table(txn, "log").value();
            EXPECT(log.size(txn) == 2 && (*log.scan(txn).begin()).key == "begin");
        });
        try {
            env.write().commit(99);
            EXPECT(!"a durability");
        } catch (const huon::error &error) {
            EXPECT(error.code() == HUON_BAD_ARGUMENT && *error.what() != 0);
        }
        EXPECT(env.info().readers == 0);
        std::puts("ok ends");
    }
};

static store kept;
// Closed before the store is.
static std::optional<huon::txn> last_reader;
static std::optional<huon::cursor> last_cursor;

// The transaction and the cursor that a thread keeps end with it.
static void a_thread_keeps_a_reader()
{
    static thread_local std::optional<huon::txn> reader;
    static thread_local std::optional<huon::cursor> cursor;
    reader.emplace(kept.env.read());
    cursor.emplace(kept.env.open_table(*reader, "log")->cursor(*reader));
    EXPECT(cursor->next(*reader)->key == "begin" && !cursor->next(*reader));
    EXPECT(kept.env.info().readers == 1);
}

static void a_thread_keeps_a_writer()
{
    static thread_local std::optional<huon::txn> writer;
    writer.emplace(kept.env.write());
    kept.env.create_table(*writer, "none").put(*writer, "a", "1");
}

int main()
{
    kept.env.update([&](huon::txn &txn) {
        kept.env.create_table(txn, "log").put(txn, "begin", "1");
    });
    std::thread(a_thread_keeps_a_reader).join();
    EXPECT(kept.env.info().readers == 0);
    std::thread(a_thread_keeps_a_writer).join();
    kept.env.write(0).abort();
    last_reader.emplace(kept.env.read());
    last_cursor.emplace(kept.env.open_table(*last_reader, "log")->cursor(*last_reader));
    EXPECT(last_cursor->next(*last_reader));
    is_over = true;
}
