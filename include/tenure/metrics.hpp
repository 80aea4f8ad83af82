// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/statistics.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** How many durations fell into each of a fixed set of buckets, whose bounds double from 64 us to 71 minutes. */
struct TENURE_API Distribution {
    /// buckets with an upper bound; one more bucket counts what is longer
    static constexpr std::size_t bounded = 27;

    /** The longest duration that the bucket counts. @param bucket  less than `bounded` */
    [[nodiscard]] static constexpr std::chrono::microseconds bound(std::size_t bucket) noexcept
    {
        return std::chrono::microseconds{std::int64_t{64} << bucket};
    }
    /** The bucket of a duration; a negative one counts as zero. */
    [[nodiscard]] static constexpr std::size_t bucket_of(std::chrono::nanoseconds duration) noexcept
    {
        if (duration.count() <= 64'000)
            return 0;
        // a duration that equals a bound belongs to its bucket
        auto const microseconds = static_cast<std::uint64_t>(duration.count() - 1) / 1000;
        return std::min(static_cast<std::size_t>(std::bit_width(microseconds >> 6U)), bounded);
    }

    /** All durations that were counted. */
    [[nodiscard]] std::uint64_t count() const noexcept;
    /** The bound below which this part of all durations lies: 0.99 is the 99th percentile, rounded up to a bound. Zero
     * if nothing was counted, the last bound for durations beyond it. @param part  from 0 to 1 */
    [[nodiscard]] std::chrono::microseconds quantile(double part) const noexcept;

    /** Adds the durations that another distribution has counted. */
    Distribution& operator+=(Distribution const& other) noexcept;

    /// durations in each bucket
    std::array<std::uint64_t, bounded + 1> buckets{};
    /// of all durations
    std::chrono::nanoseconds sum{};
};

/** The counts of the leases of one lock or pool of a store. */
struct TENURE_API NameMetrics {
    /** What has the name. */
    enum class Kind : std::uint8_t {
        lock,
        pool,
        /// a fair lock, a read-write lock or a semaphore
        shares,
        /// all locks and pools that came after the first `StoreMetrics::most_names` names
        other
    };

    /// the key of a lock, or the prefix of a pool; empty for `Kind::other`
    std::string name;
    /// what has the name
    Kind kind = Kind::lock;
    /// of the lock or pool that was made last with this name
    std::chrono::milliseconds ttl{};

    /// leases held now
    std::uint64_t held = 0;
    /// acquisitions waiting now
    std::uint64_t waiting = 0;
    /// acquisitions whose wait ended while all keys were held
    std::uint64_t busy = 0;
    /// acquisitions that their caller cancelled
    std::uint64_t cancelled = 0;
    /// acquisitions that ended with another error
    std::uint64_t failed = 0;
    /// leases that were lost, by the reason of the token
    Losses lost;

    /// from the call to the grant
    Distribution waiting_time;
    /// from the grant to the release, detachment or loss
    Distribution holding_time;
    /// from a release to the grant that a waiter of this store got by it. A release by another program counts from its
    /// notification. Not counted for shares
    Distribution hand_over;
    /// from a successful renewal to the cancellation that it prevented
    Distribution renewal_margin;

    /** Adds the numbers of another store for the same name. */
    NameMetrics& operator+=(NameMetrics const& other) noexcept;
};
/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(NameMetrics::Kind kind) noexcept;

/** A kind of request to a store. */
enum class RequestKind : std::uint8_t {
    claim,
    renew,
    /// frees or keeps the key of a lease
    release,
    /// frees the key of a claim whose outcome is unknown
    withdraw,
    /// reads the holders: `async_inspect` and views
    inspect
};
/// enumerators of `RequestKind`
inline constexpr std::size_t request_kinds = 5;
/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(RequestKind kind) noexcept;

/** How a request to a store ended. */
enum class RequestOutcome : std::uint8_t {
    /// it took effect
    done,
    /// the key has another owner
    declined,
    /// the server answered with an error
    refused,
    /// it was never written: there was no connection
    not_sent,
    /// no answer arrived
    unanswered
};
/// enumerators of `RequestOutcome`
inline constexpr std::size_t request_outcomes = 5;
/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(RequestOutcome outcome) noexcept;

/** The requests of one kind. */
struct TENURE_API RequestMetrics {
    /// by `RequestOutcome`
    std::array<std::uint64_t, request_outcomes> by_outcome{};
    /// of requests that were answered. Of releases, every eighth is timed
    Distribution round_trip;

    /** Adds the requests of another store. */
    RequestMetrics& operator+=(RequestMetrics const& other) noexcept;
};

/** The distributions and counters of a store (`Store::metrics`). A snapshot: the fields may be read at slightly
 * different times. */
struct TENURE_API StoreMetrics {
    /// names that are told apart. The numbers of further names are added up in one entry
    static constexpr std::size_t most_names = 64;

    /// the same counters as `Store::statistics`
    Statistics totals;
    /// in the order in which the locks and pools were made
    std::vector<NameMetrics> names;
    /// by `RequestKind`
    std::array<RequestMetrics, request_kinds> requests;
};

} // namespace tenure
