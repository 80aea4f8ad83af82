// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "places.hpp"

#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure::memory
{

/** Lines of stores that wait for keys: one line per lock or pool, first come, first served. Not thread-safe. */
class Lines
{
public:
    /** True if the ranges share a line: they may differ only in their number of keys. */
    [[nodiscard]] static bool same_line(KeyRange const& left, KeyRange const& right) noexcept
    {
        return left.numbered == right.numbered && left.prefix == right.prefix;
    }

    /** Appends the store, or puts it in front. No effect if the store is in the line, or the line is full. */
    void join(KeyRange const& range, StoreName store, bool in_front, Instant now);
    /** Removes the lines that have lapsed. */
    void sweep(Instant now);
    void leave(KeyRange const& range, StoreName store);
    /** Removes the first `count` stores from the line and returns them. */
    [[nodiscard]] std::vector<StoreName> name_first(KeyRange const& range, std::size_t count, Instant now);

private:
    struct Line {
        std::deque<StoreName> stores;
        /// after this instant without a request the stores in the line count as gone
        Instant lapses;
    };
    using Key = std::pair<std::string, bool>;

    /** The line of the range; `end()` if it has lapsed or does not exist. */
    [[nodiscard]] std::map<Key, Line>::iterator find(KeyRange const& range, Instant now);

    /// lines without stores are erased
    std::map<Key, Line> lines_;
};

/** Keys with owners and expiry. All stores of a process that were opened with the same name share a domain.
 *  Thread-safe. The caller passes the time to every function, so a domain also works under a virtual clock. */
class Domain
{
public:
    /** The domain of this name; an empty name makes a private one. A child of fork gets new domains. */
    [[nodiscard]] static std::shared_ptr<Domain> named(std::string const& name);

    /** Makes an identifier for one more store, for lines. */
    [[nodiscard]] StoreName new_store();

    [[nodiscard]] ClaimReply claim(ClaimRequest const& request, Instant now, StoreName store = nameless);
    [[nodiscard]] RenewReply renew(RenewRequest const& request, Instant now);
    [[nodiscard]] ReleaseReply release(ReleaseRequest const& request, Instant now, StoreName store = nameless);
    [[nodiscard]] WithdrawReply withdraw(WithdrawRequest const& request, Instant now, StoreName store = nameless);
    void leave_line(KeyRange const& range, StoreName store);
    [[nodiscard]] std::vector<KeyState> inspect(KeyRange const& range, Instant now) const;
    [[nodiscard]] EvictReply evict(EvictRequest const& request, Instant now);
    [[nodiscard]] KeyList list(ListRequest const& request, Instant now) const;

    // -- for tests --

    /** Removes a key of any owner, as another program could. */
    void remove(std::string const& key);
    void overwrite(std::string const& key, std::string owner, std::chrono::milliseconds ttl, Instant now);
    [[nodiscard]] bool held(std::string const& key, Instant now);
    /** Number of keys in memory, those that have expired included. */
    [[nodiscard]] std::size_t size() const;

    /** Registers `tell`, which is called on the releasing thread for each release with notifications. It must only
     *  post. */
    [[nodiscard]] std::uint64_t subscribe(WatchHandler notify, KeyRange range, WatchAs as, StoreName store);
    void unsubscribe(std::uint64_t id);

private:
    /** The claim of a share. */
    [[nodiscard]] ClaimReply claim_share(ClaimRequest const& request, Instant now, StoreName store);
    /** Tells the stores of these places that they hold, and those that follow the key that it has changed. Unlocks. */
    void announce_places(std::unique_lock<std::mutex> lock, std::string const& key, Places::News const& promoted) const;

    struct Entry {
        std::string owner;
        Instant expires{};
        Instant granted{};
        /// 0: granted without one
        std::uint64_t fencing_token = 0;
    };

    /** The unexpired entry of a key; null: the key is free. */
    [[nodiscard]] Entry* find(std::string const& key, Instant now);
    [[nodiscard]] Granted grant(ClaimRequest const& request, std::uint32_t index, std::string const& key, Instant now);
    /** Now and then removes all keys that have expired: programs may never ask for them again. */
    void sweep(Instant now);
    /** Frees the key, or starts its quarantine. */
    void end_claim(std::string const& key, Entry& entry, std::chrono::milliseconds reuse_after, Instant now);
    /** See `ReleaseRequest::keep_for`. */
    static void keep(Entry& entry, std::chrono::milliseconds keep_for, Instant now);

    struct Subscription {
        WatchHandler notify;
        KeyRange range;
        WatchAs as;
        StoreName store;
    };
    /** Events to deliver after the mutex is unlocked. */
    using News = std::vector<std::pair<WatchHandler, WatchEvent>>;
    /** Makes the events for freed keys of the range; `named` are the stores that the release named. */
    /** Takes the first stores out of the line, one for each freed key, and notifies the subscribers of the keys.
     *  Unlocks. */
    [[nodiscard]] Released announce(
        std::unique_lock<std::mutex> lock, KeyRange const& range, std::vector<std::string> const& keys,
        std::size_t freed, Instant now, StoreName own);
    [[nodiscard]] News notifications_of(
        KeyRange const& range, std::vector<std::string> const& keys, std::vector<StoreName> const& named) const;

    std::uint64_t const fork_generation_ = fork_generation();
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Entry> entries_;
    /// number of entries at which the next sweep is due
    std::size_t sweep_at_ = 1024;
    std::uint64_t last_fencing_token_ = 0;
    Lines lines_;
    /// of keys that are held in places; they have no entry
    Places places_;
    StoreName last_store_ = nameless;
    std::map<std::uint64_t, Subscription> subscriptions_;
    std::uint64_t last_subscription_ = 0;
};

} // namespace tenure::memory
