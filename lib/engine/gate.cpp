// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "gate.hpp"

#include "acquisition.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::engine
{

namespace
{

/// how long a subscription is kept after the last waiter left: contention comes back
constexpr std::chrono::seconds linger{2};

} // namespace

Gate::Gate(KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend)
    : range_(std::move(range))
    , runtime_(std::move(runtime))
    , backend_(std::move(backend))
{
}

bool Gate::join(Acquisition& acquisition)
{
    if (head_ == nullptr)
        head_ = &acquisition;
    else if (head_ != &acquisition)
        queue_.push_back(&acquisition);
    return head_ == &acquisition;
}

void Gate::leave(Acquisition& acquisition)
{
    if (head_ != &acquisition) {
        std::erase(queue_, &acquisition);
        return;
    }
    head_ = nullptr;
    // whoever is found below that its wait is over leaves inside of that
    if (std::exchange(passing_, true))
        return;
    try {
        while (head_ == nullptr && !queue_.empty())
            pass_turn();
    } catch (...) {
        passing_ = false;
        throw;
    }
    passing_ = false;
}

void Gate::pass_turn()
{
    head_ = queue_.front();
    queue_.pop_front();
    // it tries at once: whatever news the old head had consumed is not lost
    head_->take_turn();
}

void Gate::watch()
{
    if (watch_)
        return;
    watch_ = backend_->watch(range_, WatchAs::waiter, [weak = weak_from_this()](WatchEvent event) {
        if (auto self = weak.lock())
            self->on_event(event);
    });
}

void Gate::on_event(WatchEvent event)
{
    switch (event) {
    case WatchEvent::in_force:
        polling_ = false;
        // what was released before the subscription came into force was announced to nobody
        hint();
        break;
    case WatchEvent::hint:
    case WatchEvent::our_turn:
    case WatchEvent::others_turn:
        hint();
        break;
    case WatchEvent::interrupted:
        break;
    case WatchEvent::unavailable:
        polling_ = true;
        break;
    }
}

void Gate::hint()
{
    if (head_ != nullptr)
        head_->take_turn();
}

void Gate::close()
{
    watch_.reset();
    head_ = nullptr;
    queue_.clear();
}

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
        entry.gate = std::make_shared<Gate>(range, runtime_, backend_);
    runtime_->cancel(std::exchange(entry.linger, 0));
    return entry.gate;
}

void Gates::left(std::shared_ptr<Gate> const& gate)
{
    auto const found = gates_.find(gate->range());
    if (gate->closed() || found == gates_.end() || found->second.linger != 0)
        return;
    found->second.linger =
        runtime_->call_at(runtime_->now() + linger, [this, alive = std::weak_ptr(alive_), range = gate->range()] {
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

void Gates::hint(KeyRange const& range) const
{
    if (auto const gate = find(range))
        gate->hint();
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
