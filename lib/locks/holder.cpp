// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/holder.hpp>

#include "engine_view.hpp"
#include "holder_state.hpp"

#include "engine/completion.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <utility>

namespace tenure
{

Holder::Holder(HolderOptions options)
    : state_(std::make_shared<locks::HolderState>(options.order))
{
}

Holder::Holder(Holder const&) noexcept = default;
Holder& Holder::operator=(Holder const&) noexcept = default;
Holder::~Holder() = default;

void Holder::start(
    StatePtr const& state, Lock const& lock, AcquireOptions const& options,
    asio::any_completion_handler<void(error_code, Lease)> handler)
{
    locks::EngineLock const asked(lock);
    auto const& core = asked.core();
    engine::Completion<void(error_code, Lease)> pending(std::move(handler), core->runtime().get());
    if (!core->same_process() || state->forked()) {
        std::move(pending).post(make_error_code(errc::forked), Lease());
        return;
    }
    std::unique_lock guard(state->mutex());
    auto refusal = state->refuse(core, asked.key(), false);
    guard.unlock();
    if (refusal) {
        core->journal().refuse(refusal->error, std::move(refusal->words));
        std::move(pending).post(refusal->error, Lease());
        return;
    }
    auto const slot = pending.slot();
    asked.async_acquire(
        options, asio::bind_cancellation_slot(
                     slot, [state, asked, pending = std::move(pending)](error_code error, Lease lease) mutable {
                         if (lease && state->order() == Order::checked && !state->forked()) {
                             std::lock_guard const held(state->mutex());
                             state->note(asked.core(), asked.key(), locks::EngineLease::record_of(lease));
                         }
                         std::move(pending).post(error, std::move(lease));
                     }));
}

} // namespace tenure
