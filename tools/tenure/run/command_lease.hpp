// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace tenure::tool
{

/** What a command runs under, as its supervision sees it: one lease, or several that are as good as the weakest. */
class CommandLease
{
public:
    virtual ~CommandLease() = default;

    /** Cancelled when the first lease is lost, and when it is given up. */
    [[nodiscard]] virtual CancellationToken token() const = 0;
    /** Why the first lease was lost; unset while it can be relied on. */
    [[nodiscard]] virtual std::optional<CancelReason> loss() const = 0;
    /** The key of that lease; before that, the first key. */
    [[nodiscard]] virtual std::string lost_key() const = 0;
    /** The earliest of the leases. */
    [[nodiscard]] virtual Instant valid_until() const = 0;
    [[nodiscard]] virtual Instant stop_at() const = 0;
    /** The shortest of the leases. */
    [[nodiscard]] virtual std::chrono::milliseconds ttl() const = 0;
    /** For a person: `a, b, c`. */
    [[nodiscard]] virtual std::string describe() const = 0;

protected:
    CommandLease() = default;
    CommandLease(CommandLease const&) = default;
    CommandLease(CommandLease&&) = default;
    CommandLease& operator=(CommandLease const&) = default;
    CommandLease& operator=(CommandLease&&) = default;
};

} // namespace tenure::tool
