// huon.hpp: Huon in C++17, over huon.h. Header only; link to libhuon.
//
// Owners (env, options, txn, cursor, ticket, lsm, lsm_table) close what they own; moved-from ones
// own nothing. Tables and multimaps are values; typed ones have keys and values of a program's
// types, in the form that all of Huon's languages read. What goes wrong is a huon::error; what is
// not there is an empty optional, never an exception. A string_view that is shown stays as
// huon_bytes does: until its read transaction ends, or the next change of its write transaction.
#ifndef HUON_HPP
#define HUON_HPP

#include <huon.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace huon {

// What went wrong: the code, the number of errno.h, the damaged page (or UINT32_MAX), and as text
// the function, what, where and what to do.
class error : public std::runtime_error {
public:
    explicit error(const huon_error &of)
        : std::runtime_error(of.message), code_(of.code), system_(of.system), page_(of.page)
    {
    }

    int code() const noexcept { return code_; }
    int system() const noexcept { return system_; }
    std::uint32_t page() const noexcept { return page_; }

private:
    int code_;
    int system_;
    std::uint32_t page_;
};

namespace detail {

// A wrong call that is found out here, in the words of huon_error.
[[noreturn]] inline void refuse(int code, const char *why)
{
    throw error(huon_error{code, 0, UINT32_MAX, why});
}

[[noreturn]] inline void fail(int code)
{
    huon_error of;
    huon_last_error(&of);
    if (of.code == code) throw error(of);
    // A thread that is about to end keeps no message.
    const char *known = huon_strerror(code);
    refuse(code, known ? known : "an error");
}

// An answer, or an exception: errors are above 0.
inline int checked(int code)
{
    if (code > HUON_OK) fail(code);
    return code;
}

inline huon_bytes bytes(std::string_view text) noexcept
{
    return huon_bytes{text.data(), text.size()};
}

inline std::string_view view(huon_bytes bytes) noexcept
{
    return {static_cast<const char *>(bytes.data), bytes.len};
}

// Whether an item of a loop, or a part of one, is still there when the loop is over.
template <typename Part>
constexpr bool outlives = std::is_lvalue_reference_v<Part> ||
                          std::is_same_v<std::decay_t<Part>, std::string_view>;

template <typename Items>
using item_of = decltype(*std::begin(std::declval<const Items &>()));

template <typename Items, typename = void>
struct count_of {
    static std::size_t get(const Items &) noexcept { return 0; }
};

template <typename Items>
struct count_of<Items, std::void_t<decltype(std::size(std::declval<const Items &>()))>> {
    static std::size_t get(const Items &of) { return std::size(of); }
};

// Many keys, in the form of C.
template <typename Keys>
std::vector<huon_bytes> all_bytes(const Keys &keys)
{
    static_assert(outlives<item_of<Keys>>,
                  "a call takes all keys at once: give a container of them, or string_views");
    std::vector<huon_bytes> all;
    all.reserve(count_of<Keys>::get(keys));
    for (const auto &key : keys) all.push_back(bytes(key));
    return all;
}

// Many records, in the form of C.
template <typename Records>
std::vector<huon_pair> all_pairs(const Records &records)
{
    using item = item_of<Records>;
    std::vector<huon_pair> all;
    all.reserve(count_of<Records>::get(records));
    for (auto &&of : records) {
        const auto &[key, value] = of;
        static_assert(std::is_lvalue_reference_v<item> ||
                          (outlives<decltype(key)> && outlives<decltype(value)>),
                      "a call takes all records at once: give a container, or string_views");
        all.push_back({bytes(key), bytes(value)});
    }
    return all;
}

inline std::vector<std::optional<std::string_view>> values_of(const std::vector<huon_bytes> &found)
{
    std::vector<std::optional<std::string_view>> values(found.size());
    for (std::size_t at = 0; at < found.size(); at++)
        if (found[at].data) values[at] = view(found[at]);
    return values;
}

// A path, which C ends at its first zero byte.
inline const char *path(const std::string &of)
{
    if (of.find('\0') != std::string::npos)
        refuse(HUON_BAD_ARGUMENT, "huon: the path has a zero byte");
    return of.c_str();
}

// Whether what a function gives back is shown by its transaction, which has ended then.
template <typename T>
constexpr bool is_shown = std::is_same_v<T, std::string_view>;
template <typename T>
constexpr bool is_shown<std::optional<T>> = is_shown<T>;

// The options of a call in C, whose first field is their length.
template <typename T>
T sized() noexcept
{
    T of;
    std::memset(&of, 0, sizeof of);
    of.bytes = sizeof of;
    return of;
}

// A callback that is handed to C, through which nothing is thrown: what it throws ends the call,
// and is thrown again behind it.
template <typename Work>
struct caller {
    Work work;
    std::exception_ptr thrown = nullptr;

    template <typename... Args>
    int call(int otherwise, Args... args) noexcept
    {
        if (thrown) return otherwise;
        try {
            return work(args...);
        } catch (...) {
            thrown = std::current_exception();
            return otherwise;
        }
    }

    int checked(int code)
    {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
        return detail::checked(code);
    }
};

// A handle that is closed once. One that a call uses at this moment, as around a callback, is kept,
// and closed by the destructor.
template <typename H, int (*Close)(H *)>
class owner {
public:
    owner() noexcept = default;
    explicit owner(H *handle) noexcept : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) reset(std::exchange(other.handle_, nullptr));
        return *this;
    }
    ~owner() { reset(nullptr); }

    H *get() const noexcept { return handle_; }
    H *release() noexcept { return std::exchange(handle_, nullptr); }
    void reset(H *handle) noexcept
    {
        if (handle_ && Close(handle_) == HUON_IN_USE && !handle) return;
        handle_ = handle;
    }

private:
    H *handle_ = nullptr;
};

} // namespace detail

struct record {
    std::string_view key;
    std::string_view value;
};

namespace detail {

template <>
inline constexpr bool is_shown<record> = true;

} // namespace detail

// A range of keys, whose ends are copied by what takes it. That of a prefix can have one end more:
// prefix("a").after("ab").
class range {
public:
    static range all() noexcept { return {0, {}, {}}; }
    static range prefix(std::string_view of) noexcept { return {HUON_PREFIX, of, {}}; }

    range from(std::string_view key) const noexcept { return lower(HUON_FROM, key); }
    range after(std::string_view key) const noexcept { return lower(HUON_AFTER, key); }
    range to(std::string_view key) const noexcept { return {flags_ | HUON_TO, from_, key}; }
    range before(std::string_view key) const noexcept { return {flags_ | HUON_BEFORE, from_, key}; }

    huon_range raw() const noexcept
    {
        return huon_range{flags_, detail::bytes(from_), detail::bytes(to_)};
    }

private:
    range(std::uint32_t flags, std::string_view from, std::string_view to) noexcept
        : flags_(flags), from_(from), to_(to)
    {
    }

    range lower(std::uint32_t flag, std::string_view key) const noexcept
    {
        if (flags_ & HUON_PREFIX) return {flags_ | flag, from_, key};
        return {flags_ | flag, key, to_};
    }

    std::uint32_t flags_;
    std::string_view from_;
    std::string_view to_;
};

// A commit whose durability can be waited for, in any thread.
class ticket {
public:
    explicit ticket(huon_ticket *handle) noexcept : own_(handle) {}

    void wait() const { detail::checked(huon_ticket_wait(own_.get(), -1)); }

    // Whether it is durable within so many milliseconds, while others flush; 0 only asks.
    bool wait(std::int64_t timeout_ms) const
    {
        return detail::checked(huon_ticket_wait(own_.get(), timeout_ms)) == HUON_OK;
    }

    std::uint64_t id() const
    {
        std::uint64_t id;
        detail::checked(huon_ticket_id(own_.get(), &id));
        return id;
    }

private:
    detail::owner<huon_ticket, huon_ticket_free> own_;
};

// A transaction, which is aborted unless it was committed.
class txn {
public:
    txn(txn &&) noexcept = default;
    txn &operator=(txn &&) noexcept = default;

    huon_txn *raw() const noexcept { return own_.get(); }

    std::uint64_t id() const
    {
        std::uint64_t id;
        detail::checked(huon_txn_id(raw(), &id));
        return id;
    }

    // Whatever comes of a commit, the transaction has ended; but for HUON_IN_USE.
    void commit() { ended(huon_commit(raw())); }

