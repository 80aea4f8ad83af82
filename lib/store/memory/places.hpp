// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/inspection.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenure::memory
{

/** Identifies a store in lines and places. */
using StoreName = std::uint64_t;
/** For callers that are in no line. */
constexpr StoreName nameless = 0;

[[nodiscard]] inline std::chrono::milliseconds time_until(Instant later, Instant now)
{
    return std::chrono::ceil<std::chrono::milliseconds>(later - now);
}

/** The state of a key that has this value.
 *  @param since  of the grant, unless the claim has ended */
[[nodiscard]] KeyState
state_of(std::string const& value, std::uint64_t fencing_token, Instant since, Instant expires, Instant now);

/** Keys that are held in places (`backend::Share` has the rule). Not thread-safe: the domain locks. */
class Places
{
public:
    /** A place that holds now and did not before, and whose store does not know it yet. */
    struct Promoted {
        StoreName store;
        std::uint64_t number;
    };
    using News = std::vector<Promoted>;

    /** Time until all places of the key have lapsed; unset if there are none. */
    [[nodiscard]] std::optional<std::chrono::milliseconds> taken_for(std::string const& key, Instant now) const;

    /** @param last_number  of the domain; drawn from if the claim takes a place
     *  @param news  gets the places of other owners that hold since then */
    [[nodiscard]] backend::ClaimReply
    claim(backend::ClaimRequest const& request, StoreName store, std::uint64_t& last_number, Instant now, News& news);
    [[nodiscard]] backend::RenewReply renew(backend::RenewRequest const& request, Instant now);
    [[nodiscard]] backend::ReleaseReply release(backend::ReleaseRequest const& request, Instant now, News& news);
    /** False: the owner has no place. */
    bool withdraw(std::string const& key, std::string const& owner, Instant now, News& news);
    [[nodiscard]] backend::EvictReply evict(backend::EvictRequest const& request, Instant now, News& news);
    /** The state of the key; unset if it has no places. */
    [[nodiscard]] std::optional<KeyState> inspect(std::string const& key, Instant now) const;

    /** Appends the keys that begin with the prefix. */
    void list(std::string_view prefix, std::vector<std::string>& keys) const;

    /** Removes the key with all its places. */
    void remove(std::string const& key) { keys_.erase(key); }
    /** Removes the keys all of whose places have lapsed. */
    void sweep(Instant now);
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

private:
    struct Entry {
        std::string owner;
        backend::Share share;
        std::uint64_t number = 0;
        /// in messages
        StoreName store = nameless;
        Instant entered{};
        Instant lapses{};
        bool holds = false;
    };
    /// the places of a key by number, which is also their order
    using Line = std::vector<Entry>;

    /** Drops the places that have lapsed, and marks those of the others that hold. */
    static void settle(Line& line, Instant now, News& news);
    /** The settled place of the owner, or null. */
    [[nodiscard]] Entry* find(std::string const& key, std::string const& owner, Instant now, News& news);
    /** Removes the place. */
    void leave(std::string const& key, Entry const& place, Instant now, News& news);
    [[nodiscard]] static backend::ClaimReply
    answer(Line const& line, Entry const& place, std::chrono::milliseconds ttl, Instant now);
    [[nodiscard]] static backend::Busy busy(Line const& line, Instant now);

    /// keys without places are erased
    std::unordered_map<std::string, Line> keys_;
};

} // namespace tenure::memory
