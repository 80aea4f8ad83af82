// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/key_range.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <string>

namespace tenure
{

/** One read-write lock: which key, and how the leases of both sides are held. */
struct ReadWriteLockConfig {
    /// name of the key in the store, as `LockConfig::key`
    std::string key;
    /// how long the store keeps a claim without renewal, as `LockConfig::ttl`
    std::chrono::milliseconds ttl{10'000};
    /// how its leases are held
    LeaseOptions lease = {};
    /// as `LockConfig::note`
    std::string note = {};
};

/** Many readers or one writer on one key, among all processes that use the same store.
 *
 *  Strictly first come, first served: readers that come later wait behind a waiting writer, so neither side starves.
 *  Both sides are a `Lock` with all its operations.
 *
 *  - A lease cannot be upgraded or downgraded. A program that holds the read lock and waits for the write lock waits
 * for itself. The same holds for a second read lock behind a waiting writer: both waits end at their `wait`.
 *  - A writer's fencing token is greater than those of all earlier readers and writers. Readers hold at the same time
 *    with different tokens, so a resource may reject smaller tokens only of writers.
 *  - Refused with stores that keep no places, such as Redlock.
 *
 *  Copies are the same lock.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API ReadWriteLock
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    ReadWriteLock(Store store, ReadWriteLockConfig config);

    /** Shared among readers. Valid as long as this object; a copy is the same lock. */
    [[nodiscard]] Lock const& read_lock() const noexcept { return read_; }
    /** Exclusive. Valid as long as this object; a copy is the same lock. */
    [[nodiscard]] Lock const& write_lock() const noexcept { return write_; }

    /** `ReadWriteLockConfig::key`. */
    [[nodiscard]] std::string const& key() const noexcept { return read_.key(); }
    /** The key of both sides, for a `View` and `Store::async_inspect`: `KeyState::places` has readers and writers. */
    [[nodiscard]] KeyRangePtr range() const noexcept { return read_.range(); }

private:
    ReadWriteLock(Store const& store, ReadWriteLockConfig const& config, KeyRangePtr const& range);

    Lock read_;
    Lock write_;
};

} // namespace tenure
