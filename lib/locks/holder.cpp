// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Holder: its keys, and the refusal of deadlocks.
#include "holder.hpp"

#include "held_key.hpp"

#include "engine/acquire_result.hpp"
#include "engine/completion.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure
{

namespace locks
{

HolderState::HolderState(Order order)
    : order_(order)
{
}

std::shared_ptr<HeldKey> HolderState::find(StorePtr const& store, std::string const& key) const
{
    auto const keys = stores_.find(store);
    if (keys == stores_.end())
        return nullptr;
    auto const known = keys->second.find(key);
    return known == keys->second.end() ? nullptr : known->second.key.lock();
}

void HolderState::add(StorePtr const& store, std::string const& key, std::shared_ptr<HeldKey> const& held)
{
    auto& known = stores_[store][key];
    known.key = held;
    known.identity = held.get();
    known.held = false;
}

void HolderState::remove(std::weak_ptr<engine::Core> const& store, std::string const& key, HeldKey const& held)
{
    auto const keys = stores_.find(store);
    if (keys == stores_.end())
        return;
    auto const known = keys->second.find(key);
    // another HeldKey may have replaced it
    if (known == keys->second.end() || known->second.identity != &held)
        return;
    known->second.key.reset();
    known->second.identity = nullptr;
    if (known->second.lease.expired())
        keys->second.erase(known);
    if (keys->second.empty())
        stores_.erase(keys);
}

void HolderState::note(std::weak_ptr<engine::Core> const& store, std::string const& key, bool held)
{
    stores_[store][key].held = held;
}

void HolderState::note(StorePtr const& store, std::string const& key, std::weak_ptr<engine::LeaseRecord const> lease)
{
    stores_[store][key].lease = std::move(lease);
}

std::optional<Refusal> HolderState::refuse(StorePtr const& store, std::string const& key, bool reentrant)
{
    auto const keys = stores_.find(store);
    if (order_ == Order::unchecked || keys == stores_.end())
        return std::nullopt;
    std::string const* above = nullptr;
    for (auto entry = keys->second.begin(); entry != keys->second.end();) {
        auto const& [name, known] = *entry;
        auto const lease = known.lease.lock();
        if (!lease && known.identity == nullptr) {
            entry = keys->second.erase(entry);
            continue;
        }
        bool const by_lease = lease && lease->valid();
        if ((by_lease || known.held) && name > key)
            above = &name;
        if (name == key && (by_lease || (known.held && !reentrant))) {
            if (auto const held = known.held ? known.key.lock() : nullptr; held && held->lost())
                return held->refuse_after_loss();
            return Refusal{
                make_error_code(errc::would_deadlock),
                key + " was not acquired: the holder already holds " + name +
                    ", so the call would wait for itself; use a ReentrantLock each time, or release " + name +
                    " first"};
        }
        ++entry;
    }
    if (above != nullptr)
        return Refusal{
            make_error_code(errc::out_of_order), key + " was not acquired: the holder holds " + *above +
                                                     ", which comes after it; acquire keys in ascending order, or "
                                                     "release " +
                                                     *above + " first"};
    return std::nullopt;
}

} // namespace locks

Holder::Holder(HolderOptions options)
    : state_(std::make_shared<locks::HolderState>(options.order))
{
}

Holder::Holder(Holder const&) noexcept = default;
Holder& Holder::operator=(Holder const&) noexcept = default;
Holder::~Holder() = default;

template <class Result>
void Holder::start(
    OfLock const& part, AcquireOptions const& options, asio::any_completion_handler<void(error_code, Result)> handler)
{
    auto const& state = part.state;
    locks::EngineLock const asked(part.lock);
    auto const& core = asked.core();
    engine::Completion<void(error_code, Result)> pending(std::move(handler), core->runtime().get());
    if (!core->same_process() || state->forked()) {
        std::move(pending).complete_at_once(make_error_code(errc::forked), Result());
        return;
    }
    std::optional<locks::Refusal> refusal;
    state->change([&](auto&) { refusal = state->refuse(core, asked.key(), false); });
    if (refusal) {
        auto const failing = core->store_log().refuse(refusal->error, std::move(refusal->words));
        std::move(pending).complete_at_once(refusal->error, Result());
        return;
    }
    auto const slot = pending.slot();
    engine::acquire(
        asked.state_for(), options, engine::is_try_result<Result>,
        [state, asked, pending = std::move(pending)](engine::Known known, error_code error, Lease lease) mutable {
            if (!lease.empty() && state->order() == Order::checked)
                state->change(
                    [&](auto&) { state->note(asked.core(), asked.key(), locks::EngineLease::record_of(lease)); });
            std::move(pending).complete(known, error, engine::AcquireResult::from<Result>(std::move(lease)));
        },
        slot);
}

template void
Holder::start(OfLock const&, AcquireOptions const&, asio::any_completion_handler<void(error_code, Lease)>);
template void Holder::start(
    OfLock const&, AcquireOptions const&, asio::any_completion_handler<void(error_code, std::optional<Lease>)>);

} // namespace tenure
