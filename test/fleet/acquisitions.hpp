// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/client.hpp"

#include <tenure/tenure.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::fleet
{

/// of leases
inline constexpr std::chrono::milliseconds ttl{30'000};
/// of every acquisition that does not have to wait for another holder
inline constexpr std::chrono::milliseconds wait{30'000};
/// later than its wait, no acquisition may end
inline constexpr std::chrono::milliseconds end_slack{5'000};

/** The prefix, the number, and so much more that a server which puts thousands of names into one request meets its
 * limit (F3). */
[[nodiscard]] std::string key_name(std::string_view prefix, std::size_t index);

/** How acquisitions ended. */
struct Endings {
    std::uint64_t granted = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t failed = 0;
    /// of those that failed: with another error than `store_unavailable`, which a claim gets that waited behind others
    /// of its process until its wait was over
    std::uint64_t unexpected = 0;
    /// messages of the errors
    std::map<std::string, std::uint64_t> errors;

    void count(error_code error);
    [[nodiscard]] std::uint64_t all() const noexcept { return granted + timed_out + failed; }
};

/** Acquisitions of different keys, a number of them at a time, and the leases that they got. After the constructor, all
 * members belong to the client's thread. Operations under way keep it alive. */
class Acquisitions : public std::enable_shared_from_this<Acquisitions>
{
public:
    /** @param keys  how many: `key_name(prefix, 0)` and so on
     *  @param at_once  how many are under way at a time */
    Acquisitions(
        Client& client, std::string prefix, std::size_t keys, std::size_t at_once,
        std::chrono::milliseconds its_ttl = ttl);

    /** Begins. */
    void start();
    [[nodiscard]] bool ended() const noexcept { return endings_.all() == keys_; }
    [[nodiscard]] Endings const& endings() const noexcept { return endings_; }
    [[nodiscard]] std::vector<Lease>& leases() noexcept { return leases_; }
    [[nodiscard]] Instant first_grant() const noexcept { return first_grant_; }
    [[nodiscard]] Instant last_grant() const noexcept { return last_grant_; }
    /** Grants a second, from the start to the last one. */
    [[nodiscard]] double rate() const noexcept;
    /** From now on `renewed` counts. */
    void begin_to_count_renewed();
    /** Leases that are valid and were renewed since. */
    [[nodiscard]] std::size_t renewed() const;

private:
    void next();

    Client& client_;
    std::string prefix_;
    std::size_t keys_;
    std::size_t at_once_;
    std::chrono::milliseconds ttl_;
    /// index of the key that is acquired next
    std::size_t next_ = 0;
    Endings endings_;
    std::vector<Lease> leases_;
    /// of each lease, when its renewals began to count
    std::vector<Instant> valid_until_;
    Instant started_{};
    Instant first_grant_{};
    Instant last_grant_{};
};

} // namespace tenure::fleet
