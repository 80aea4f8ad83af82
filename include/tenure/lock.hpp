// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/acquirable_keys.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace tenure
{

/** One lock: which key, and how its leases are held. */
struct LockConfig {
    /// name of the key in the store: 1 byte to 1 KiB, no NUL or line breaks, braces only as one clean hash tag
    std::string key;
    /// how long the store keeps a claim without renewal; 100 ms to 24 h, on etcd from 2 s, on ZooKeeper as its config
    /// says
    std::chrono::milliseconds ttl{10'000};
    /// how its leases are held
    LeaseOptions lease = {};
    /// a note for people, which `tenure status` shows next to the holder: a contact, a role, a build. Printable ASCII,
    /// at most 128 bytes; not secret. Empty: none
    std::string note = {};
    /// true: strictly first come, first served among all processes. Each waiting process has a place in the store.
    /// Refused with stores that keep no places. All locks of a key must agree: a fair one and a plain one exclude each
    /// other, but only on Redis and in memory
    bool fair = false;
    /// lock delay: how long the key stays taken after a release, or after the ttl of a holder that died, as
    /// `SlotPoolConfig::reuse_after`. Refused with `fair`
    std::chrono::milliseconds reuse_after{0};
};

/** Mutual exclusion on one key, among all processes that use the same store.
 *
 *  It is not re-entrant: an acquisition also waits for a lease that the same program holds. `ReentrantLock` is
 *  re-entrant.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API Lock : public AcquirableKeys, public Acquirable<Lock, Lease>
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    Lock(Store store, LockConfig config);

    /** `LockConfig::key`. */
    [[nodiscard]] std::string const& key() const noexcept;

protected:
    /** For locks that are made of locks.
     *  @param where  how errors name the config
     *  @param key    how errors name its key */
    Lock(Store store, LockConfig config, std::string where, std::string_view key);

private:
    friend Acquirable<Lock, Lease>;
    friend class ReadWriteLock;

    explicit Lock(LeaseTargetPtr target) noexcept
        : AcquirableKeys(std::move(target))
    {
    }
};

} // namespace tenure
