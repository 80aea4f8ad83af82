// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server.hpp"

#include "message_network.hpp"
#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

namespace
{

/// a line without claims for this time is deleted
constexpr Ns lifetime_of_lines = 60 * second;

} // namespace

void Server::begin(Settings const& settings, LocalClock clock, std::size_t snapshots)
{
    KnownStore::begin(settings, clock, snapshots);
    lines_ = {};
}

void Server::lose_everything()
{
    KnownStore::lose_everything();
    lines_ = {};
}

void Server::go_back_to(std::uint32_t snapshot, Ns clock_differs_by)
{
    KnownStore::go_back_to(snapshot, clock_differs_by);
    lines_ = {};
}

Server::Line& Server::line_of(RangeId range)
{
    auto& line = lines_[static_cast<std::size_t>(range)];
    if (line.lapses <= now())
        line.places.clear();
    return line;
}

void Server::join_line(Message const& message, bool late)
{
    auto& line = line_of(message.range);
    line.lapses = now() + lifetime_of_lines;
    auto const is_sender = [&](Place const& one) { return one.process == message.from && one.life == message.life; };
    if (std::ranges::any_of(line.places, is_sender))
        return;
    line.places.insert(
        message.waits == Waits::in_front ? line.places.begin() : line.places.end(),
        {message.from, message.life, world().now(), late});
}

void Server::leave_line(Message const& message)
{
    std::erase_if(line_of(message.range).places, [&](Place const& one) {
        return one.process == message.from && one.life == message.life;
    });
}

void Server::announce(Message& message, KeyId id)
{
    auto& places = line_of(range_of(id)).places;
    // a key in quarantine is not free yet: its waiters learn the time
    if (places.empty() || message.reuse_after > 0) {
        network_.publish(range_of(id), nullptr);
        return;
    }
    auto const first = places.front();
    places.erase(places.begin());
    message.named_another = message.named_another || first.process != message.from || first.life != message.life;
    network_.publish(range_of(id), &first);
}

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
    // and its extension has no holder: a release does not retry for that long
    keys_[id].late = keys_[id].late || message.copy;
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
    if (message.waits != Waits::no)
        leave_line(message);
}

void Server::claim(Message& message, bool late)
{
    auto const first = message.only ? message.index : std::uint8_t{0};
    auto const end = message.only ? static_cast<std::uint8_t>(first + 1) : count_of(message.range);
    // like SET NX GET, which shows an own claim and leaves its ttl alone; the scripts search only when they are told to
    bool const plain = message.range == RangeId::plain;
    for (auto index = first; index < end && (plain || message.search_own); ++index) {
        auto const id = key_of(message.range, index);
        if (keys_[id].owner != message.owner || !held(id))
            continue;
        message.not_extended = plain;
        if (!plain)
            extend(message, id, late);
        message.answer = Message::Answer::granted;
        message.index = index;
        message.token = keys_[id].token;
        if (message.waits != Waits::no)
            leave_line(message);
        return;
    }
    message.answer = Message::Answer::busy;
    message.earliest_expiry = Scheduler::end_of_time;
    for (auto index = first; index < end; ++index) {
        auto const id = key_of(message.range, index);
        if (!held(id)) {
            grant(message, index, late);
            return;
        }
        message.earliest_expiry = std::min(message.earliest_expiry, keys_[id].expires - now());
    }
    if (message.waits != Waits::no)
        join_line(message, late);
}

bool Server::free(KeyId id, Message& message)
{
    if (!held(id))
        return false;
    if (message.keep_for > 0 && resting(id) && keys_[id].kept_after == message.owner)
        return true;
    if (keys_[id].owner != message.owner) {
        if (!world().mutants.release_without_compare)
            return false;
        world().checker.freed(id, message.owner);
    }
    // a key that stays taken is not announced
    if (message.keep_for > 0) {
        kept(id, now() + message.keep_for);
        return true;
    }
    if (message.reuse_after > 0)
        rests(id, now() + message.reuse_after);
    else
        freed(id);
    if (message.notifications)
        announce(message, id);
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
        // it was on its way when the release began, and came after it: the key expires by its ttl
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
    case Message::Kind::leave_line:
        leave_line(message);
        message.answer = Answer::released;
        break;
    }
    world().chronicle.write(
        Note::executes, message.from, key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.answer), static_cast<std::uint8_t>(message.kind));
}

} // namespace tenure::simulation