    // With a durability of its own, HUON_DURABLE to HUON_UNSYNCED; the id of its snapshot.
    std::uint64_t commit(int durability)
    {
        std::uint64_t id;
        ended(huon_commit_with(raw(), durability, &id));
        return id;
    }
    std::uint64_t commit(bool must_sync) = delete;

    // Commits at once; the ticket waits until no power loss can take it away.
    ticket commit_ticket()
    {
        huon_ticket *handle;
        ended(huon_commit_ticket(raw(), &handle));
        return ticket(handle);
    }

    void abort() noexcept { own_.reset(nullptr); }

    // HUON_TXN_READS, HUON_TXN_WRITES, HUON_TXN_RESET or HUON_TXN_PARKED.
    int state() const
    {
        int state;
        detail::checked(huon_txn_state(raw(), &state));
        return state;
    }

    // Three numbers that a program keeps with its snapshots; 0 in a new environment.
    std::array<std::uint64_t, 3> markers() const
    {
        std::array<std::uint64_t, 3> values;
        detail::checked(huon_markers(raw(), values.data()));
        return values;
    }
    void set_markers(const std::array<std::uint64_t, 3> &values)
    {
        detail::checked(huon_set_markers(raw(), values.data()));
    }

    // Of a read transaction.
    void reset() { detail::checked(huon_reset(raw())); }
    void renew() { detail::checked(huon_renew(raw())); }
    void park() { detail::checked(huon_park(raw())); }
    void unpark() { detail::checked(huon_unpark(raw())); }

    // Runs `work` as a nested transaction: what it did is undone if it throws.
    template <typename Work>
    void nested(Work &&work)
    {
        savepoint({});
        try {
            std::forward<Work>(work)(*this);
        } catch (...) {
            // The transaction may be broken, which is no second exception.
            if (huon_roll_back_to(raw(), detail::bytes({})) == HUON_OK)
                huon_release(raw(), detail::bytes({}));
            throw;
        }
        release({});
    }

    void savepoint(std::string_view name)
    {
        detail::checked(huon_savepoint(raw(), detail::bytes(name)));
    }
    void roll_back_to(std::string_view name)
    {
        detail::checked(huon_roll_back_to(raw(), detail::bytes(name)));
    }
    void release(std::string_view name)
    {
        detail::checked(huon_release(raw(), detail::bytes(name)));
    }

private:
    friend class env;
    explicit txn(huon_txn *handle) noexcept : own_(handle) {}

    void ended(int code)
    {
        if (code != HUON_IN_USE) own_.release();
        detail::checked(code);
    }

    detail::owner<huon_txn, huon_abort> own_;
};

// A cursor, which belongs to no transaction: each step names one.
class cursor {
public:
    explicit cursor(huon_cursor *handle) noexcept : own_(handle) {}

    huon_cursor *raw() const noexcept { return own_.get(); }

    std::optional<record> next(const txn &by) { return step(huon_cursor_next, by); }
    std::optional<record> prev(const txn &by) { return step(huon_cursor_prev, by); }

    // The next records, at most as many as there is room for; how many.
    std::size_t next_many(const txn &by, huon_pair *room, std::size_t capacity)
    {
        std::size_t count;
        detail::checked(huon_cursor_next_many(raw(), by.raw(), room, capacity, &count));
        return count;
    }
    std::size_t prev_many(const txn &by, huon_pair *room, std::size_t capacity)
    {
        std::size_t count;
        detail::checked(huon_cursor_prev_many(raw(), by.raw(), room, capacity, &count));
        return count;
    }

    // The key that it stands beside, which stays until it moves; none at the ends.
    std::optional<std::string_view> position() const
    {
        huon_bytes key;
        if (detail::checked(huon_cursor_position(raw(), &key)) != HUON_OK) return std::nullopt;
        return detail::view(key);
    }

    // Another one at the same place.
    cursor copy() const
    {
        huon_cursor *handle;
        detail::checked(huon_cursor_copy(raw(), &handle));
        return cursor(handle);
    }

    void to_start() { detail::checked(huon_cursor_to_start(raw())); }
    void to_end() { detail::checked(huon_cursor_to_end(raw())); }
    void seek(std::string_view key)
    {
        detail::checked(huon_cursor_seek(raw(), detail::bytes(key)));
    }
    void seek_after(std::string_view key)
    {
        detail::checked(huon_cursor_seek_after(raw(), detail::bytes(key)));
    }

    // Of a multimap: before a pair, and past the other values of a key.
    void seek(std::string_view key, std::string_view value)
    {
        detail::checked(huon_cursor_seek_pair(raw(), detail::bytes(key), detail::bytes(value)));
    }
    void skip_key() { detail::checked(huon_cursor_skip_key(raw())); }
    void skip_key_back() { detail::checked(huon_cursor_skip_key_back(raw())); }

private:
    std::optional<record> step(int (*go)(huon_cursor *, huon_txn *, huon_pair *), const txn &by)
    {
        huon_pair pair;
        if (detail::checked(go(raw(), by.raw(), &pair)) != HUON_OK) return std::nullopt;
        return record{detail::view(pair.key), detail::view(pair.value)};
    }

    detail::owner<huon_cursor, huon_cursor_close> own_;
};

namespace detail {

// What a scan shows of a pair.
template <typename Shown>
struct show;

template <>
struct show<record> {
    static record pair(const huon_pair &of) noexcept { return {view(of.key), view(of.value)}; }
};

template <>
struct show<std::string_view> {
    static std::string_view pair(const huon_pair &of) noexcept { return view(of.value); }
};

} // namespace detail

// The records of a range, for `for`; some are fetched at a time, more and more of them up to 64.
// Its iterators are input iterators of one type, and good while it and its transaction are, until
// begin() is called again. Nothing may be changed meanwhile: a cursor is for that.
template <typename Shown>
class scan {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Shown;
        using difference_type = std::ptrdiff_t;
        using reference = Shown;

        // What `->` and `*it++` give, as no Shown lies anywhere.
        struct pointer {
            Shown of;
            const Shown *operator->() const noexcept { return &of; }
            Shown operator*() const { return of; }
        };

        iterator() noexcept = default;

        Shown operator*() const
        {
            return detail::show<Shown>::pair(of_->pairs_[of_->at_]);
        }
        pointer operator->() const { return {**this}; }
        iterator &operator++()
        {
            if (++of_->at_ == of_->count_ && !of_->fetch()) of_ = nullptr;
            return *this;
        }
        pointer operator++(int)
        {
            pointer passed{**this};
            ++*this;
            return passed;
        }
        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.of_ == b.of_;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        friend class scan;
        explicit iterator(scan *of) noexcept : of_(of) {}

        scan *of_ = nullptr;
    };

    scan(const txn &by, cursor over, bool backwards) noexcept
        : by_(by.raw()), over_(std::move(over)), backwards_(backwards)
    {
    }

    // From the start of the range, each time.
    iterator begin()
    {
        if (has_begun_) backwards_ ? over_.to_end() : over_.to_start();
        has_begun_ = true;
        most_ = 4;
        return fetch() ? iterator(this) : iterator();
    }
    iterator end() noexcept { return iterator(); }

private:
    bool fetch()
    {
        auto go = backwards_ ? huon_cursor_prev_many : huon_cursor_next_many;
        at_ = 0;
        most_ = most_ < pairs_.size() ? 2 * most_ : most_;
        int code = go(over_.raw(), by_, pairs_.data(), most_, &count_);
        return detail::checked(code) == HUON_OK;
    }

    huon_txn *by_;
    cursor over_;
    bool backwards_;
    bool has_begun_ = false;
    std::array<huon_pair, 64> pairs_;
    std::size_t most_ = 0;
    std::size_t count_ = 0;
    std::size_t at_ = 0;
};

// Records of a table, or pairs of a multimap.
using records = scan<record>;
// Values of one key of a multimap.
using values = scan<std::string_view>;

namespace detail {

// The record that `look(pair)` finds.
template <typename Look>
std::optional<record> found(Look look)
{
    huon_pair pair;
    if (checked(look(&pair)) != HUON_OK) return std::nullopt;
    return record{view(pair.key), view(pair.value)};
}

// Removes what `keep` does not keep, of a table or a multimap.
template <typename Retain, typename Of, typename Keep>
std::uint64_t retained(Retain retain, txn &by, Of of, Keep &keep, const range &keys)
{
    auto work = [&](huon_bytes key, huon_bytes value) -> int {
        return keep(record{view(key), view(value)}) ? 1 : 0;
    };
    caller<decltype(work)> caller{work};
    auto call = [](void *context, huon_bytes key, huon_bytes value) -> int {
        return static_cast<detail::caller<decltype(work)> *>(context)->call(-1, key, value);
    };
    std::uint64_t count = 0;
    huon_range raw = keys.raw();
    caller.checked(retain(by.raw(), of, &raw, call, &caller, &count));
    return count;
}

} // namespace detail

