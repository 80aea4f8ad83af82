// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/acquirable_keys.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/options.hpp>
#include <tenure/slot.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure
{

/** One pool: the keys `prefix + 0` .. `prefix + (size - 1)`, and how its slots are held. */
struct SlotPoolConfig {
    /// 1 byte to 1 KiB, no NUL or line breaks, braces only as one clean hash tag. Pools of unrelated services on one
    /// store need different prefixes
    std::string prefix = "thread_id_lock:";
    /// number of slots; 1 to 2^20. Required: the constructor refuses 0
    std::uint32_t size = 0;
    /// how long the store keeps a claim without renewal; 100 ms to 24 h, on etcd from 2 s, on ZooKeeper as its config
    /// says
    std::chrono::milliseconds ttl{10'000};
    /// how its slots are held
    LeaseOptions lease = {};
    /// quarantine: how long a number stays taken after its release, or after the ttl of a holder that died. 0 (none) to
    /// 24 h; with etcd in whole seconds, rounded up, at least its shortest lease; refused with ZooKeeper. A claim that
    /// is given back unused frees the number at once. For worker IDs: longer than the maximum clock difference of two
    /// holders
    std::chrono::milliseconds reuse_after{0};
    /// a note for people, which `tenure status` shows next to the holder: a contact, a role, a build. Printable ASCII,
    /// at most 128 bytes; not secret. Empty: none
    std::string note = {};
};

/** A pool of numbered slots, shared by all processes that use the same store: each live slot has a unique number.
 *
 *  An acquisition gets its preferred number (`AcquireOptions::prefer`) if that is free, else the lowest free number (on
 *  etcd, if others are faster, one of the first 16 free numbers). Pools of different size over one prefix work
 *  together: a number is one key. The pool of its last holder determines its quarantine
 *  (`SlotPoolConfig::reuse_after`).
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and slots are held; both continue.
 */
class TENURE_API SlotPool : public AcquirableKeys, public Acquirable<SlotPool, Slot>
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    SlotPool(Store store, SlotPoolConfig config);

    /** `SlotPoolConfig::prefix`. */
    [[nodiscard]] std::string const& prefix() const noexcept;
    /** `SlotPoolConfig::size`. */
    [[nodiscard]] std::uint32_t size() const noexcept;

private:
    friend Acquirable<SlotPool, Slot>;
};

} // namespace tenure
