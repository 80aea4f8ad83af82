// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/options.hpp>
#include <tenure/segments.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tenure
{

namespace locks
{
class SegmentLocks;
}

/** The segments of a lock, and how their leases are held. */
struct SegmentedLockConfig {
    /// prefix of each segment's key, as `SlotPoolConfig::prefix`. Without a hash tag the segments are spread over the
    /// masters of a cluster
    std::string prefix;
    /// which segment an item belongs to
    Segments segments = Segments::hashed(16);
    /// the other division, while the number of segments changes. An item then takes its segments of both divisions, so
    /// that old and new programs exclude each other. Roll out {16, also 32}, then {32, also 16}, then {32}
    std::optional<Segments> also = std::nullopt;
    /// how long the store keeps a claim without renewal; 100 ms (some stores: more) to 24 h
    std::chrono::milliseconds ttl{10'000};
    /// how the leases of its segments are held
    LeaseOptions lease = {};
    /// a note for people, as `LockConfig::note`
    std::string note = {};
};

/** A lock in parts: work on different segments runs concurrently, work on one segment is mutually exclusive.
 *
 *  Each segment is a plain key, so `Store::async_inspect` and `tenure status` show it. What to acquire is a
 * `MultiLock`:
 *
 *      SegmentedLock stock(store, {.prefix = "stock:"});
 *      auto one = co_await stock.for_item("sku-1").async_acquire(5s);
 *      auto order = co_await stock.for_items(skus).async_acquire(5s);
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API SegmentedLock
{
public:
    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    SegmentedLock(Store store, SegmentedLockConfig config);

    /** The segment of one item.
     *  @throws std::invalid_argument for an item that belongs to no segment: an unknown name, or an item of another
     * kind than the segments are made for */
    [[nodiscard]] MultiLock for_item(SegmentItem item) const;
    /** The segments of several items, together. @throws std::invalid_argument as `for_item`, for no items, and for more
     * than `MultiLock::most_locks` segments */
    [[nodiscard]] MultiLock for_items(std::span<SegmentItem const> items) const;
    /** One segment by its number, counted from 0 in the order of `Segments`.
     *  @throws std::invalid_argument for a number beyond the last, and for windows, which have no numbers */
    [[nodiscard]] MultiLock segment(std::uint32_t number) const;
    /** All segments, which excludes all work. One claim for each.
     *  @throws std::invalid_argument for windows, which have no end, and for more than `MultiLock::most_locks` */
    [[nodiscard]] MultiLock all() const;

    /** The key of an item's segment, for people. @throws std::invalid_argument as `for_item` */
    [[nodiscard]] std::string key_of(SegmentItem item) const;

private:
    std::shared_ptr<locks::SegmentLocks const> locks_;
};

} // namespace tenure