// What becomes of a value that update_with shows: nothing, unless one of these is called.
class change {
public:
    void set(std::string value)
    {
        value_ = std::move(value);
        what_ = HUON_CHANGE_SET;
    }
    void remove() noexcept { what_ = HUON_CHANGE_REMOVE; }

    // As the interface in C wants it.
    int into(huon_bytes *value) const noexcept
    {
        *value = detail::bytes(value_);
        return what_;
    }

private:
    int what_ = HUON_CHANGE_NONE;
    std::string value_;
};

namespace detail {

// Has `work` say what becomes of a value of a table or a multimap; whether there was one.
template <typename Update, typename Of, typename Work>
bool changed(Update update, txn &by, Of of, std::string_view key, Work &work)
{
    change to;
    auto ask = [&](const huon_bytes *old, huon_bytes *value) -> int {
        work(old ? std::optional<std::string_view>(view(*old)) : std::nullopt, to);
        return to.into(value);
    };
    caller<decltype(ask)> caller{ask};
    auto call = [](void *context, const huon_bytes *old, huon_bytes *value) -> int {
        return static_cast<detail::caller<decltype(ask)> *>(context)->call(-1, old, value);
    };
    bool was_there = false;
    caller.checked(update(by.raw(), of, bytes(key), call, &caller, &was_there));
    return was_there;
}

// The item of a loop, or where it is, until the next one is taken.
template <typename Item>
struct held {
    std::optional<Item> item;
    const Item &hold(Item &&next) { return item.emplace(std::move(next)); }
};

template <typename Item>
struct held<Item &> {
    const Item &hold(Item &next) noexcept { return next; }
};

// Fills a table or a multimap with what a loop over `records` gives, one after another.
template <typename Fill, typename Of, typename Records>
void filled(Fill fill, txn &by, Of of, const Records &records)
{
    auto at = std::begin(records);
    auto end = std::end(records);
    held<decltype(*at)> held;
    bool has_begun = false;
    auto work = [&](huon_pair *pair) -> int {
        if (std::exchange(has_begun, true)) ++at;
        if (!(at != end)) return HUON_NOT_FOUND;
        const auto &[key, value] = held.hold(*at);
        *pair = {bytes(key), bytes(value)};
        return HUON_OK;
    };
    caller<decltype(work)> caller{work};
    auto call = [](void *context, huon_pair *pair) -> int {
        return static_cast<detail::caller<decltype(work)> *>(context)->call(HUON_STOPPED, pair);
    };
    caller.checked(fill(by.raw(), of, call, &caller));
}

} // namespace detail

// A table: a value, good in all transactions of its environment.
class table {
public:
    explicit table(huon_table raw) noexcept : raw_(raw) {}

    huon_table raw() const noexcept { return raw_; }

    std::optional<std::string_view> get(const txn &by, std::string_view key) const
    {
        huon_bytes value;
        int code = detail::checked(huon_get(by.raw(), raw_, detail::bytes(key), &value));
        if (code != HUON_OK) return std::nullopt;
        return detail::view(value);
    }

    bool contains(const txn &by, std::string_view key) const
    {
        return detail::checked(huon_get(by.raw(), raw_, detail::bytes(key), nullptr)) == HUON_OK;
    }

    // The values of many keys; empty where a key is not there.
    template <typename Keys>
    std::vector<std::optional<std::string_view>> get_many(const txn &by, const Keys &keys) const
    {
        std::vector<huon_bytes> wanted = detail::all_bytes(keys), found(wanted.size());
        get_many(by, wanted.data(), wanted.size(), found.data());
        return detail::values_of(found);
    }

    // The same into room of the caller's; `data` of a value is null where its key is not there. How
    // many are.
    std::size_t get_many(const txn &by, const huon_bytes *keys, std::size_t count,
                         huon_bytes *values) const
    {
        std::size_t found;
        detail::checked(huon_get_many(by.raw(), raw_, keys, count, values, &found));
        return found;
    }

    std::optional<record> first(const txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_first(by.raw(), raw_, to); });
    }
    std::optional<record> last(const txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_last(by.raw(), raw_, to); });
    }
    std::optional<record> at_or_above(const txn &by, std::string_view key) const
    {
        return detail::found([&](huon_pair *to) {
            return huon_at_or_above(by.raw(), raw_, detail::bytes(key), to);
        });
    }
    std::optional<record> at_or_below(const txn &by, std::string_view key) const
    {
        return detail::found([&](huon_pair *to) {
            return huon_at_or_below(by.raw(), raw_, detail::bytes(key), to);
        });
    }

    // Stores a value; whether the key had none.
    bool put(txn &by, std::string_view key, std::string_view value) const
    {
        bool is_new;
        huon_bytes stored = detail::bytes(value);
        detail::checked(huon_put(by.raw(), raw_, detail::bytes(key), stored, &is_new));
        return is_new;
    }

    // Stores a value if the key has none; whether it did.
    bool put_if_absent(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_put_if_absent(by.raw(), raw_, detail::bytes(key),
                                                  detail::bytes(value))) == HUON_OK;
    }

    // Stores a value if the key has one; whether it did.
    bool update(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_update(by.raw(), raw_, detail::bytes(key),
                                           detail::bytes(value))) == HUON_OK;
    }

    // Stores `value` where there is `expected`; either may be none. Whether it was.
    bool compare_and_set(txn &by, std::string_view key, std::optional<std::string_view> expected,
                         std::optional<std::string_view> value) const
    {
        huon_bytes now = detail::bytes(expected.value_or(""));
        huon_bytes then = detail::bytes(value.value_or(""));
        return detail::checked(huon_compare_and_set(by.raw(), raw_, detail::bytes(key),
                                                    expected ? &now : nullptr,
                                                    value ? &then : nullptr)) == HUON_OK;
    }

    // Has `work(old, to)` say what becomes of the value of a key, with one descent: `old` is empty
    // if there is none, and `to` a huon::change. Whether there was one.
    template <typename Work>
    bool update_with(txn &by, std::string_view key, Work work) const
    {
        return detail::changed(huon_update_with, by, raw_, key, work);
    }

    // Fills the table with records in the order of keys, behind those that are there, of anything
    // that has pairs of keys and values: into full pages, many times cheaper than put_many, and
    // without all of them in memory. An error breaks the transaction.
    template <typename Records>
    void bulk_append(txn &by, const Records &records) const
    {
        detail::filled(huon_bulk_append, by, raw_, records);
    }

    // Stores records, of anything that has pairs of keys and values.
    template <typename Records>
    void put_many(txn &by, const Records &records) const
    {
        std::vector<huon_pair> pairs = detail::all_pairs(records);
        detail::checked(huon_put_many(by.raw(), raw_, pairs.data(), pairs.size(), nullptr));
    }

    // Stores a value of so many bytes, which `fill(char *)` writes where it is to lie. If that
    // throws, the value is what it has written so far, and zeros: txn::nested undoes it.
    template <typename Fill>
    void reserve(txn &by, std::string_view key, std::size_t len, Fill fill) const
    {
        auto work = [&](void *place) { fill(static_cast<char *>(place)); return 0; };
        detail::caller<decltype(work)> caller{work};
        auto call = [](void *context, void *place, std::size_t) {
            static_cast<detail::caller<decltype(work)> *>(context)->call(0, place);
        };
        caller.checked(huon_reserve(by.raw(), raw_, detail::bytes(key), len, call, &caller));
    }

    // Removes the records of a range that `keep(record)` does not keep; how many.
    template <typename Keep>
    std::uint64_t retain(txn &by, Keep keep, const range &keys = range::all()) const
    {
        return detail::retained(huon_retain, by, raw_, keep, keys);
    }

    // The value before, if there was one; it lies in no page any more.
    std::optional<std::string> take(txn &by, std::string_view key) const
    {
        huon_bytes old;
        if (detail::checked(huon_take(by.raw(), raw_, detail::bytes(key), &old)) != HUON_OK)
            return std::nullopt;
        return std::string(detail::view(old));
    }
    std::optional<std::string> replace(txn &by, std::string_view key, std::string_view value) const
    {
        huon_bytes old, stored = detail::bytes(value);
        detail::checked(huon_replace(by.raw(), raw_, detail::bytes(key), stored, &old));
        if (!old.data) return std::nullopt;
        return std::string(detail::view(old));
    }

    // Removes the first or last record, and shows it until the next call that removes one so.
    std::optional<record> pop_first(txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_pop_first(by.raw(), raw_, to); });
    }
    std::optional<record> pop_last(txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_pop_last(by.raw(), raw_, to); });
    }

    // Takes so many numbers of the table's sequence; the first of them.
    std::uint64_t sequence(txn &by, std::uint64_t count = 1) const
    {
        std::uint64_t first;
        detail::checked(huon_sequence(by.raw(), raw_, count, &first));
        return first;
    }

    void clear(txn &by) const { detail::checked(huon_table_clear(by.raw(), raw_)); }

    void rename(txn &by, std::string_view name) const
    {
        detail::checked(huon_table_rename(by.raw(), raw_, detail::bytes(name)));
    }

    // Deletes the table; whether it was there.
    bool drop(txn &by) const { return detail::checked(huon_table_drop(by.raw(), raw_)) == HUON_OK; }

    void append(txn &by, std::string_view key, std::string_view value) const
    {
        detail::checked(huon_append(by.raw(), raw_, detail::bytes(key), detail::bytes(value)));
    }

    // Removes a key; whether it was there.
    bool remove(txn &by, std::string_view key) const
    {
        return detail::checked(huon_remove(by.raw(), raw_, detail::bytes(key))) == HUON_OK;
    }

    std::uint64_t remove(txn &by, const range &keys) const
    {
        std::uint64_t count;
        huon_range raw = keys.raw();
        detail::checked(huon_remove_range(by.raw(), raw_, &raw, &count));
        return count;
    }

    std::uint64_t size(const txn &by) const
    {
        std::uint64_t count;
        detail::checked(huon_count(by.raw(), raw_, nullptr, &count));
        return count;
    }
    std::uint64_t count(const txn &by, const range &keys) const
    {
        std::uint64_t count;
        huon_range raw = keys.raw();
        detail::checked(huon_count(by.raw(), raw_, &raw, &count));
        return count;
    }

    // About as many, at the cost of two descents.
    std::uint64_t estimate(const txn &by, const range &keys) const
    {
        std::uint64_t count;
        huon_range raw = keys.raw();
        detail::checked(huon_estimate(by.raw(), raw_, &raw, &count));
        return count;
    }

    huon::cursor cursor(const txn &by, const range &keys = range::all()) const
    {
        huon_cursor *handle;
        huon_range raw = keys.raw();
        detail::checked(huon_cursor_open(by.raw(), raw_, &raw, &handle));
        return huon::cursor(handle);
    }

    // for (auto [key, value] : table.scan(txn, huon::range::prefix("a")))
    records scan(const txn &by, const range &keys = range::all()) const
    {
        return {by, cursor(by, keys), false};
    }
    records scan_back(const txn &by, const range &keys = range::all()) const
    {
        huon::cursor over = cursor(by, keys);
        over.to_end();
        return {by, std::move(over), true};
    }

