// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "gates.hpp"

#include <utility>

namespace tenure::engine
{

Gates::Gates(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
{
}

std::shared_ptr<Gate> Gates::find(KeyRange const& range) const
{
    if (gates_.empty())
        return nullptr;
    auto const found = gates_.find(range);
    return found == gates_.end() ? nullptr : found->second.gate;
}

std::shared_ptr<Gate> Gates::find_or_make(KeyRangePtr const& range)
{
    auto& entry = gates_[*range];
    if (!entry.gate)
        entry.gate = std::make_shared<Gate>(range, runtime_, backend_, grace_);
    runtime_->cancel(std::exchange(entry.linger, 0));
    return entry.gate;
}

void Gates::left(std::shared_ptr<Gate> const& gate)
{
    auto const found = gates_.find(gate->range());
    if (gate->closed() || found == gates_.end() || found->second.linger != 0)
        return;
    found->second.linger =
        runtime_->call_at(runtime_->now() + Gate::linger, [this, alive = std::weak_ptr(alive_), range = gate->range()] {
            if (alive.expired())
                return;
            auto const entry = gates_.find(range);
            if (entry == gates_.end())
                return;
            entry->second.linger = 0;
            if (!entry->second.gate->closed()) {
                entry->second.gate->close();
                gates_.erase(entry);
            }
        });
}

void Gates::gave_up(KeyRangePtr const& range) const
{
    auto const gate = find(*range);
    bool const others_wait = gate && gate->has_waiters();
    if (gate)
        gate->place_may_stay(others_wait);
    if (others_wait)
        return;
    backend_->leave_line(range);
}

void Gates::release_begins(KeyRange const& range) const
{
    if (auto const gate = find(range))
        gate->release_begins();
}

void Gates::release_ends(KeyRange const& range, bool freed) const
{
    if (auto const gate = find(range))
        gate->release_ends(freed);
}

void Gates::release_named_another(KeyRangePtr const& range)
{
    auto const gate = find_or_make(range);
    gate->release_named_another();
    left(gate);
}

void Gates::close()
{
    auto const all = std::exchange(gates_, {});
    for (auto const& [range, entry] : all) {
        runtime_->cancel(entry.linger);
        entry.gate->close();
    }
}

} // namespace tenure::engine
