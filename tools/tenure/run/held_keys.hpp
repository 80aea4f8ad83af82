// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/command_lease.hpp"

#include <tenure/lease.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/slot.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The leases of a command: the lease on one key, or on several keys that are held together. Several are as good as
 * the weakest of them. */
class HeldKeys final : public CommandLease
{
public:
    /** Nothing is held. */
    HeldKeys() = default;
    explicit HeldKeys(Lease lease);
    explicit HeldKeys(Slot slot);
    explicit HeldKeys(LeaseSet leases);

    [[nodiscard]] explicit operator bool() const noexcept { return size() != 0; }
    [[nodiscard]] std::size_t size() const noexcept;
    /** The lease of one key, in the order in which the keys were named. */
    [[nodiscard]] Lease const& operator[](std::size_t index) const;
    [[nodiscard]] std::optional<std::uint32_t> slot() const noexcept { return slot_; }

    [[nodiscard]] CancellationToken token() const override;
    [[nodiscard]] std::optional<CancelReason> loss() const override;
    [[nodiscard]] std::string lost_key() const override;
    [[nodiscard]] Instant valid_until() const override;
    [[nodiscard]] Instant stop_at() const override;
    [[nodiscard]] std::chrono::milliseconds ttl() const override;
    [[nodiscard]] std::string describe() const override;

    /** Gives all keys back; nothing is held afterwards.
     *  @param limit  how long the store's answer is waited for
     *  @return false if the store has not confirmed it */
    [[nodiscard]] asio::awaitable<bool> release(std::chrono::milliseconds limit);

    /** Gives up a single lease, for another end than a release; nothing is held afterwards. */
    [[nodiscard]] Lease take();

private:
    template <class Value>
    [[nodiscard]] Value least(Value (Lease::*get)() const) const;

    /// of one key
    Lease lease_;
    /// of several
    LeaseSet leases_;
    /// its number, if the key is one of a pool
    std::optional<std::uint32_t> slot_;
};

/** This program's own environment, without what tells a command what it holds. */
[[nodiscard]] std::vector<std::string> inherited_environment();

/** The environment for a command under keys that are held: this program's own, and what tells the command what it
 * holds. */
[[nodiscard]] std::vector<std::string> environment_for(HeldKeys const& held);

/** True if the program sets the variable for the commands that it runs: of a run inside a run, the inner one counts.
 *  @param line  `NAME=value` */
[[nodiscard]] bool tells_what_is_held(std::string_view line);

} // namespace tenure::tool