private:
    huon_table raw_;
};

// A multimap: a key may have many values, in order and none twice. A value, as a table is.
class multi {
public:
    explicit multi(huon_multi raw) noexcept : raw_(raw) {}

    huon_multi raw() const noexcept { return raw_; }

    // The first value of a key.
    std::optional<std::string_view> get(const txn &by, std::string_view key) const
    {
        huon_bytes value;
        int code = detail::checked(huon_multi_get(by.raw(), raw_, detail::bytes(key), &value));
        if (code != HUON_OK) return std::nullopt;
        return detail::view(value);
    }

    bool contains(const txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_multi_contains(by.raw(), raw_, detail::bytes(key),
                                                   detail::bytes(value))) == HUON_OK;
    }

    std::uint64_t count(const txn &by, std::string_view key) const
    {
        std::uint64_t count;
        detail::checked(huon_multi_count_values(by.raw(), raw_, detail::bytes(key), &count));
        return count;
    }

    // How many pairs there are.
    std::uint64_t size(const txn &by) const
    {
        std::uint64_t count;
        detail::checked(huon_multi_count(by.raw(), raw_, nullptr, &count));
        return count;
    }
    std::uint64_t count(const txn &by, const range &keys) const
    {
        std::uint64_t count;
        huon_range raw = keys.raw();
        detail::checked(huon_multi_count(by.raw(), raw_, &raw, &count));
        return count;
    }

    std::optional<record> first(const txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_multi_first(by.raw(), raw_, to); });
    }
    std::optional<record> last(const txn &by) const
    {
        return detail::found([&](huon_pair *to) { return huon_multi_last(by.raw(), raw_, to); });
    }

    // Removes the first or last pair, and shows it until the next call that removes one so.
    std::optional<record> pop_first(txn &by) const
    {
        return detail::found([&](huon_pair *to) {
            return huon_multi_pop_first(by.raw(), raw_, to);
        });
    }
    std::optional<record> pop_last(txn &by) const
    {
        return detail::found([&](huon_pair *to) {
            return huon_multi_pop_last(by.raw(), raw_, to);
        });
    }

    // for (std::string_view value : tags.values(txn, "red"))
    huon::values values(const txn &by, std::string_view key, bool backwards = false) const
    {
        huon_cursor *handle;
        detail::checked(huon_multi_values_open(by.raw(), raw_, detail::bytes(key), &handle));
        return shown<huon::values>(by, huon::cursor(handle), backwards);
    }

    // Calls `each(index, value)` for the values of many keys, those of each in their order. All of
    // them are found before the first call, which may use the transaction.
    template <typename Keys, typename Each>
    void get_many(const txn &by, const Keys &keys, Each each) const
    {
        std::vector<huon_bytes> wanted = detail::all_bytes(keys);
        std::vector<std::pair<std::size_t, std::string_view>> found;
        auto work = [&](std::size_t index, huon_bytes value) -> int {
            found.emplace_back(index, detail::view(value));
            return 0;
        };
        detail::caller<decltype(work)> caller{work};
        auto call = [](void *context, std::size_t index, huon_bytes value) -> int {
            return static_cast<detail::caller<decltype(work)> *>(context)->call(-1, index, value);
        };
        caller.checked(huon_multi_get_many(by.raw(), raw_, wanted.data(), wanted.size(), call,
                                           &caller));
        for (auto [index, value] : found) each(index, value);
    }

    // Adds a value to those of a key; whether it was not among them.
    bool put(txn &by, std::string_view key, std::string_view value) const
    {
        bool is_new;
        huon_bytes stored = detail::bytes(value);
        detail::checked(huon_multi_put(by.raw(), raw_, detail::bytes(key), stored, &is_new));
        return is_new;
    }

    // Adds values with one descent, all of them or none; how many were not among the key's.
    template <typename Values>
    std::uint64_t put_many(txn &by, std::string_view key, const Values &values) const
    {
        std::uint64_t added;
        std::vector<huon_bytes> all = detail::all_bytes(values);
        detail::checked(huon_multi_put_many(by.raw(), raw_, detail::bytes(key), all.data(),
                                            all.size(), &added));
        return added;
    }

    // Adds a value if the key has none; whether it did.
    bool put_if_absent(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_multi_put_if_absent(by.raw(), raw_, detail::bytes(key),
                                                        detail::bytes(value))) == HUON_OK;
    }

    // Adds a pair behind all others.
    void append(txn &by, std::string_view key, std::string_view value) const
    {
        detail::checked(huon_multi_append(by.raw(), raw_, detail::bytes(key),
                                          detail::bytes(value)));
    }

    // Puts one value in the place of another; whether that was there.
    bool update(txn &by, std::string_view key, std::string_view old, std::string_view value) const
    {
        return detail::checked(huon_multi_update(by.raw(), raw_, detail::bytes(key),
                                                 detail::bytes(old),
                                                 detail::bytes(value))) == HUON_OK;
    }

    // Has a key have this value alone; how many it had.
    std::uint64_t set(txn &by, std::string_view key, std::string_view value) const
    {
        std::uint64_t before;
        huon_bytes stored = detail::bytes(value);
        detail::checked(huon_multi_set(by.raw(), raw_, detail::bytes(key), stored, &before));
        return before;
    }

    // Has `work(old, to)` say what becomes of the only value of a key, or of a key that has none:
    // see table::update_with. HUON_MANY_VALUES if it has several.
    template <typename Work>
    bool update_with(txn &by, std::string_view key, Work work) const
    {
        return detail::changed(huon_multi_update_with, by, raw_, key, work);
    }

    // Fills an empty multimap with pairs in the order of keys and of the values of each: see
    // table::bulk_append.
    template <typename Records>
    void bulk_load(txn &by, const Records &records) const
    {
        detail::filled(huon_multi_bulk_load, by, raw_, records);
    }

    // Removes a value; whether it was there.
    bool remove(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_multi_remove(by.raw(), raw_, detail::bytes(key),
                                                 detail::bytes(value))) == HUON_OK;
    }

    // Removes all values of a key; how many there were.
    std::uint64_t remove(txn &by, std::string_view key) const
    {
        std::uint64_t count = 0;
        detail::checked(huon_multi_remove_key(by.raw(), raw_, detail::bytes(key), &count));
        return count;
    }

    std::uint64_t remove(txn &by, const range &keys) const
    {
        std::uint64_t count;
        huon_range raw = keys.raw();
        detail::checked(huon_multi_remove_range(by.raw(), raw_, &raw, &count));
        return count;
    }

    // Removes the values of a key that lie in a range of values, which is none of a prefix; how
    // many.
    std::uint64_t remove_values(txn &by, std::string_view key, const range &values) const
    {
        std::uint64_t count;
        huon_range raw = values.raw();
        detail::checked(huon_multi_remove_values(by.raw(), raw_, detail::bytes(key), &raw, &count));
        return count;
    }

    // Removes the pairs of a range that `keep(record)` does not keep; how many.
    template <typename Keep>
    std::uint64_t retain(txn &by, Keep keep, const range &keys = range::all()) const
    {
        return detail::retained(huon_multi_retain, by, raw_, keep, keys);
    }

    void clear(txn &by) const { detail::checked(huon_multi_clear(by.raw(), raw_)); }
    void rename(txn &by, std::string_view name) const
    {
        detail::checked(huon_multi_rename(by.raw(), raw_, detail::bytes(name)));
    }
    bool drop(txn &by) const { return detail::checked(huon_multi_drop(by.raw(), raw_)) == HUON_OK; }

    huon::cursor cursor(const txn &by, const range &keys = range::all()) const
    {
        huon_cursor *handle;
        huon_range raw = keys.raw();
        detail::checked(huon_multi_cursor_open(by.raw(), raw_, &raw, &handle));
        return huon::cursor(handle);
    }

    // Pair by pair: a key comes once for each of its values.
    records scan(const txn &by, const range &keys = range::all()) const
    {
        return shown<records>(by, cursor(by, keys), false);
    }
    records scan_back(const txn &by, const range &keys = range::all()) const
    {
        return shown<records>(by, cursor(by, keys), true);
    }

