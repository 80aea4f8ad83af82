// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server.hpp"

#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

void Server::begin(Settings const& settings, LocalClock clock)
{
    clock_ = clock;
    slots_ = settings.slots;
    keys_ = {};
    versions_ = {};
    refuses = false;
    last_trouble = 0;
}

Ns Server::now() const noexcept
{
    return clock_.at(world_.now());
}

Ns Server::expires_at(KeyId id) const noexcept
{
    return clock_.world_at(keys_[id].expires);
}

std::uint8_t Server::count_of(RangeId range) const noexcept
{
    return range == RangeId::slots ? static_cast<std::uint8_t>(slots_) : std::uint8_t{1};
}

std::uint64_t Server::next_token(Key& key, KeyId id)
{
    auto const micros = static_cast<std::uint64_t>(now() / microsecond);
    key.fence = world_.mutants.fence_by_increment ? key.fence + 1 : std::max(key.fence + 1, micros);
    world_.checker.granted(id, key.fence);
    return key.fence;
}

void Server::extend(Message& message, KeyId id, bool late)
{
    auto& key = keys_[id];
    auto const expires = now() + message.ttl;
    // a copy comes from a network that repeats what was answered, which TCP never does: it must not shorten anything
    if (message.copy && expires < key.expires)
        return;
    key.expires = expires;
    key.written = world_.now();
    key.late = key.late && late;
    world_.checker.holds_again(id, key.owner);
    changed(id);
}

void Server::grant(Message& message, std::uint8_t index, bool late)
{
    auto const id = key_of(message.range, index);
    auto& key = keys_[id];
    key.owner = message.owner;
    key.process = message.from;
    key.life = message.life;
    key.late = late;
    key.expires = 0;
    key.token = message.fencing ? next_token(key, id) : 0;
    extend(message, id, late);
    message.answer = Message::Answer::granted;
    message.index = index;
    message.token = key.token;
}

void Server::claim(Message& message, bool late)
{
    auto const count = count_of(message.range);
    // like SET NX GET, which shows an own claim and leaves its ttl alone; the scripts search only when they are told to
    bool const plain = message.range == RangeId::plain;
    for (std::uint8_t index = 0; index < count && (plain || message.search_own); ++index) {
        auto const id = key_of(message.range, index);
        if (keys_[id].owner != message.owner || !held(id))
            continue;
        message.not_extended = plain;
        if (!plain)
            extend(message, id, late);
        message.answer = Message::Answer::granted;
        message.index = index;
        message.token = keys_[id].token;
        return;
    }
    message.answer = Message::Answer::busy;
    message.earliest_expiry = Scheduler::end_of_time;
    for (std::uint8_t index = 0; index < count; ++index) {
        auto const id = key_of(message.range, index);
        if (!held(id)) {
            grant(message, index, late);
            return;
        }
        message.earliest_expiry = std::min(message.earliest_expiry, keys_[id].expires - now());
    }
}

bool Server::free(KeyId id, OwnerId owner, bool wake_ups)
{
    auto& key = keys_[id];
    if (!held(id))
        return false;
    if (key.owner != owner) {
        if (!world_.mutants.release_without_compare)
            return false;
        world_.checker.freed(id, owner);
    }
    key.owner = 0;
    changed(id);
    if (wake_ups)
        world_.network.publish(range_of(id));
    return true;
}

void Server::execute(Message& message, bool late)
{
    using Answer = Message::Answer;
    if (refuses) {
        message.answer = Answer::refused;
        return;
    }
    auto const id = key_of(message.range, message.index);
    switch (message.kind) {
    case Message::Kind::claim:
        claim(message, late);
        break;
    case Message::Kind::renew:
        message.answer = held(id) && keys_[id].owner == message.owner ? Answer::renewed : Answer::not_owner;
        if (message.answer == Answer::renewed)
            extend(message, id, late);
        // it was on its way when the release began, and came after it: the key lapses by its ttl
        if (world_.checker.released(message.owner))
            keys_[id].late = true;
        break;
    case Message::Kind::release:
        message.answer = free(id, message.owner, message.wake_ups) ? Answer::released : Answer::not_owner;
        break;
    case Message::Kind::withdraw:
        message.answer = Answer::released;
        for (std::uint8_t index = 0; index < count_of(message.range); ++index)
            if (auto const key = key_of(message.range, index); keys_[key].owner == message.owner)
                free(key, message.owner, message.wake_ups);
        break;
    }
    world_.chronicle.write(
        Note::executes, message.from, key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.answer), static_cast<std::uint8_t>(message.kind));
}

void Server::lose_everything()
{
    for (KeyId id = 0; id < key_count; ++id) {
        if (keys_[id].owner != 0)
            world_.checker.robbed(id, keys_[id].owner);
        keys_[id] = {};
        changed(id);
        world_.checker.fence_lost(id, now() / microsecond);
    }
}

void Server::go_back_to(Keys const& earlier, Ns clock_differs_by)
{
    clock_.jump(clock_differs_by);
    world_.checker.clock_jumped(now() / microsecond);
    for (KeyId id = 0; id < key_count; ++id) {
        auto const present = keys_[id];
        auto& key = keys_[id];
        key = earlier[id];
        if (present.owner != 0 && (key.owner != present.owner || key.expires < present.expires || clock_differs_by > 0))
            world_.checker.robbed(id, present.owner);
        key.late = key.late || present.late || key.owner != present.owner || clock_differs_by < 0;
        changed(id);
        if (key.fence != present.fence)
            world_.checker.fence_lost(id, now() / microsecond);
    }
}

void Server::jump(Ns by)
{
    clock_.jump(by);
    world_.checker.clock_jumped(now() / microsecond);
    for (KeyId id = 0; id < key_count; ++id) {
        if (by > 0 && keys_[id].owner != 0)
            world_.checker.robbed(id, keys_[id].owner);
        // it is held longer than anybody asked for
        keys_[id].late = keys_[id].late || by < 0;
        changed(id);
    }
}

void Server::overwrite(KeyId id, OwnerId thief, Ns ttl)
{
    auto& key = keys_[id];
    if (key.owner != 0)
        world_.checker.robbed(id, key.owner);
    key.owner = thief;
    key.expires = now() + ttl;
    key.process = no_process;
    key.written = world_.now();
    key.late = false;
    changed(id);
}

void Server::remove(KeyId id)
{
    if (keys_[id].owner != 0)
        world_.checker.robbed(id, keys_[id].owner);
    keys_[id].owner = 0;
    changed(id);
}

} // namespace tenure::simulation
