// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations that Lock and SlotPool share.
#include <tenure/acquirable.hpp>

#include "engine/completion.hpp"
#include "engine/lease_target.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace tenure
{

template <class LeaseType>
KeyRangePtr Acquirable<LeaseType>::range() const noexcept
{
    return target_->range();
}

template <class LeaseType>
std::chrono::milliseconds Acquirable<LeaseType>::ttl() const noexcept
{
    return target_->terms().ttl;
}

template <class LeaseType>
std::chrono::milliseconds Acquirable<LeaseType>::tolerated_outage() const noexcept
{
    return engine::tolerated_outage(target_->terms());
}

template <class LeaseType>
asio::any_io_executor const& Acquirable<LeaseType>::executor_of(LeaseTargetPtr const& target) noexcept
{
    return target->handle()->core()->runtime()->user_executor();
}

template <class LeaseType>
Store Acquirable<LeaseType>::store() const noexcept
{
    return Store(target_->handle());
}

template <class LeaseType>
void Acquirable<LeaseType>::start(
    LeaseTargetPtr const& target, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, Lease)> handler)
{
    engine::Completion<void(error_code, Lease)> completion(
        std::move(handler), target->handle()->core()->runtime().get());
    auto const slot = completion.slot();
    target->acquire(
        options, is_try,
        [completion = std::move(completion)](error_code error, Lease lease) mutable {
            std::move(completion).post(error, std::move(lease));
        },
        slot);
}

template class Acquirable<Lease>;
template class Acquirable<Slot>;

} // namespace tenure
