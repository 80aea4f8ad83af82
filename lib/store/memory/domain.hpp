// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/fork_guard.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure::memory
{

/** Stands for a store in lines. */
using StoreName = std::uint64_t;
/** Somebody without a store of its own. */
constexpr StoreName nameless = 0;

/** The stores that wait for keys, first come first served: a line for each lock or pool. Not thread-safe. */
class Lines
{
public:
    /** Whether ranges have one line: they do if they differ only in their number of keys. */
    [[nodiscard]] static bool same_line(KeyRange const& left, KeyRange const& right) noexcept
    {
        return left.numbered == right.numbered && left.prefix == right.prefix;
    }

    /** Appends the store, or puts it in front, unless it stands there. A line that is full takes nobody. */
    void join(KeyRange const& range, StoreName store, bool in_front, Instant now);
    void leave(KeyRange const& range, StoreName store);
    /** Takes the first `count` stores out of the line. */
    [[nodiscard]] std::vector<StoreName> name_first(KeyRange const& range, std::size_t count, Instant now);

private:
    struct Line {
        std::deque<StoreName> stores;
        /// nobody has asked for so long that whoever stands here is gone
        Instant lapses;
    };
    using Key = std::pair<std::string, bool>;

    /** The line, if it has not lapsed. */
    [[nodiscard]] std::map<Key, Line>::iterator find(KeyRange const& range, Instant now);

    /// those that nobody stands in are dropped
    std::map<Key, Line> lines_;
};

/** Keys with owners and expiry, shared by all stores of this process that were opened with the same name. Thread-safe;
 * every function is told the time, so that it runs under a virtual clock too.
 */
class Domain
{
public:
    /** The domain of this name, or a new one that nobody shares if the name is empty. A fork of the process has domains
     * of its own. */
    [[nodiscard]] static std::shared_ptr<Domain> named(std::string const& name);

    /** A name for one more store, in lines. */
    [[nodiscard]] StoreName new_store();

    [[nodiscard]] ClaimReply claim(ClaimRequest const& request, Instant now, StoreName store = nameless);
    [[nodiscard]] RenewReply renew(RenewRequest const& request, Instant now);
    [[nodiscard]] ReleaseReply release(ReleaseRequest const& request, Instant now, StoreName store = nameless);
    [[nodiscard]] WithdrawReply withdraw(WithdrawRequest const& request, Instant now, StoreName store = nameless);
    void leave_line(KeyRange const& range, StoreName store);
    [[nodiscard]] std::vector<KeyState> inspect(KeyRange const& range, Instant now) const;
    [[nodiscard]] EvictReply evict(EvictRequest const& request, Instant now);

    /** Somebody removes a key, or writes it, whoever holds it: for tests. */
    void remove(std::string const& key);
    void overwrite(std::string const& key, std::string owner, std::chrono::milliseconds ttl, Instant now);
    [[nodiscard]] bool held(std::string const& key, Instant now);

    /** `tell` is called, on the releasing thread, whenever a key is released with notifications; it must only post. */
    [[nodiscard]] std::uint64_t
    subscribe(std::function<void(WatchEvent)> tell, KeyRange range, WatchAs as, StoreName store);
    void unsubscribe(std::uint64_t id);

private:
    struct Entry {
        std::string owner;
        Instant expires{};
        Instant granted{};
    };

    /** The live entry of a key, or null. */
    [[nodiscard]] Entry* find(std::string const& key, Instant now);
    [[nodiscard]] Granted grant(ClaimRequest const& request, std::uint32_t index, std::string const& key, Instant now);
    /** Frees the key, or lets it rest. */
    void end_claim(std::string const& key, Entry& entry, std::chrono::milliseconds reuse_after, Instant now);
    /** As `ReleaseRequest::keep_for`. */
    static void keep(Entry& entry, std::chrono::milliseconds keep_for, Instant now);

    struct Subscription {
        std::function<void(WatchEvent)> tell;
        KeyRange range;
        WatchAs as;
        StoreName store;
    };
    /** Something to tell when the mutex is free again. */
    using News = std::vector<std::pair<std::function<void(WatchEvent)>, WatchEvent>>;
    /** About keys of the range that were freed, where these stores were named for them. */
    [[nodiscard]] News
    news_of(KeyRange const& range, std::vector<std::string> const& keys, std::vector<StoreName> const& named) const;

    std::uint64_t const fork_generation_ = engine::fork_generation();
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Entry> entries_;
    /// last fencing token of each key
    std::unordered_map<std::string, std::uint64_t> fences_;
    Lines lines_;
    StoreName last_store_ = nameless;
    std::map<std::uint64_t, Subscription> subscriptions_;
    std::uint64_t last_subscription_ = 0;
};

} // namespace tenure::memory
