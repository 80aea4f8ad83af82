// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "network.hpp"

#include "world.hpp"

#include <utility>

namespace tenure::simulation
{

namespace
{

/// what takes longer counts as trouble
constexpr Ns ordinary_delay = 100 * millisecond;

} // namespace

void Network::begin(std::uint64_t seed, Noise const& noise)
{
    random_ = Random(seed, 3);
    noise_ = noise;
    slow_ = paused_ = away_ = false;
    paths_ = {};
    messages_.clear();
    unused_.clear();
    waiting_.clear();
}

void Network::calm_down() noexcept
{
    noise_.drop = 0;
    noise_.repeat = 0;
}

void Network::trouble(ProcessId process) noexcept
{
    paths_[process].last_trouble = world_.now();
}

Ns Network::delay()
{
    auto const usual = random_.between(noise_.shortest_delay, noise_.longest_delay);
    return slow_ ? usual + random_.between(0, 1500 * millisecond) : usual;
}

std::uint32_t Network::keep(Message const& message)
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

void Network::lose(Message const& message)
{
    trouble(message.from);
    world_.chronicle.write(
        Note::dropped, message.from, key_of(message.range, message.index), message.owner, 0,
        static_cast<std::uint8_t>(message.kind));
    if (!message.copy)
        world_.process(message.from).link().will_stay_unanswered(message.link, message.request);
}

void Network::send(Message const& message)
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
        world_.chronicle.write(Note::repeated, message.from, key_of(message.range, message.index), message.owner);
        world_.scheduler.at(world_.now() + wait + random_.between(0, 500 * millisecond), *this, at_store, keep(copy));
    }
    if (paths_[message.from].mute || (noise_.drop > 0 && random_.chance(noise_.drop))) {
        lose(message);
        return;
    }
    world_.scheduler.at(world_.now() + wait, *this, at_store, keep(message));
}

void Network::publish(RangeId range)
{
    for (ProcessId process = 0; process < world_.process_count(); ++process)
        if (world_.process(process).link().subscribed(range)) {
            if (paths_[process].deaf || away_)
                trouble(process);
            else
                world_.scheduler.at(
                    world_.now() + delay(), *this, hint,
                    (std::uint64_t{process} << 8U) | static_cast<std::uint64_t>(range));
        }
}

bool Network::reachable(ProcessId process) const noexcept
{
    return !away_ && !paused_ && !paths_[process].mute && !paths_[process].deaf;
}

void Network::store_stops(bool away)
{
    (away ? away_ : paused_) = true;
    world_.server.last_trouble = world_.now();
}

void Network::store_goes_on()
{
    paused_ = away_ = false;
    world_.server.last_trouble = world_.now();
    for (auto const slot : std::exchange(waiting_, {}))
        arrive_at_store(slot);
}

void Network::arrive_at_store(std::uint32_t slot)
{
    if (paused_) {
        waiting_.push_back(slot);
        auto const& message = messages_[slot];
        if (!message.copy)
            world_.process(message.from).link().will_stay_unanswered(message.link, message.request);
        return;
    }
    auto& message = messages_[slot];
    auto& link = world_.process(message.from).link();
    bool const late = message.copy || !link.outstanding(message.link, message.request);
    // what a broken connection still held in its buffers may arrive or not
    if (away_ || paths_[message.from].mute || (late && !message.copy && random_.chance(5000))) {
        lose(message);
        drop_slot(slot);
        return;
    }
    world_.server.execute(message, late);
    if (message.answer == Message::Answer::refused)
        trouble(message.from);
    if (message.copy) {
        drop_slot(slot);
        return;
    }
    auto const wait = delay();
    if (wait > ordinary_delay)
        trouble(message.from);
    if (paths_[message.from].deaf || (noise_.drop > 0 && random_.chance(noise_.drop))) {
        lose(message);
        drop_slot(slot);
        return;
    }
    world_.scheduler.at(world_.now() + wait, *this, back, slot);
}

void Network::arrive_back(std::uint32_t slot)
{
    auto const message = messages_[slot];
    drop_slot(slot);
    if (paths_[message.from].deaf)
        lose(message);
    else
        world_.process(message.from).link().answered(message);
}

void Network::on_event(std::uint32_t what, std::uint64_t value)
{
    switch (what) {
    case at_store:
        arrive_at_store(static_cast<std::uint32_t>(value));
        break;
    case back:
        arrive_back(static_cast<std::uint32_t>(value));
        break;
    default: {
        auto const process = static_cast<ProcessId>(value >> 8U);
        if (paths_[process].deaf)
            trouble(process);
        else
            world_.process(process).link().hinted(static_cast<RangeId>(value & 0xffU));
    }
    }
}

} // namespace tenure::simulation
