// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "message_network.hpp"

#include "link.hpp"
#include "server.hpp"
#include "world.hpp"

#include <utility>

namespace tenure::simulation
{

void MessageNetwork::begin(std::uint64_t seed, Noise const& noise)
{
    Network::begin(seed, noise);
    messages_.clear();
    unused_.clear();
    waiting_.clear();
}

std::uint32_t MessageNetwork::keep(Message const& message)
{
    if (unused_.empty()) {
        messages_.push_back(message);
        return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    auto const slot = unused_.back();
    unused_.pop_back();
    messages_[slot] = message;
    return slot;
}

void MessageNetwork::lose(Message const& message)
{
    trouble(message.from);
    world().chronicle.write(
        Note::dropped, message.from, key_of(message.range, message.index), message.owner, 0,
        static_cast<std::uint8_t>(message.kind));
    if (!message.copy)
        link(message.from).will_stay_unanswered(message.link, message.request);
}

void MessageNetwork::send(Message const& message)
{
    auto wait = delay();
    if (wait > ordinary_delay)
        trouble(message.from);
    // A claim is asked again by the engine alone, which knows of it: one that a network repeats behind its back would
    // make every answer worthless, and TCP does no such thing.
    if (noise_.repeat > 0 && message.kind != Message::Kind::claim && random_.chance(noise_.repeat)) {
        auto copy = message;
        copy.copy = true;
        trouble(message.from);
        world().chronicle.write(Note::repeated, message.from, key_of(message.range, message.index), message.owner);
        world().scheduler.at(world().now() + wait + random_.between(0, 500 * millisecond), *this, at_store, keep(copy));
    }
    if (path(message.from).mute || loses_one()) {
        lose(message);
        return;
    }
    world().scheduler.at(world().now() + wait, *this, at_store, keep(message));
}

void MessageNetwork::publish(RangeId range, KnownStore::Place const* named)
{
    auto const event_for = [&](ProcessId process) {
        if (named == nullptr)
            return WatchEvent::hint;
        bool const is_named = named->process == process && named->life == world().process(process).life();
        return is_named ? WatchEvent::our_turn : WatchEvent::others_turn;
    };
    for (ProcessId process = 0; process < world().process_count(); ++process)
        if (link(process).listens(range)) {
            if (path(process).deaf || away_)
                trouble(process);
            else
                world().scheduler.at(
                    world().now() + delay(), *this, hint,
                    (std::uint64_t{process} << 16U) | (static_cast<std::uint64_t>(event_for(process)) << 8U) |
                        static_cast<std::uint64_t>(range));
        }
}

void MessageNetwork::store_goes_on()
{
    Network::store_goes_on();
    for (auto const slot : std::exchange(waiting_, {}))
        arrive_at_store(slot);
}

void MessageNetwork::arrive_at_store(std::uint32_t slot)
{
    if (paused_) {
        waiting_.push_back(slot);
        auto const& message = messages_[slot];
        if (!message.copy)
            link(message.from).will_stay_unanswered(message.link, message.request);
        return;
    }
    auto& message = messages_[slot];
    auto const& sender = link(message.from);
    bool const late = message.copy || !sender.outstanding(message);
    // bytes in the buffers of a broken connection may arrive or not
    if (away_ || path(message.from).mute || (late && !message.copy && random_.chance(5000))) {
        lose(message);
        drop_slot(slot);
        return;
    }
    server_->execute(message, late);
    if (message.answer == Message::Answer::refused)
        trouble(message.from);
    if (message.copy || message.kind == Message::Kind::leave_line) {
        drop_slot(slot);
        return;
    }
    auto const wait = delay();
    if (wait > ordinary_delay)
        trouble(message.from);
    if (path(message.from).deaf || loses_one()) {
        lose(message);
        drop_slot(slot);
        return;
    }
    world().scheduler.at(world().now() + wait, *this, back, slot);
}

void MessageNetwork::arrive_back(std::uint32_t slot)
{
    auto const message = messages_[slot];
    drop_slot(slot);
    if (path(message.from).deaf)
        lose(message);
    else
        link(message.from).answered(message);
}

void MessageNetwork::on_event(std::uint32_t what, std::uint64_t value)
{
    switch (what) {
    case at_store:
        arrive_at_store(static_cast<std::uint32_t>(value));
        break;
    case back:
        arrive_back(static_cast<std::uint32_t>(value));
        break;
    default: {
        auto const process = static_cast<ProcessId>(value >> 16U);
        if (path(process).deaf)
            trouble(process);
        else
            link(process).hinted(static_cast<RangeId>(value & 0xffU), static_cast<WatchEvent>((value >> 8U) & 0xffU));
    }
    }
}

} // namespace tenure::simulation