private:
    template <typename Scan>
    static Scan shown(const txn &by, huon::cursor over, bool backwards)
    {
        if (backwards) over.to_end();
        return {by, std::move(over), backwards};
    }

    huon_multi raw_;
};

// How items of a type are written: name() is kept with the table, and other languages check it;
// write(item, room) gives bytes, which may lie in `room`; read(bytes) gives the item back. A type
// of yours gets a specialisation.
template <typename T, typename = void>
struct codec;

// Bytes of any kind, which stay as what shows them.
template <>
struct codec<std::string_view> {
    static std::string_view name() noexcept { return ""; }
    static std::string_view write(std::string_view item, std::string &) noexcept { return item; }
    static std::string_view read(std::string_view bytes) noexcept { return bytes; }
};

namespace detail {

// How many bytes the first character of a text has, or 0: it is not of UTF-8.
inline std::size_t character_bytes(std::string_view text) noexcept
{
    auto byte = [&](std::size_t at) -> unsigned {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    unsigned first = byte(0), second = byte(1);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    std::size_t count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (std::size_t at = 1; at < count; at++)
        if ((byte(at) & 0xc0) != 0x80) return 0;
    // Too long for what it says, a half of a pair, or beyond the last character.
    bool is_none = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return is_none ? 0 : count;
}

inline bool is_text(std::string_view text) noexcept
{
    for (std::uint64_t eight; text.size() >= sizeof eight; text.remove_prefix(sizeof eight)) {
        std::memcpy(&eight, text.data(), sizeof eight);
        if (eight & 0x8080808080808080) break;
    }
    while (!text.empty()) {
        std::size_t count = character_bytes(text);
        if (count == 0) return false;
        text.remove_prefix(count);
    }
    return true;
}

} // namespace detail

// Text of UTF-8, which is copied. Other languages find nothing else in such a table, so nothing
// else is written.
template <>
struct codec<std::string> {
    static std::string_view name() noexcept { return "str"; }
    static std::string_view write(std::string_view item, std::string &)
    {
        if (!detail::is_text(item)) detail::refuse(HUON_ENCODE, "huon: the text is not UTF-8");
        return item;
    }
    static std::string read(std::string_view bytes)
    {
        if (!detail::is_text(bytes)) detail::refuse(HUON_DECODE, "huon: the text is not UTF-8");
        return std::string(bytes);
    }
};

namespace detail {

// Characters are left out, whose sizes and signs differ from system to system.
template <typename T>
constexpr bool is_number = std::is_arithmetic_v<T> && sizeof(T) <= 8 && !std::is_same_v<T, char> &&
                           !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> &&
                           !std::is_same_v<T, char32_t>;

} // namespace detail

// Numbers, whose bytes are in their order: the first byte in front, the sign turned.
template <typename T>
struct codec<T, std::enable_if_t<detail::is_number<T>>> {
    static std::string_view name() noexcept
    {
        if (std::is_same_v<T, bool>) return "bool";
        const char *names[] = {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"};
        if (std::is_floating_point_v<T>) return names[sizeof(T) == 4 ? 8 : 9];
        int power = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return names[2 * power + std::is_signed_v<T>];
    }

    static std::string_view write(T item, std::string &room)
    {
        std::uint64_t bits = 0;
        if constexpr (std::is_same_v<T, float>) {
            std::uint32_t raw;
            std::memcpy(&raw, &item, sizeof raw);
            bits = raw & SIGN ? ~std::uint64_t(raw) : raw | SIGN;
        } else if constexpr (std::is_same_v<T, double>) {
            std::memcpy(&bits, &item, sizeof bits);
            bits = bits & SIGN ? ~bits : bits | SIGN;
        } else {
            bits = static_cast<std::uint64_t>(item);
            if (std::is_signed_v<T>) bits ^= SIGN;
        }
        room.resize(sizeof(T));
        for (std::size_t at = 0; at < sizeof(T); at++)
            room[at] = static_cast<char>(bits >> 8 * (sizeof(T) - 1 - at));
        return room;
    }

    static T read(std::string_view bytes)
    {
        if (bytes.size() != sizeof(T))
            detail::refuse(HUON_DECODE, "huon: a number has another length");
        std::uint64_t bits = 0;
        for (char byte : bytes) bits = bits << 8 | static_cast<unsigned char>(byte);
        if constexpr (std::is_floating_point_v<T>) {
            bits = bits & SIGN ? bits ^ SIGN : ~bits;
            T item;
            if constexpr (sizeof(T) == 4) {
                std::uint32_t raw = static_cast<std::uint32_t>(bits);
                std::memcpy(&item, &raw, sizeof item);
            } else {
                std::memcpy(&item, &bits, sizeof item);
            }
            return item;
        } else {
            if (std::is_signed_v<T>) bits ^= SIGN;
            if (std::is_same_v<T, bool> && bits > 1)
                detail::refuse(HUON_DECODE, "huon: a bool is neither 0 nor 1");
            return static_cast<T>(bits);
        }
    }

private:
    static constexpr std::uint64_t SIGN = std::uint64_t(1) << (8 * sizeof(T) - 1);
};

// A table whose keys are of the type K and whose values are of the type V.
template <typename K, typename V>
class typed_table {
public:
    using pair = std::pair<K, V>;

    explicit typed_table(table of) noexcept : of_(of) {}

    // The table as bytes.
    table raw() const noexcept { return of_; }

