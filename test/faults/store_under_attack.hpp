// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "attack.hpp"

#include "harness/auditor.hpp"
#include "harness/immovable.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::faults
{

/** The store's answer about one key. */
struct KeyLook {
    bool held = false;
    /// the value is a stranger's, put there by a disturbance
    bool foreign = false;
    /// the store will never free it by itself
    bool endless = false;
    /// the earliest instant at which the store frees it, in ns of CLOCK_BOOTTIME
    std::int64_t expiry = 0;
    /// false: it was not asked for this time
    bool expiry_known = true;
    /// where the store keeps no token for each key: the mark of the value under it (harness/owner_mark.hpp)
    std::optional<std::uint64_t> mark = {};
    /// where it keeps them, the last one that was granted for the key, 0 if none is known
    std::uint64_t fencing_token = 0;
    /// where several servers hold the key, what each of them knows: the token that its holder has is known to one at
    /// least
    std::vector<std::uint64_t> known_tokens = {};
    /// for a complaint: what was seen in detail
    std::string detail = {};

    /** The key may be this holder's. */
    [[nodiscard]] bool bears(test::Holding const& holder) const
    {
        if (mark)
            return *mark == holder.mark;
        return holder.fencing_token == fencing_token ||
               std::ranges::find(known_tokens, holder.fencing_token) != known_tokens.end();
    }

    /** Tells the present claim on the key from earlier ones. */
    [[nodiscard]] std::uint64_t claim() const { return mark.value_or(fencing_token); }
};

/** A store of a run's own: real servers, ways to them that can be disturbed, and everything that can be done to them.
 * For another kind of store, write another one of these and add it to `schemes()`. */
class StoreUnderAttack : test::Immovable
{
public:
    virtual ~StoreUnderAttack() = default;

    /** The URL that worker number `worker` connects to. */
    [[nodiscard]] virtual std::string url(std::size_t worker) const = 0;

    /** Everything that this run may do to the store and the ways to it. */
    [[nodiscard]] virtual std::vector<Disturbance> disturbances() = 0;

    /** The store's answer about all keys of the arena, not through the library, in one step; empty if it does not
     * answer, or its clock jumped meanwhile. Called from one thread, at any time. */
    [[nodiscard]] virtual std::optional<std::vector<KeyLook>> look() = 0;

    /** How much later than its ttl a key may expire because of what was done to the store's clock; 0 usually. */
    [[nodiscard]] virtual std::int64_t expiry_delay(std::int64_t now) const = 0;

    /** Keys of the arena's names that have no ttl, in the end. */
    [[nodiscard]] virtual std::vector<std::string> endless_keys() = 0;

    /** After the end of all workers: what else was to be shown of this store, and the figures of it for a person. */
    virtual void finish(Ledger&, std::ostream&) {}
};

/** One kind of store. */
struct Scheme {
    std::string_view name;
    /// why it cannot run on this machine; empty if it can
    std::string (*missing)();
    std::unique_ptr<StoreUnderAttack> (*open)(Arena const& arena);
    /// G of its runs: what the store can grant, and outlives what must cost no lease
    std::chrono::milliseconds ttl = Arena{}.ttl;
    bool frees_at_death = false;
};
[[nodiscard]] std::vector<Scheme> const& schemes();

} // namespace tenure::faults
