// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "network.hpp"

#include "world.hpp"

namespace tenure::simulation
{

void Network::begin(std::uint64_t seed, Noise const& noise)
{
    random_ = Random(seed, 3);
    noise_ = noise;
    slow_ = paused_ = away_ = false;
    paths_ = {};
}

void Network::calm_down() noexcept
{
    noise_.drop = 0;
    noise_.repeat = 0;
}

void Network::slow(bool is) noexcept
{
    slow_ = is;
    for (auto& path : paths_)
        path.last_trouble = world_.now();
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

bool Network::reachable(ProcessId process) const noexcept
{
    return !away_ && !paused_ && !paths_[process].mute && !paths_[process].deaf;
}

void Network::set_path(ProcessId process, bool mute, bool deaf)
{
    paths_[process].mute = mute;
    paths_[process].deaf = deaf;
    trouble(process);
}

void Network::store_stops(bool away)
{
    (away ? away_ : paused_) = true;
    world_.store.last_trouble = world_.now();
}

void Network::store_goes_on()
{
    paused_ = away_ = false;
    world_.store.last_trouble = world_.now();
}

} // namespace tenure::simulation
