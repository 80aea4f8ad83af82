// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/held_keys.hpp"

#include "keys/time_limit.hpp"
#include "output/name_list.hpp"
#include "output/table.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace tenure::tool
{

HeldKeys::HeldKeys(Lease lease, std::optional<std::uint32_t> slot)
    : lease_(std::move(lease))
    , slot_(slot)
{
}

HeldKeys::HeldKeys(LeaseSet leases)
    : leases_(std::move(leases))
{
}

std::size_t HeldKeys::size() const noexcept
{
    return lease_ ? 1 : leases_.size();
}

Lease const& HeldKeys::operator[](std::size_t index) const
{
    return lease_ ? lease_ : leases_[index];
}

CancellationToken HeldKeys::token() const
{
    return lease_ ? lease_.token() : leases_.token();
}

Lease const& HeldKeys::lost() const
{
    for (std::size_t index = 0; index < size(); ++index)
        if ((*this)[index].token().cancelled())
            return (*this)[index];
    return (*this)[0];
}

Instant HeldKeys::valid_until() const
{
    return lease_ ? lease_.valid_until() : leases_.valid_until();
}

Instant HeldKeys::stop_at() const
{
    auto earliest = (*this)[0].stop_at();
    for (std::size_t index = 1; index < size(); ++index)
        earliest = std::min(earliest, (*this)[index].stop_at());
    return earliest;
}

std::chrono::milliseconds HeldKeys::ttl() const
{
    auto shortest = (*this)[0].ttl();
    for (std::size_t index = 1; index < size(); ++index)
        shortest = std::min(shortest, (*this)[index].ttl());
    return shortest;
}

std::string HeldKeys::describe() const
{
    std::vector<std::string> keys;
    for (std::size_t index = 0; index < size(); ++index)
        keys.push_back(printable((*this)[index].key(), 256));
    return listed(keys);
}

asio::awaitable<bool> HeldKeys::release(std::chrono::milliseconds limit)
{
    TimeLimit const time_limit(co_await asio::this_coro::executor, limit);
    auto lease = std::exchange(lease_, Lease());
    auto leases = std::exchange(leases_, LeaseSet());
    auto token = asio::bind_cancellation_slot(time_limit.slot(), asio::as_tuple(asio::use_awaitable));
    std::tuple<error_code, ReleaseOutcome> result;
    if (lease)
        result = co_await lease.async_release(token);
    else
        result = co_await leases.async_release(token);
    co_return !std::get<0>(result) && std::get<1>(result) != ReleaseOutcome::unconfirmed;
}

Lease HeldKeys::take()
{
    return std::exchange(lease_, Lease());
}

} // namespace tenure::tool
