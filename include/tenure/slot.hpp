// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/lease.hpp>

#include <cstdint>
#include <utility>

namespace tenure
{

namespace engine
{
struct AcquireResult;
}

class Slot;
template <>
struct detail::LeaveKey<Slot> {
    static void of(Slot& slot) noexcept;
};

/** A lease on a numbered key of a pool. It has the interface of a `Lease` but does not convert to one: assigning
 * through a Lease& could give a Slot another key under the same number.
 *
 *  @par Thread safety  As `Lease`; `as_lease` is a move. */
class [[nodiscard]] TENURE_API Slot : private Lease
{
public:
    using Lease::executor_type;

    /** No slot: `valid()` is false, the token counts as cancelled, and `id()` throws. */
    Slot() noexcept = default;

    /** The number: in [0, size) of its pool, and distinct among all live slots of the pool.
     *  @throws std::logic_error if this object holds no slot, as after a move: it has no number */
    [[nodiscard]] std::uint32_t id() const;

    /** The lease alone, for code that needs no number; this object holds nothing afterwards. */
    [[nodiscard]] Lease as_lease() && noexcept { return std::move(static_cast<Lease&>(*this)); }

    using Lease::async_detach;
    using Lease::async_release;
    using Lease::async_renew;
    using Lease::async_wait_at_risk;
    using Lease::empty;
    using Lease::fencing_token;
    using Lease::get_executor;
    using Lease::has_fencing_token;
    using Lease::key;
    using Lease::owner;
    using Lease::state;
    using Lease::stop_at;
    using Lease::token;
    using Lease::ttl;
    using Lease::valid;
    using Lease::valid_until;

private:
    friend engine::AcquireResult;
    friend detail::LeaveKey<Slot>;

    /** @param lease  of a key of a pool, or none */
    explicit Slot(Lease&& lease) noexcept
        : Lease(std::move(lease))
    {
    }
};

inline void detail::LeaveKey<Slot>::of(Slot& slot) noexcept
{
    LeaveKey<Lease>::of(static_cast<Lease&>(slot));
}

} // namespace tenure
