// huon.hpp: Huon in C++17, over huon.h. Header only; link to libhuon.
//
// Owners (env, options, txn, cursor) close what they own; moved-from ones own nothing. Tables and
// multimaps are values. What goes wrong is a huon::error; what is not there is an empty optional,
// never an exception. A string_view that is shown stays as huon_bytes does: until its read
// transaction ends, or the next change of its write transaction.
#ifndef HUON_HPP
#define HUON_HPP

#include <huon.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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

[[noreturn]] inline void fail()
{
    huon_error of;
    huon_last_error(&of);
    throw error(of);
}

// An answer, or an exception: errors are above 0.
inline int checked(int code)
{
    if (code > HUON_OK) fail();
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

// A handle that is closed once.
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
        if (handle_) Close(handle_);
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

// A range of keys, whose ends are copied by what takes it.
class range {
public:
    static range all() noexcept { return {0, {}, {}}; }
    static range prefix(std::string_view of) noexcept { return {HUON_PREFIX, of, {}}; }

    range from(std::string_view key) const noexcept { return {flags_ | HUON_FROM, key, to_}; }
    range after(std::string_view key) const noexcept { return {flags_ | HUON_AFTER, key, to_}; }
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

    std::uint32_t flags_;
    std::string_view from_;
    std::string_view to_;
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

    void commit() { detail::checked(huon_commit(own_.release())); }
    void abort() noexcept { own_.reset(nullptr); }

    // Of a read transaction.
    void reset() { detail::checked(huon_reset(raw())); }
    void renew() { detail::checked(huon_renew(raw())); }
    void park() { detail::checked(huon_park(raw())); }
    void unpark() { detail::checked(huon_unpark(raw())); }

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

    detail::owner<huon_txn, huon_abort> own_;
};

// A cursor, which belongs to no transaction: each step names one.
class cursor {
public:
    explicit cursor(huon_cursor *handle) noexcept : own_(handle) {}

    huon_cursor *raw() const noexcept { return own_.get(); }

    std::optional<record> next(const txn &by) { return step(huon_cursor_next, by); }
    std::optional<record> prev(const txn &by) { return step(huon_cursor_prev, by); }
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

private:
    std::optional<record> step(int (*go)(huon_cursor *, huon_txn *, huon_pair *), const txn &by)
    {
        huon_pair pair;
        if (detail::checked(go(raw(), by.raw(), &pair)) != HUON_OK) return std::nullopt;
        return record{detail::view(pair.key), detail::view(pair.value)};
    }

    detail::owner<huon_cursor, huon_cursor_close> own_;
};

// The records of a range, for `for`; 64 are fetched at a time. Its iterators are input iterators of
// one type, and good while it and its transaction are. Nothing may be changed meanwhile: a cursor
// is for that.
class records {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = record;
        using difference_type = std::ptrdiff_t;
        using pointer = const record *;
        using reference = record;

        iterator() noexcept = default;

        record operator*() const noexcept
        {
            const huon_pair &pair = of_->pairs_[of_->at_];
            return {detail::view(pair.key), detail::view(pair.value)};
        }
        iterator &operator++()
        {
            if (++of_->at_ == of_->count_ && !of_->fetch()) of_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.of_ == b.of_;
        }
        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        friend class records;
        explicit iterator(records *of) noexcept : of_(of) {}

        records *of_ = nullptr;
    };

    records(const txn &by, cursor over, bool backwards) noexcept
        : by_(by.raw()), over_(std::move(over)), backwards_(backwards)
    {
    }

    iterator begin() { return fetch() ? iterator(this) : iterator(); }
    iterator end() noexcept { return iterator(); }

private:
    bool fetch()
    {
        auto go = backwards_ ? huon_cursor_prev_many : huon_cursor_next_many;
        at_ = 0;
        int code = go(over_.raw(), by_, pairs_.data(), pairs_.size(), &count_);
        return detail::checked(code) == HUON_OK;
    }

    huon_txn *by_;
    cursor over_;
    bool backwards_;
    std::array<huon_pair, 64> pairs_;
    std::size_t count_ = 0;
    std::size_t at_ = 0;
};

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
        std::vector<huon_bytes> wanted, found;
        for (const auto &key : keys) wanted.push_back(detail::bytes(key));
        found.resize(wanted.size());
        detail::checked(huon_get_many(by.raw(), raw_, wanted.data(), wanted.size(), found.data(),
                                      nullptr));
        std::vector<std::optional<std::string_view>> values;
        for (huon_bytes value : found)
            values.push_back(value.data ? std::optional(detail::view(value)) : std::nullopt);
        return values;
    }

    std::optional<record> first(const txn &by) const
    {
        return found([&](huon_pair *to) { return huon_first(by.raw(), raw_, to); });
    }
    std::optional<record> last(const txn &by) const
    {
        return found([&](huon_pair *to) { return huon_last(by.raw(), raw_, to); });
    }
    std::optional<record> at_or_above(const txn &by, std::string_view key) const
    {
        return found([&](huon_pair *to) {
            return huon_at_or_above(by.raw(), raw_, detail::bytes(key), to);
        });
    }
    std::optional<record> at_or_below(const txn &by, std::string_view key) const
    {
        return found([&](huon_pair *to) {
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
    template <typename Look>
    static std::optional<record> found(Look look)
    {
        huon_pair pair;
        if (detail::checked(look(&pair)) != HUON_OK) return std::nullopt;
        return record{detail::view(pair.key), detail::view(pair.value)};
    }

    huon_table raw_;
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

    huon_options *raw() const noexcept { return own_.get(); }

private:
    detail::owner<huon_options, huon_options_free> own_;
};

// An open environment.
class env {
public:
    explicit env(const std::string &path) { open(path.c_str(), nullptr); }
    env(const std::string &path, const options &with) { open(path.c_str(), with.raw()); }

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

    // Runs `work` in a read transaction.
    template <typename Work>
    auto view(Work &&work) const
    {
        txn by = read();
        return std::forward<Work>(work)(by);
    }

    // Runs `work` in a write transaction: commits when it returns, aborts when it throws.
    template <typename Work>
    void update(Work &&work) const
    {
        txn by = write();
        std::forward<Work>(work)(by);
        by.commit();
    }

    // The table of that name, if the transaction shows it.
    std::optional<table> open_table(const txn &by, std::string_view name) const
    {
        huon_table raw;
        int code = huon_table_open(by.raw(), detail::bytes(name), nullptr, &raw);
        if (code == HUON_TABLE_NOT_FOUND) return std::nullopt;
        detail::checked(code);
        return table(raw);
    }

    table create_table(txn &by, std::string_view name) const
    {
        huon_table raw;
        detail::checked(huon_table_create(by.raw(), detail::bytes(name), nullptr, &raw));
        return table(raw);
    }

    std::uint64_t sync() const
    {
        std::uint64_t id;
        detail::checked(huon_sync(raw(), &id));
        return id;
    }

    // Flushes and closes; the destructor does so too, and cannot tell what goes wrong.
    void close() { detail::checked(huon_close(own_.release())); }

private:
    env() { open(nullptr, nullptr); }

    void open(const char *path, huon_options *with)
    {
        huon_env *handle;
        detail::checked(huon_open(path, with, &handle));
        own_.reset(handle);
    }

    detail::owner<huon_env, huon_close> own_;
};

} // namespace huon

#endif