    std::optional<V> get(const txn &by, const K &key) const
    {
        std::string room;
        auto value = of_.get(by, codec<K>::write(key, room));
        if (!value) return std::nullopt;
        return codec<V>::read(*value);
    }
    bool contains(const txn &by, const K &key) const
    {
        std::string room;
        return of_.contains(by, codec<K>::write(key, room));
    }
    bool put(txn &by, const K &key, const V &value) const
    {
        std::string key_room, value_room;
        return of_.put(by, codec<K>::write(key, key_room), codec<V>::write(value, value_room));
    }
    bool put_if_absent(txn &by, const K &key, const V &value) const
    {
        std::string key_room, value_room;
        std::string_view bytes = codec<K>::write(key, key_room);
        return of_.put_if_absent(by, bytes, codec<V>::write(value, value_room));
    }
    bool update(txn &by, const K &key, const V &value) const
    {
        std::string key_room, value_room;
        std::string_view bytes = codec<K>::write(key, key_room);
        return of_.update(by, bytes, codec<V>::write(value, value_room));
    }
    bool remove(txn &by, const K &key) const
    {
        std::string room;
        return of_.remove(by, codec<K>::write(key, room));
    }
    std::uint64_t size(const txn &by) const { return of_.size(by); }

    std::optional<pair> first(const txn &by) const { return read(of_.first(by)); }
    std::optional<pair> last(const txn &by) const { return read(of_.last(by)); }
    std::optional<pair> at_or_above(const txn &by, const K &key) const
    {
        std::string room;
        return read(of_.at_or_above(by, codec<K>::write(key, room)));
    }
    std::optional<pair> at_or_below(const txn &by, const K &key) const
    {
        std::string room;
        return read(of_.at_or_below(by, codec<K>::write(key, room)));
    }

    // for (auto [key, value] : ages.scan(txn))
    huon::scan<pair> scan(const txn &by) const { return {by, of_.cursor(by), false}; }

    // From a key on, and before another one.
    huon::scan<pair> scan(const txn &by, const K &from, const K &before) const
    {
        std::string low, high;
        range keys = range::all().from(codec<K>::write(from, low));
        return {by, of_.cursor(by, keys.before(codec<K>::write(before, high))), false};
    }
    huon::scan<pair> scan_from(const txn &by, const K &from) const
    {
        std::string low;
        range keys = range::all().from(codec<K>::write(from, low));
        return {by, of_.cursor(by, keys), false};
    }

    // Backwards, from the last key, or that before a key.
    huon::scan<pair> scan_back(const txn &by) const { return back(by, range::all()); }
    huon::scan<pair> scan_back(const txn &by, const K &before) const
    {
        std::string high;
        return back(by, range::all().before(codec<K>::write(before, high)));
    }

    // Of text or bytes: the keys that begin so.
    huon::scan<pair> prefix(const txn &by, std::string_view begin) const
    {
        static_assert(std::is_convertible_v<K, std::string_view>, "numbers have no prefixes");
        return {by, of_.cursor(by, range::prefix(begin)), false};
    }

private:
    huon::scan<pair> back(const txn &by, const range &keys) const
    {
        huon::cursor over = of_.cursor(by, keys);
        over.to_end();
        return {by, std::move(over), true};
    }

    static std::optional<pair> read(const std::optional<record> &found)
    {
        if (!found) return std::nullopt;
        return pair(codec<K>::read(found->key), codec<V>::read(found->value));
    }

    table of_;
};

namespace detail {

template <typename K, typename V>
struct show<std::pair<K, V>> {
    static std::pair<K, V> pair(const huon_pair &of)
    {
        return {codec<K>::read(view(of.key)), codec<V>::read(view(of.value))};
    }
};

} // namespace detail

// How keys compare, or the values of a key.
class order {
public:
    // In the order of their bytes; of those from the last to the first; numbers, little-endian.
    static order bytes() noexcept { return order(HUON_ORDER_BYTES); }
    static order reversed() noexcept { return order(HUON_ORDER_REVERSED); }
    static order u32() noexcept { return order(HUON_ORDER_U32); }
    static order u64() noexcept { return order(HUON_ORDER_U64); }
    // As the table was created.
    static order stored() noexcept { return order(HUON_ORDER_STORED); }

    // As a function says: below 0, 0 or above 0. It is a plain function, or a lambda that captures
    // nothing, is called in any thread, and throws nothing. The table keeps its name.
    using compare_fn = int (*)(std::string_view a, std::string_view b);
    static order custom(std::string_view name, compare_fn compare) noexcept
    {
        order of(HUON_ORDER_CUSTOM);
        of.raw_.name = detail::bytes(name);
        of.raw_.context = reinterpret_cast<void *>(compare);
        of.raw_.compare = [](void *context, huon_bytes a, huon_bytes b) noexcept -> int {
            return reinterpret_cast<compare_fn>(context)(detail::view(a), detail::view(b));
        };
        return of;
    }

    huon_order raw() const noexcept { return raw_; }

private:
    explicit order(int kind) noexcept : raw_() { raw_.kind = kind; }

    huon_order raw_;
};

// How a table or a multimap is made, and is to be opened.
struct layout {
    order keys = order::bytes();
    // Of a multimap.
    order values = order::bytes();
    // All values of a multimap have so many bytes, unless that is 0.
    std::uint32_t value_bytes = 0;

    huon_table_options raw() const noexcept
    {
        auto with = detail::sized<huon_table_options>();
        with.keys = keys.raw();
        with.values = values.raw();
        with.value_bytes = value_bytes;
        return with;
    }
};

// Options of an environment: huon::options().set(HUON_DURABILITY, HUON_LAZY).
class options {
public:
    options()
    {
        huon_options *handle;
        detail::checked(huon_options_new(&handle));
        own_.reset(handle);
    }

    options &set(int option, std::uint64_t value)
    {
        detail::checked(huon_options_set(own_.get(), option, value));
        return *this;
    }

    // Says what to do about a reader that keeps pages which a writer needs: HUON_SLOW_RETRY, _EVICT
    // or _GIVE_UP. It is a plain function, or a lambda that captures nothing, and throws nothing.
    using slow_reader_fn = int (*)(const huon_slow_reader &);
    options &on_slow_reader(slow_reader_fn ask)
    {
        auto call = [](void *context, const huon_slow_reader *reader) noexcept -> int {
            return reinterpret_cast<slow_reader_fn>(context)(*reader);
        };
        detail::checked(huon_options_on_slow_reader(own_.get(), call,
                                                    reinterpret_cast<void *>(ask)));
        return *this;
    }

    huon_options *raw() const noexcept { return own_.get(); }

private:
    detail::owner<huon_options, huon_options_free> own_;
};

// What is told how far a copy or compaction is; false ends it.
using progress_fn = std::function<bool(const huon_progress &)>;

// How a copy is made.
struct copying {
    bool compact = false;
    // What it copies; none: the newest commit.
    const txn *snapshot = nullptr;
    progress_fn progress = nullptr;
};

namespace detail {

// Does something long with options that tell how far it is.
template <typename Options, typename Work>
auto asked(const progress_fn &told, Options &with, Work work)
{
    auto ask = [&](const huon_progress *now) -> int { return told(*now) ? 0 : 1; };
    caller<decltype(ask)> caller{ask};
    if (told) {
        with.progress = [](void *context, const huon_progress *now) -> int {
            return static_cast<detail::caller<decltype(ask)> *>(context)->call(1, now);
        };
        with.context = &caller;
    }
    try {
        auto report = work();
        caller.checked(HUON_OK);
        return report;
    } catch (const error &) {
        caller.checked(HUON_OK);
        throw;
    }
}

} // namespace detail

// An open environment.
class env {
public:
    explicit env(const std::string &path) { open(detail::path(path), nullptr); }
    env(const std::string &path, const options &with) { open(detail::path(path), with.raw()); }

    static env in_memory() { return env(); }

    huon_env *raw() const noexcept { return own_.get(); }

    txn read() const
    {
        huon_txn *handle;
        detail::checked(huon_begin_read(raw(), &handle));
        return txn(handle);
    }

    // Waits for another writer for so many milliseconds; below 0: as the options say.
    txn write(std::int64_t wait_ms = -1) const
    {
        huon_txn *handle;
        detail::checked(huon_begin_write(raw(), wait_ms, &handle));
        return txn(handle);
    }

    // Runs `work` in a read transaction, and gives back what it does.
    template <typename Work>
    auto view(Work &&work) const
    {
        txn by = read();
        using Result = std::decay_t<decltype(std::forward<Work>(work)(by))>;
        static_assert(!detail::is_shown<Result>, "what is shown ends with the transaction");
        return std::forward<Work>(work)(by);
    }

