// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/acquirable.hpp>

#include "engine/contest.hpp"
#include "engine/start_acquisition.hpp"

#include <utility>

namespace tenure
{

template <class LeaseType>
KeyRangePtr Acquirable<LeaseType>::range() const noexcept
{
    return contest_->range();
}

template <class LeaseType>
std::chrono::milliseconds Acquirable<LeaseType>::ttl() const noexcept
{
    return contest_->terms().ttl;
}

template <class LeaseType>
asio::any_io_executor const& Acquirable<LeaseType>::executor_of(ContestPtr const& contest) noexcept
{
    return contest->handle()->core()->runtime()->user_executor();
}

template <class LeaseType>
Store Acquirable<LeaseType>::store() const noexcept
{
    return Store(contest_->handle());
}

template <class LeaseType>
void Acquirable<LeaseType>::start(
    ContestPtr const& contest, AcquireOptions const& options, detail::UserHandler<void(error_code, LeaseType)> handler)
{
    engine::start_acquisition(contest, options, std::move(handler));
}

template <class LeaseType>
void Acquirable<LeaseType>::start(
    ContestPtr const& contest, AcquireOptions const& options,
    detail::UserHandler<void(error_code, std::optional<LeaseType>)> handler)
{
    engine::start_acquisition(contest, options, std::move(handler));
}

template class Acquirable<Lease>;
template class Acquirable<Slot>;

} // namespace tenure
