// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Domain: keys, lines and subscriptions in memory.
#include "domain.hpp"

#include "runtime/fork_guard.hpp"
#include "store/ended_claim.hpp"
#include "store/key_index.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::memory
{

using std::chrono::milliseconds;

std::shared_ptr<Domain> Domain::named(std::string const& name)
{
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<Domain>> domains;
    if (name.empty())
        return std::make_shared<Domain>();
    std::lock_guard const lock(mutex);
    std::erase_if(domains, [](auto const& entry) { return entry.second.expired(); });
    auto& known = domains[name];
    auto domain = known.lock();
    // a child of fork gets a new domain: a thread that does not exist in the child may own the parent's mutex
    if (!domain || domain->fork_generation_ != fork_generation()) {
        domain = std::make_shared<Domain>();
        known = domain;
    }
    return domain;
}

Domain::Entry* Domain::find(std::string const& key, Instant now)
{
    auto const found = entries_.find(key);
    if (found == entries_.end())
        return nullptr;
    if (found->second.expires > now)
        return &found->second;
    entries_.erase(found);
    return nullptr;
}

Granted Domain::grant(ClaimRequest const& request, std::uint32_t index, std::string const& key, Instant now)
{
    Granted granted;
    granted.index = index;
    granted.ttl = request.ttl;
    granted.since = now;
    if (request.fencing)
        granted.fencing_token = ++last_fencing_token_;
    sweep(now);
    entries_[key] = {request.owner, now + request.lifetime(), now, granted.fencing_token};
    return granted;
}

void Domain::sweep(Instant now)
{
    if (entries_.size() + places_.size() < sweep_at_)
        return;
    std::erase_if(entries_, [now](auto const& entry) { return entry.second.expires <= now; });
    lines_.sweep(now);
    places_.sweep(now);
    sweep_at_ = std::max<std::size_t>(1024, 2 * (entries_.size() + places_.size()));
}

StoreName Domain::new_store()
{
    std::lock_guard const lock(mutex_);
    return ++last_store_;
}

ClaimReply Domain::claim(ClaimRequest const& request, Instant now, StoreName store)
{
    if (request.share)
        return claim_share(request, now, store);
    std::lock_guard const lock(mutex_);
    auto const& range = *request.range;
    auto const take = [&](std::uint32_t index, std::string const& key) {
        if (request.waits != Waits::no)
            lines_.leave(range, store);
        return grant(request, index, key, now);
    };
    if (request.earliest_attempt)
        for (std::uint32_t index = 0; index < range.count; ++index) {
            auto const key = range.key(index);
            if (auto* entry = find(key, now); entry != nullptr && entry->owner == request.owner)
                return take(index, key);
        }
    std::optional<milliseconds> earliest;
    for (std::uint32_t index = 0; index < range.count; ++index) {
        auto const key = range.key(index);
        auto const* const entry = find(key, now);
        auto const in_places = entry == nullptr && places_.size() > 0 ? places_.taken_for(key, now) : std::nullopt;
        if (entry == nullptr && !in_places)
            return take(index, key);
        auto const left = in_places ? *in_places : time_until(entry->expires, now);
        earliest = earliest ? std::min(*earliest, left) : left;
    }
    if (request.waits != Waits::no)
        lines_.join(range, store, request.waits == Waits::in_front, now);
    return Busy{earliest, false};
}

ClaimReply Domain::claim_share(ClaimRequest const& request, Instant now, StoreName store)
{
    std::unique_lock lock(mutex_);
    auto const key = request.range->key(0);
    if (auto const* const entry = find(key, now))
        return Busy{time_until(entry->expires, now), false};
    sweep(now);
    Places::News promoted;
    auto reply = places_.claim(request, store, last_fencing_token_, now, promoted);
    if (!promoted.empty())
        announce_places(std::move(lock), key, promoted);
    return reply;
}

RenewReply Domain::renew(RenewRequest const& request, Instant now)
{
    std::lock_guard const lock(mutex_);
    if (request.claim->range->shares)
        return places_.renew(request, now);
    auto* entry = find(request.claim->key(), now);
    if (entry == nullptr || entry->owner != request.claim->owner)
        return NotOwner{};
    entry->expires = now + request.lifetime();
    return Renewed{request.ttl, now};
}

void Domain::end_claim(std::string const& key, Entry& entry, milliseconds reuse_after, Instant now)
{
    if (reuse_after == milliseconds{0}) {
        entries_.erase(key);
        return;
    }
    entry = {resting_value(entry.owner), now + reuse_after, now, entry.fencing_token};
}

void Domain::keep(Entry& entry, milliseconds keep_for, Instant now)
{
    auto const expires = keep_for > milliseconds{0} ? now + keep_for : entry.expires;
    entry = {kept_value(entry.owner), expires, entry.granted, entry.fencing_token};
}

Released Domain::announce(
    std::unique_lock<std::mutex> lock, KeyRange const& range, std::vector<std::string> const& keys, std::size_t freed,
    Instant now, StoreName own)
{
    auto const named = lines_.name_first(range, freed, now);
    auto const notifications = notifications_of(range, keys, named);
    lock.unlock();
    for (auto const& [notify, event] : notifications)
        notify(event);
    return {std::ranges::any_of(named, [&](StoreName one) { return one != own; })};
}

ReleaseReply Domain::release(ReleaseRequest const& request, Instant now, StoreName store)
{
    std::unique_lock lock(mutex_);
    auto const& range = *request.claim->range;
    auto const key = request.claim->key();
    if (range.shares) {
        Places::News promoted;
        auto reply = places_.release(request, now, promoted);
        if (request.notifications && std::holds_alternative<Released>(reply))
            announce_places(std::move(lock), key, promoted);
        return reply;
    }
    auto const stays_taken = request.keep_for || request.claim->reuse_after > milliseconds{0};
    auto* entry = find(key, now);
    if (entry != nullptr && request.keep_for && entry->owner == kept_value(request.claim->owner))
        return Released{};
    if (entry == nullptr || entry->owner != request.claim->owner)
        return NotOwner{};
    if (request.keep_for)
        keep(*entry, *request.keep_for, now);
    else
        end_claim(key, *entry, request.claim->reuse_after, now);
    if (!request.notifications)
        return Released{};
    // a key that stays taken is not free yet, so no store is named; its waiters learn when it will be free
    return announce(std::move(lock), range, {key}, stays_taken ? 0 : 1, now, store);
}

WithdrawReply Domain::withdraw(WithdrawRequest const& request, Instant now, StoreName store)
{
    std::unique_lock lock(mutex_);
    if (request.range->shares) {
        Places::News promoted;
        auto const key = request.range->key(0);
        if (places_.withdraw(key, request.owner, now, promoted) && request.notifications)
            announce_places(std::move(lock), key, promoted);
        return Released{};
    }
    std::vector<std::string> keys;
    for (std::uint32_t index = 0; index < request.range->count; ++index) {
        auto key = request.range->key(index);
        auto* entry = find(key, now);
        if (entry == nullptr || entry->owner != request.owner)
            continue;
        end_claim(key, *entry, request.reuse_after, now);
        keys.push_back(std::move(key));
    }
    if (!request.notifications || keys.empty())
        return Released{};
    bool const rest = request.reuse_after > milliseconds{0};
    return announce(std::move(lock), *request.range, keys, rest ? 0 : keys.size(), now, store);
}

void Domain::leave_line(KeyRange const& range, StoreName store)
{
    std::lock_guard const lock(mutex_);
    lines_.leave(range, store);
}

std::vector<KeyState> Domain::inspect(KeyRange const& range, Instant now) const
{
    std::lock_guard const lock(mutex_);
    std::vector<KeyState> states;
    states.reserve(range.count);
    for (std::uint32_t index = 0; index < range.count; ++index) {
        auto const key = range.key(index);
        auto state = places_.inspect(key, now).value_or(KeyState{});
        if (auto const found = entries_.find(key); found != entries_.end() && found->second.expires > now) {
            auto const& [owner, expires, granted, fencing_token] = found->second;
            state = state_of(owner, fencing_token, granted, expires, now);
        }
        state.index = index;
        states.push_back(std::move(state));
    }
    return states;
}

KeyList Domain::list(ListRequest const& request, Instant now) const
{
    std::lock_guard const lock(mutex_);
    KeyList list;
    for (auto const& [key, entry] : entries_)
        if (entry.expires > now && key.starts_with(request.prefix))
            list.keys.push_back(key);
    places_.list(request.prefix, list.keys);
    return list;
}

EvictReply Domain::evict(EvictRequest const& request, Instant now)
{
    std::unique_lock lock(mutex_);
    auto const key = request.range->key(request.index);
    auto* entry = find(key, now);
    if (entry == nullptr && places_.size() > 0) {
        Places::News promoted;
        auto reply = places_.evict(request, now, promoted);
        if (std::holds_alternative<Evicted>(reply))
            announce_places(std::move(lock), key, promoted);
        return reply;
    }
    if (entry == nullptr || entry->owner != request.owner)
        return NotOwner{};
    entry->owner = "evicted/" + request.evicted_by;
    return Evicted{time_until(entry->expires, now)};
}

void Domain::remove(std::string const& key)
{
    std::lock_guard const lock(mutex_);
    entries_.erase(key);
    places_.remove(key);
}

void Domain::overwrite(std::string const& key, std::string owner, milliseconds ttl, Instant now)
{
    std::lock_guard const lock(mutex_);
    places_.remove(key);
    entries_[key] = {std::move(owner), now + ttl, now};
}

bool Domain::held(std::string const& key, Instant now)
{
    std::lock_guard const lock(mutex_);
    return find(key, now) != nullptr || places_.taken_for(key, now).has_value();
}

std::size_t Domain::size() const
{
    std::lock_guard const lock(mutex_);
    return entries_.size() + places_.size();
}

std::uint64_t Domain::subscribe(WatchHandler notify, KeyRange range, WatchAs as, StoreName store)
{
    std::lock_guard const lock(mutex_);
    subscriptions_.emplace(++last_subscription_, Subscription{std::move(notify), std::move(range), as, store});
    return last_subscription_;
}

void Domain::unsubscribe(std::uint64_t id)
{
    std::lock_guard const lock(mutex_);
    subscriptions_.erase(id);
}

Domain::News Domain::notifications_of(
    KeyRange const& range, std::vector<std::string> const& keys, std::vector<StoreName> const& named) const
{
    News notifications;
    for (auto const& [id, subscription] : subscriptions_) {
        bool const waits = subscription.as == WatchAs::waiter;
        // The store has left the line, so it is notified even if its smaller pool lacks this key.
        bool const is_named = waits && Lines::same_line(subscription.range, range) &&
                              std::ranges::find(named, subscription.store) != named.end();
        auto const covered = [&](std::string const& key) {
            return store::index_of(subscription.range, key).has_value();
        };
        if (is_named)
            notifications.emplace_back(subscription.notify, WatchEvent::our_turn);
        else if (std::ranges::any_of(keys, covered))
            notifications.emplace_back(
                subscription.notify, waits && !named.empty() ? WatchEvent::others_turn : WatchEvent::hint);
    }
    return notifications;
}

void Domain::announce_places(
    std::unique_lock<std::mutex> lock, std::string const& key, Places::News const& promoted) const
{
    std::vector<std::pair<WatchHandler, std::vector<std::uint64_t>>> turns;
    News notifications;
    for (auto const& [id, subscription] : subscriptions_) {
        if (!store::index_of(subscription.range, key))
            continue;
        if (subscription.as == WatchAs::observer || !subscription.range.shares) {
            notifications.emplace_back(subscription.notify, WatchEvent::hint);
            continue;
        }
        std::vector<std::uint64_t> numbers;
        for (auto const& place : promoted)
            if (place.store == subscription.store)
                numbers.push_back(place.number);
        if (!numbers.empty())
            turns.emplace_back(subscription.notify, std::move(numbers));
    }
    lock.unlock();
    for (auto const& [notify, numbers] : turns)
        notify({WatchEvent::our_turn, numbers});
    for (auto const& [notify, event] : notifications)
        notify(event);
}

namespace
{

constexpr std::size_t most_stores = 1024;
constexpr std::chrono::seconds lifetime{60};

} // namespace

std::map<Lines::Key, Lines::Line>::iterator Lines::find(KeyRange const& range, Instant now)
{
    auto const found = lines_.find({range.prefix, range.numbered});
    if (found == lines_.end() || found->second.lapses > now)
        return found;
    lines_.erase(found);
    return lines_.end();
}

void Lines::join(KeyRange const& range, StoreName store, bool in_front, Instant now)
{
    auto found = find(range, now);
    if (found == lines_.end())
        found = lines_.try_emplace({range.prefix, range.numbered}).first;
    auto& [stores, lapses] = found->second;
    lapses = now + lifetime;
    if (stores.size() >= most_stores || std::ranges::find(stores, store) != stores.end())
        return;
    if (in_front)
        stores.push_front(store);
    else
        stores.push_back(store);
}

void Lines::sweep(Instant now)
{
    std::erase_if(lines_, [now](auto const& line) { return line.second.lapses <= now; });
}

void Lines::leave(KeyRange const& range, StoreName store)
{
    auto const found = lines_.find({range.prefix, range.numbered});
    if (found == lines_.end())
        return;
    std::erase(found->second.stores, store);
    if (found->second.stores.empty())
        lines_.erase(found);
}

std::vector<StoreName> Lines::name_first(KeyRange const& range, std::size_t count, Instant now)
{
    auto const found = find(range, now);
    if (found == lines_.end())
        return {};
    auto& stores = found->second.stores;
    auto const end = stores.begin() + static_cast<std::ptrdiff_t>(std::min(count, stores.size()));
    std::vector<StoreName> named(stores.begin(), end);
    stores.erase(stores.begin(), end);
    if (stores.empty())
        lines_.erase(found);
    return named;
}

} // namespace tenure::memory