    // Runs `work` in a write transaction: commits when it returns, aborts when it throws. Gives
    // back what it does. It may have ended the transaction itself.
    template <typename Work>
    auto update(Work &&work) const
    {
        txn by = write();
        using Result = std::decay_t<decltype(std::forward<Work>(work)(by))>;
        static_assert(!detail::is_shown<Result>, "what is shown ends with the transaction");
        if constexpr (std::is_void_v<Result>) {
            std::forward<Work>(work)(by);
            if (by.raw()) by.commit();
        } else {
            Result result = std::forward<Work>(work)(by);
            if (by.raw()) by.commit();
            return result;
        }
    }

    // The table of that name, if the transaction shows it.
    std::optional<table> open_table(const txn &by, std::string_view name,
                                    const layout &how = layout()) const
    {
        return opened<table, huon_table>(huon_table_open, by, name, how.raw());
    }

    table create_table(txn &by, std::string_view name, const layout &how = layout()) const
    {
        huon_table raw;
        huon_table_options with = how.raw();
        detail::checked(huon_table_create(by.raw(), detail::bytes(name), &with, &raw));
        return table(raw);
    }

    // The multimap of that name, if the transaction shows it.
    std::optional<multi> open_multi(const txn &by, std::string_view name,
                                    const layout &how = layout()) const
    {
        return opened<multi, huon_multi>(huon_multi_open, by, name, how.raw());
    }

    multi create_multi(txn &by, std::string_view name, const layout &how = layout()) const
    {
        huon_multi raw;
        huon_table_options with = how.raw();
        detail::checked(huon_multi_create(by.raw(), detail::bytes(name), &with, &raw));
        return multi(raw);
    }
    // All its values have so many bytes.
    multi create_multi(txn &by, std::string_view name, std::uint32_t value_bytes) const
    {
        layout how;
        how.value_bytes = value_bytes;
        return create_multi(by, name, how);
    }

    // A table of a program's types; HUON_TABLE_TYPE if it was made with others.
    template <typename K, typename V>
    std::optional<typed_table<K, V>> open_table(const txn &by, std::string_view name) const
    {
        auto found = opened<table, huon_table>(huon_table_open, by, name, typed<K, V>());
        if (!found) return std::nullopt;
        return typed_table<K, V>(*found);
    }
    template <typename K, typename V>
    typed_table<K, V> create_table(txn &by, std::string_view name) const
    {
        huon_table raw;
        auto with = typed<K, V>();
        detail::checked(huon_table_create(by.raw(), detail::bytes(name), &with, &raw));
        return typed_table<K, V>(table(raw));
    }

    std::vector<std::string> table_names(const txn &by) const
    {
        std::size_t count = 0;
        detail::checked(huon_table_names(by.raw(), nullptr, 0, &count));
        std::vector<huon_bytes> names(count);
        detail::checked(huon_table_names(by.raw(), names.data(), names.size(), &count));
        std::vector<std::string> all;
        for (huon_bytes name : names) all.emplace_back(detail::view(name));
        return all;
    }

    // An option that can be changed while it is open.
    void set(int option, std::uint64_t value) const
    {
        detail::checked(huon_set(raw(), option, value));
    }

    // Waits for a commit after the snapshot `after`; the newest one, or none within that time.
    std::optional<std::uint64_t> wait_for_commit(std::uint64_t after, std::int64_t timeout_ms) const
    {
        std::uint64_t newest;
        if (detail::checked(huon_wait_for_commit(raw(), after, timeout_ms, &newest)) != HUON_OK)
            return std::nullopt;
        return newest;
    }

    huon_info info() const
    {
        huon_info told{};
        detail::checked(huon_get_info(raw(), &told, sizeof told));
        return told;
    }
    huon_stat stat() const
    {
        huon_stat told{};
        detail::checked(huon_get_stat(raw(), &told, sizeof told));
        return told;
    }

    // Copies it to a new file, while readers and writers go on.
    huon_copy_report copy_to(const std::string &path, const copying &how = copying()) const
    {
        return copied(how, [&](const huon_copy_options *with, huon_copy_report *told) {
            return huon_copy(raw(), detail::path(path), with, told);
        });
    }
    huon_copy_report copy_to(std::ostream &out, const copying &how = copying()) const
    {
        auto work = [&](const void *data, std::size_t len) -> int {
            out.write(static_cast<const char *>(data), static_cast<std::streamsize>(len));
            return out ? 0 : EIO;
        };
        detail::caller<decltype(work)> caller{work};
        auto call = [](void *context, const void *data, std::size_t len) -> int {
            return static_cast<detail::caller<decltype(work)> *>(context)->call(EIO, data, len);
        };
        return copied(how, [&](const huon_copy_options *with, huon_copy_report *told) {
            return caller.checked(huon_copy_to_writer(raw(), call, &caller, with, told));
        });
    }

    // Gives the newest snapshot a name, and so keeps it until drop_snapshot; which one it is.
    huon_snapshot name_snapshot(std::string_view name) const
    {
        huon_snapshot named;
        detail::checked(huon_name_snapshot(raw(), detail::bytes(name), &named));
        return named;
    }
    // Whether a snapshot had the name.
    bool drop_snapshot(std::string_view name) const
    {
        return detail::checked(huon_drop_snapshot(raw(), detail::bytes(name))) == HUON_OK;
    }
    // A transaction that reads the snapshot of that name, if there is one.
    std::optional<txn> read(std::string_view name) const
    {
        huon_txn *handle;
        if (detail::checked(huon_begin_read_named(raw(), detail::bytes(name), &handle)) != HUON_OK)
            return std::nullopt;
        return txn(handle);
    }
    // The named snapshots, the oldest first.
    std::vector<std::pair<std::string, huon_snapshot>> named_snapshots() const
    {
        std::vector<std::pair<std::string, huon_snapshot>> all;
        auto work = [&](huon_bytes name, const huon_snapshot *snapshot) -> int {
            all.emplace_back(detail::view(name), *snapshot);
            return 0;
        };
        detail::caller<decltype(work)> caller{work};
        auto call = [](void *context, huon_bytes name, const huon_snapshot *snapshot) -> int {
            return static_cast<detail::caller<decltype(work)> *>(context)->call(1, name, snapshot);
        };
        caller.checked(huon_named_snapshots(raw(), call, &caller));
        return all;
    }

    // Writes the pages of the newest snapshot to `out`, or of that of a name: a backup. With
    // `since`, as the report of another backup tells it, only those that changed after it.
    huon_backup_report backup_to(std::ostream &out, huon_snapshot since = {0, 0},
                                 std::string_view snapshot = std::string_view()) const
    {
        auto work = [&](const void *data, std::size_t len) -> int {
            out.write(static_cast<const char *>(data), static_cast<std::streamsize>(len));
            return out ? 0 : EIO;
        };
        detail::caller<decltype(work)> caller{work};
        auto call = [](void *context, const void *data, std::size_t len) -> int {
            return static_cast<detail::caller<decltype(work)> *>(context)->call(EIO, data, len);
        };
        auto with = detail::sized<huon_backup_options>();
        with.snapshot = detail::bytes(snapshot);
        with.since = since;
        huon_backup_report told;
        caller.checked(huon_backup_to_writer(raw(), call, &caller, &with, &told));
        return told;
    }

    // What is wrong with it; nothing, if all is as it must be.
    std::vector<std::string> check() const
    {
        std::vector<std::string> problems;
        auto work = [&](const char *text) -> int { problems.emplace_back(text); return 0; };
        detail::caller<decltype(work)> caller{work};
        auto with = detail::sized<huon_check_options>();
        with.problem = [](void *context, const char *text) {
            static_cast<detail::caller<decltype(work)> *>(context)->call(0, text);
        };
        with.context = &caller;
        huon_check_report told;
        caller.checked(huon_check(raw(), &with, &told));
        return problems;
    }

    // Makes the file shorter where it is, while others read and write.
    huon_compact_report compact(double target = 0, const progress_fn &told = nullptr) const
    {
        auto with = detail::sized<huon_compact_options>();
        with.target = target;
        return detail::asked(told, with, [&] {
            huon_compact_report report;
            detail::checked(huon_compact(raw(), &with, &report));
            return report;
        });
    }

    std::uint64_t sync() const
    {
        std::uint64_t id;
        detail::checked(huon_sync(raw(), &id));
        return id;
    }

    // Flushes and closes; the destructor does so too, and cannot tell what goes wrong.
    void close() { detail::checked(huon_close(own_.release())); }

    // Those that read it, in all processes.
    std::vector<huon_reader> readers() const
    {
        std::size_t count = 0;
        detail::checked(huon_readers(raw(), nullptr, 0, &count));
        std::vector<huon_reader> all(count);
        detail::checked(huon_readers(raw(), all.data(), all.size(), &count));
        all.resize(count < all.size() ? count : all.size());
        return all;
    }

