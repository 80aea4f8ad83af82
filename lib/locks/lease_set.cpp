// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LeaseSet: forwards to a HeldSet.
#include <tenure/lease_set.hpp>

#include "held_set.hpp"

#include "runtime/no_executor.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure
{

void detail::LeaveKey<LeaseSet>::of(LeaseSet& set) noexcept
{
    if (set.held_)
        set.held_->leave_keys();
}

LeaseSet::LeaseSet() noexcept = default;

LeaseSet::LeaseSet(HeldPtr held) noexcept
    : held_(std::move(held))
{
}

LeaseSet::LeaseSet(LeaseSet&&) noexcept = default;
LeaseSet& LeaseSet::operator=(LeaseSet&&) noexcept = default;
LeaseSet::~LeaseSet() = default;

bool LeaseSet::valid() const noexcept
{
    return held_ && !held_->released() && std::ranges::all_of(held_->leases(), &Lease::valid);
}

Instant LeaseSet::valid_until() const noexcept
{
    return held_ ? std::ranges::min_element(held_->leases(), {}, &Lease::valid_until)->valid_until() : Instant{};
}

CancellationToken LeaseSet::token() const noexcept
{
    return held_ ? held_->token() : CancellationToken();
}

std::size_t LeaseSet::size() const noexcept
{
    return held_ ? held_->leases().size() : 0;
}

Lease const& LeaseSet::operator[](std::size_t index) const
{
    if (index >= size())
        throw std::out_of_range(
            "LeaseSet holds " + std::to_string(size()) + " keys, and was asked for number " + std::to_string(index));
    return held_->leases()[index];
}

std::uint64_t LeaseSet::fencing_token(std::string_view key) const
{
    if (held_)
        if (auto const lease = std::ranges::find(held_->leases(), key, &Lease::key); lease != held_->leases().end())
            return lease->fencing_token();
    throw std::out_of_range("LeaseSet does not hold the key " + std::string(key));
}

LeaseSet::executor_type LeaseSet::get_executor() const noexcept
{
    return executor_of(held_);
}

asio::any_io_executor const& LeaseSet::executor_of(HeldPtr const& held) noexcept
{
    return held ? held->runtime()->user_executor() : no_executor();
}

void LeaseSet::start_release(HeldPtr const& held, ReleaseHandler handler)
{
    if (held)
        locks::HeldSet::release(held, std::move(handler));
    else
        engine::Completion<void(error_code, ReleaseOutcome)>(std::move(handler), nullptr)
            .complete_at_once(make_error_code(errc::released), ReleaseOutcome::was_lost);
}

} // namespace tenure
