// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/acquirable_keys.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

/** One semaphore: which key, how many permits, and how they are held. */
struct SemaphoreConfig {
    /// name of the key in the store, as `LockConfig::key`
    std::string key;
    /// how many permits there are; 1 to 1,000,000. While programs disagree, an acquisition counts with the least number
    /// of those up to its own place
    std::uint32_t permits = 1;
    /// how long the store keeps a claim without renewal, as `LockConfig::ttl`
    std::chrono::milliseconds ttl{10'000};
    /// how its leases are held
    LeaseOptions lease = {};
    /// as `LockConfig::note`
    std::string note = {};
};

/** A number of permits, shared by all processes that use the same store: the permits of all leases never exceed it.
 *
 *  An acquisition takes one permit, or `AcquireOptions::permits` at once. Strictly first come, first served: a large
 *  request waits until enough permits are free, and smaller ones wait behind it. The permits of a program that dies
 *  return after the ttl. To give each holder a number of its own, use a `SlotPool`.
 *
 *  - At most 1,024 leases and waiting programs of one semaphore at a time.
 *  - Leases hold at the same time with different fencing tokens, so a resource must not reject smaller tokens.
 *  - Refused with stores that keep no places, such as Redlock.
 *
 *  Copies are the same semaphore.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API Semaphore : public AcquirableKeys, public Acquirable<Semaphore, Lease>
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    Semaphore(Store store, SemaphoreConfig config);

    /** `SemaphoreConfig::key`. */
    [[nodiscard]] std::string const& key() const noexcept;
    /** `SemaphoreConfig::permits`. */
    [[nodiscard]] std::uint32_t permits() const noexcept;

private:
    friend Acquirable<Semaphore, Lease>;
};

} // namespace tenure
