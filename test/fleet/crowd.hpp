// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/acquisitions.hpp"
#include "fleet/client.hpp"

#include <tenure/tenure.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::fleet
{

/** Waiters that all begin at once on a few keys. Each holds its key for a moment and releases it. A cell for each key
 * finds double holders. After the constructor, all members belong to the client's thread. Operations under way keep it
 * alive. */
class Crowd : public std::enable_shared_from_this<Crowd>
{
public:
    /** @param keys  how many: `key_name(prefix, 0)` and so on */
    Crowd(Client& client, std::string const& prefix, std::size_t keys);

    /** All begin to wait. @param limit  how long each waits at most */
    void start(std::size_t waiters, std::chrono::milliseconds limit);
    /** All waiters have ended, and no key is held. */
    [[nodiscard]] bool ended() const noexcept { return endings_.all() == waiters_ && holders_ == 0; }
    [[nodiscard]] Endings const& endings() const noexcept { return endings_; }
    /** Leases that ended before their release. */
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    /** Grants while another holder of the key relied on its lease. */
    [[nodiscard]] std::uint64_t double_holdings() const noexcept { return double_holdings_; }
    /** Grants whose fencing token was not greater than that of the holder before. */
    [[nodiscard]] std::uint64_t tokens_out_of_order() const noexcept { return tokens_out_of_order_; }
    /** The longest time without a grant while waiters waited. */
    [[nodiscard]] std::chrono::nanoseconds longest_gap() const noexcept;
    /** Grants a second, from the start to the last one. */
    [[nodiscard]] double rate() const noexcept;

private:
    /** The test's knowledge of one key. */
    struct Cell {
        Lock lock;
        /// until when its holder relies on the lease; unset: there is no holder
        std::optional<Instant> held_until = std::nullopt;
        std::uint64_t last_token = 0;
    };

    void granted(std::size_t key, Lease lease);
    void release(std::size_t key, Lease lease);
    void measure_gap();

    Client& client_;
    std::vector<Cell> cells_;
    std::size_t waiters_ = 0;
    std::size_t holders_ = 0;
    Endings endings_;
    std::uint64_t lost_ = 0;
    std::uint64_t double_holdings_ = 0;
    std::uint64_t tokens_out_of_order_ = 0;
    /// between two grants, or between the last one and the end of all waiters
    std::chrono::nanoseconds longest_gap_{};
    Instant started_{};
    Instant last_grant_{};
};

} // namespace tenure::fleet
