// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// AcquirableKeys: the keys and acquisitions of Lock and SlotPool.
#include <tenure/acquirable_keys.hpp>

#include "engine/acquire_result.hpp"
#include "engine/completion.hpp"
#include "engine/lease_target.hpp"

#include <tenure/slot.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace tenure
{

KeyRangePtr AcquirableKeys::range() const noexcept
{
    return target_->range();
}

std::chrono::milliseconds AcquirableKeys::ttl() const noexcept
{
    return target_->terms().ttl;
}

std::chrono::milliseconds AcquirableKeys::tolerated_outage() const noexcept
{
    return engine::tolerated_outage(target_->terms());
}

asio::any_io_executor const& AcquirableKeys::executor_of(LeaseTargetPtr const& target) noexcept
{
    return target->handle()->core()->runtime()->user_executor();
}

Store AcquirableKeys::store() const noexcept
{
    return Store(target_->handle());
}

template <class Result>
void AcquirableKeys::start(
    LeaseTargetPtr const& target, AcquireOptions const& options,
    asio::any_completion_handler<void(error_code, Result)> handler)
{
    using engine::AcquireResult;
    engine::Completion<void(error_code, Result)> completion(
        std::move(handler), target->handle()->core()->runtime().get());
    auto const slot = completion.slot();
    engine::acquire(
        target, options, engine::is_try_result<Result>,
        [completion = std::move(completion)](engine::Known known, error_code error, Lease lease) mutable {
            std::move(completion).complete(known, error, AcquireResult::from<Result>(std::move(lease)));
        },
        slot);
}

template <class Result>
using Handler = asio::any_completion_handler<void(error_code, Result)>;
template void AcquirableKeys::start(LeaseTargetPtr const&, AcquireOptions const&, Handler<Lease>);
template void AcquirableKeys::start(LeaseTargetPtr const&, AcquireOptions const&, Handler<std::optional<Lease>>);
template void AcquirableKeys::start(LeaseTargetPtr const&, AcquireOptions const&, Handler<Slot>);
template void AcquirableKeys::start(LeaseTargetPtr const&, AcquireOptions const&, Handler<std::optional<Slot>>);

} // namespace tenure