    std::uint64_t setting(int option) const
    {
        std::uint64_t value;
        detail::checked(huon_setting(raw(), option, &value));
        return value;
    }

private:
    env() { open(nullptr, nullptr); }

    template <typename Of, typename Raw, typename Open>
    static std::optional<Of> opened(Open open, const txn &by, std::string_view name,
                                    const huon_table_options &with)
    {
        Raw raw;
        int code = open(by.raw(), detail::bytes(name), &with, &raw);
        if (code == HUON_TABLE_NOT_FOUND) return std::nullopt;
        detail::checked(code);
        return Of(raw);
    }

    template <typename K, typename V>
    static huon_table_options typed()
    {
        auto with = detail::sized<huon_table_options>();
        with.key_type = detail::bytes(codec<K>::name());
        with.value_type = detail::bytes(codec<V>::name());
        return with;
    }

    template <typename Copy>
    huon_copy_report copied(const copying &how, Copy copy) const
    {
        auto with = detail::sized<huon_copy_options>();
        with.flags = how.compact ? HUON_COPY_COMPACT : 0;
        with.snapshot = how.snapshot ? how.snapshot->raw() : nullptr;
        return detail::asked(how.progress, with, [&] {
            huon_copy_report told;
            detail::checked(copy(&with, &told));
            return told;
        });
    }

    void open(const char *path, huon_options *with)
    {
        huon_env *handle;
        detail::checked(huon_open(path, with, &handle));
        own_.reset(handle);
    }

    detail::owner<huon_env, huon_close> own_;
};

// Makes an environment of a whole backup and those that follow it, in their order.
inline huon_snapshot restore(const std::string &path, const std::vector<std::string> &backups)
{
    std::vector<const char *> paths;
    for (const std::string &backup : backups) paths.push_back(detail::path(backup));
    huon_snapshot restored;
    detail::checked(huon_restore(detail::path(path), paths.data(), paths.size(), &restored));
    return restored;
}

// A write-optimised table: puts in random order cost several times less, and merges make up for
// it. It is made by the first put.
class lsm_table {
public:
    explicit lsm_table(huon_lsm_table *handle) noexcept : own_(handle) {}

    huon_lsm_table *raw() const noexcept { return own_.get(); }

    std::optional<std::string_view> get(const txn &by, std::string_view key) const
    {
        huon_bytes value;
        int code = detail::checked(huon_lsm_get(by.raw(), raw(), detail::bytes(key), &value));
        if (code != HUON_OK) return std::nullopt;
        return detail::view(value);
    }
    void put(txn &by, std::string_view key, std::string_view value) const
    {
        detail::checked(huon_lsm_put(by.raw(), raw(), detail::bytes(key), detail::bytes(value)));
    }
    // The same for values that end at a time, in milliseconds since 1970.
    void put_until(txn &by, std::string_view key, std::string_view value,
                   std::uint64_t until_ms) const
    {
        detail::checked(huon_lsm_put_until(by.raw(), raw(), detail::bytes(key),
                                           detail::bytes(value), until_ms));
    }
    bool put_if_absent(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_lsm_put_if_absent(by.raw(), raw(), detail::bytes(key),
                                                      detail::bytes(value))) == HUON_OK;
    }
    bool update(txn &by, std::string_view key, std::string_view value) const
    {
        return detail::checked(huon_lsm_update(by.raw(), raw(), detail::bytes(key),
                                               detail::bytes(value))) == HUON_OK;
    }

    // The values of many keys; empty where a key is not there.
    template <typename Keys>
    std::vector<std::optional<std::string_view>> get_many(const txn &by, const Keys &keys) const
    {
        std::vector<huon_bytes> wanted = detail::all_bytes(keys), found(wanted.size());
        detail::checked(huon_lsm_get_many(by.raw(), raw(), wanted.data(), wanted.size(),
                                          found.data(), nullptr));
        return detail::values_of(found);
    }

    // Merges an operand onto what a key has, as the table's merger says.
    void merge(txn &by, std::string_view key, std::string_view operand) const
    {
        detail::checked(huon_lsm_merge(by.raw(), raw(), detail::bytes(key),
                                       detail::bytes(operand)));
    }
    // Without looking whether it is there.
    void remove(txn &by, std::string_view key) const
    {
        detail::checked(huon_lsm_delete(by.raw(), raw(), detail::bytes(key)));
    }
    void remove(txn &by, const range &keys) const
    {
        huon_range raw_keys = keys.raw();
        detail::checked(huon_lsm_delete_range(by.raw(), raw(), &raw_keys));
    }
    records scan(const txn &by, const range &keys = range::all()) const
    {
        huon_cursor *handle;
        huon_range raw_keys = keys.raw();
        detail::checked(huon_lsm_cursor_open(by.raw(), raw(), &raw_keys, &handle));
        return {by, cursor(handle), false};
    }
    void clear(txn &by) const { detail::checked(huon_lsm_clear(by.raw(), raw())); }
    bool drop(txn &by) const { return detail::checked(huon_lsm_drop(by.raw(), raw())) == HUON_OK; }
    huon_lsm_stat stat(const txn &by) const
    {
        huon_lsm_stat told{};
        detail::checked(huon_get_lsm_stat(by.raw(), raw(), &told, sizeof told));
        return told;
    }

private:
    detail::owner<huon_lsm_table, huon_lsm_table_close> own_;
};

// Puts and deletes of write-optimised tables, which threads commit together: see lsm::write.
class batch {
public:
    explicit batch(huon_batch *handle) noexcept : own_(handle) {}

    huon_batch *raw() const noexcept { return own_.get(); }
    huon_batch *release() noexcept { return own_.release(); }

    batch &put(const lsm_table &to, std::string_view key, std::string_view value)
    {
        detail::checked(huon_batch_put(raw(), to.raw(), detail::bytes(key), detail::bytes(value)));
        return *this;
    }
    batch &merge(const lsm_table &to, std::string_view key, std::string_view operand)
    {
        detail::checked(huon_batch_merge(raw(), to.raw(), detail::bytes(key),
                                         detail::bytes(operand)));
        return *this;
    }
    batch &remove(const lsm_table &from, std::string_view key)
    {
        detail::checked(huon_batch_delete(raw(), from.raw(), detail::bytes(key)));
        return *this;
    }

private:
    detail::owner<huon_batch, huon_batch_free> own_;
};

// A thread that merges, until this is destroyed.
class compactor {
public:
    explicit compactor(huon_compactor *handle) noexcept : own_(handle) {}

private:
    detail::owner<huon_compactor, huon_compactor_stop> own_;
};

// The write-optimised tables of an environment, which stays open for them.
class lsm {
public:
    explicit lsm(const env &of, const huon_lsm_options *with = nullptr)
    {
        huon_lsm *handle;
        detail::checked(huon_lsm_open(of.raw(), with, &handle));
        own_.reset(handle);
    }

    huon_lsm *raw() const noexcept { return own_.get(); }

    // `merger`, if there is one, says how merge works, and stays good while the table is open.
    lsm_table table(std::string_view name, const huon_lsm_merger *merger = nullptr) const
    {
        huon_lsm_table *handle;
        detail::checked(huon_lsm_table_open(raw(), detail::bytes(name), merger, &handle));
        return lsm_table(handle);
    }

    huon::batch batch() const
    {
        huon_batch *handle;
        detail::checked(huon_batch_new(raw(), &handle));
        return huon::batch(handle);
    }

    // Writes a batch in a transaction that it shares with those of other threads; the commit's id.
    std::uint64_t write(huon::batch &&all) const
    {
        std::uint64_t id;
        detail::checked(huon_lsm_write(raw(), all.release(), &id));
        return id;
    }

    // Starts a thread that merges.
    huon::compactor compactor() const
    {
        huon_compactor *handle;
        detail::checked(huon_compactor_start(raw(), &handle));
        return huon::compactor(handle);
    }

    // Merges in this thread: HUON_LSM_DUE, HUON_LSM_ALL or HUON_LSM_SHORTEN; all tables, or one.
    void compact(int how = HUON_LSM_DUE, std::string_view name = {}) const
    {
        detail::checked(huon_lsm_compact(raw(), detail::bytes(name), how));
    }

private:
    detail::owner<huon_lsm, huon_lsm_close> own_;
};

} // namespace huon

#endif
