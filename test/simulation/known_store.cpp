// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "known_store.hpp"

#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

void KnownStore::begin(Settings const& settings, LocalClock clock, std::size_t snapshots)
{
    clock_ = clock;
    slots_ = settings.slots;
    reuse_after_ = settings.reuse_after;
    keys_ = {};
    versions_ = {};
    snapshots_.assign(snapshots, {});
    refuses = false;
    last_trouble = 0;
}

std::string KnownStore::wrong_token(KeyId, OwnerId, std::uint64_t token, std::span<std::uint64_t const> answered) const
{
    return std::ranges::find(answered, token) != answered.end()
               ? ""
               : "the lease's fencing token is not the one that the store gave";
}

Ns KnownStore::now() const noexcept
{
    return clock_.at(world_.now());
}

Ns KnownStore::owned_until(KeyId id) const noexcept
{
    return clock_.world_at(keys_[id].expires - rest_of(id));
}

std::uint8_t KnownStore::count_of(RangeId range) const noexcept
{
    return range == RangeId::slots ? static_cast<std::uint8_t>(slots_) : std::uint8_t{1};
}

KnownStore::Key& KnownStore::taken(KeyId id, OwnerId owner, ProcessId process, std::uint32_t life, bool late)
{
    auto& key = keys_[id];
    key.owner = owner;
    key.process = process;
    key.life = life;
    key.late = late;
    key.taken = world_.now();
    key.expires = 0;
    return key;
}

void KnownStore::extended(KeyId id, Ns expires, bool late)
{
    auto& key = keys_[id];
    key.expires = expires;
    key.written = world_.now();
    key.late = key.late && late;
    // an answer to a request that its sender has given up tells the holder nothing: after a failover that forgot a
    // renewal the key may still expire before the holder believes
    if (!late)
        world_.checker.holds_again(id, key.owner);
    changed(id);
}

void KnownStore::rests(KeyId id, Ns expires)
{
    auto& key = keys_[id];
    world_.checker.rests(id, key.owner);
    key.owner = resting_owner;
    key.kept_after = 0;
    key.expires = expires;
    key.written = world_.now();
    key.late = false;
    changed(id);
}

void KnownStore::kept(KeyId id, Ns expires)
{
    auto const owner = keys_[id].owner;
    rests(id, expires);
    keys_[id].kept_after = owner;
}

void KnownStore::freed(KeyId id)
{
    keys_[id].owner = 0;
    changed(id);
}

void KnownStore::lose_everything()
{
    for (KeyId id = 0; id < key_count; ++id) {
        if (keys_[id].owner != 0)
            world_.checker.robbed(id, keys_[id].owner);
        keys_[id] = {};
        changed(id);
        world_.checker.fence_lost(id, now() / microsecond);
    }
}

void KnownStore::go_back_to(std::uint32_t snapshot, Ns clock_differs_by)
{
    auto const& earlier = snapshots_[snapshot];
    // a key that has expired meanwhile has no owner, and no process relies on it when it returns
    for (KeyId id = 0; id < key_count; ++id)
        if (!held(id))
            keys_[id].owner = 0;
    clock_.jump(clock_differs_by);
    world_.checker.clock_jumped(now() / microsecond);
    for (KeyId id = 0; id < key_count; ++id) {
        auto const present = keys_[id];
        auto& key = keys_[id];
        key = earlier[id];
        if (present.owner != 0 && (key.owner != present.owner || key.expires < present.expires || clock_differs_by > 0))
            world_.checker.robbed(id, present.owner);
        // also where it is back at a ttl that was shortened since
        key.late = key.late || present.late || key.owner != present.owner || key.expires > present.expires ||
                   clock_differs_by < 0;
        changed(id);
        if (key.fence != present.fence)
            world_.checker.fence_lost(id, now() / microsecond);
    }
}

void KnownStore::jump(Ns by)
{
    clock_.jump(by);
    world_.checker.clock_jumped(now() / microsecond);
    for (KeyId id = 0; id < key_count; ++id) {
        if (by > 0 && keys_[id].owner != 0)
            world_.checker.robbed(id, keys_[id].owner);
        // it is held longer than any request asked for
        keys_[id].late = keys_[id].late || by < 0;
        changed(id);
    }
}

void KnownStore::overwrite(KeyId id, std::string_view thief, Ns ttl)
{
    auto& key = keys_[id];
    if (key.owner != 0)
        world_.checker.robbed(id, key.owner);
    key.owner = owner_id(thief);
    key.expires = now() + ttl;
    key.process = no_process;
    key.written = world_.now();
    key.late = false;
    changed(id);
}

void KnownStore::remove(KeyId id)
{
    if (keys_[id].owner != 0)
        world_.checker.robbed(id, keys_[id].owner);
    freed(id);
}

} // namespace tenure::simulation
