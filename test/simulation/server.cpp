// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server.hpp"

#include "message_network.hpp"
#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

std::uint64_t Server::next_token(Key& key, KeyId id)
{
    auto const micros = static_cast<std::uint64_t>(now() / microsecond);
    key.fence = world().mutants.fence_by_increment ? key.fence + 1 : std::max(key.fence + 1, micros);
    world().checker.granted(id, key.fence);
    return key.fence;
}

void Server::extend(Message& message, KeyId id, bool late)
{
    auto const expires = now() + message.ttl + message.reuse_after;
    // a copy comes from a network that repeats what was answered, which TCP never does: it must not shorten anything
    if (message.copy && expires < keys_[id].expires)
        return;
    extended(id, expires, late);
}

void Server::grant(Message& message, std::uint8_t index, bool late)
{
    auto const id = key_of(message.range, index);
    auto& key = taken(id, message.owner, message.from, message.life, late);
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

bool Server::free(KeyId id, Message const& message)
{
    if (!held(id))
        return false;
    if (keys_[id].owner != message.owner) {
        if (!world().mutants.release_without_compare)
            return false;
        world().checker.freed(id, message.owner);
    }
    if (message.reuse_after > 0)
        rests(id, now() + message.reuse_after);
    else
        freed(id);
    if (message.wake_ups)
        network_.publish(range_of(id));
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
        if (world().checker.released(message.owner))
            keys_[id].late = true;
        break;
    case Message::Kind::release:
        message.answer = free(id, message) ? Answer::released : Answer::not_owner;
        break;
    case Message::Kind::withdraw:
        message.answer = Answer::released;
        for (std::uint8_t index = 0; index < count_of(message.range); ++index)
            if (auto const key = key_of(message.range, index); keys_[key].owner == message.owner)
                free(key, message);
        break;
    }
    world().chronicle.write(
        Note::executes, message.from, key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.answer), static_cast<std::uint8_t>(message.kind));
}

} // namespace tenure::simulation
