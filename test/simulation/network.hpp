// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"
#include "plan.hpp"

#include <array>
#include <cstdint>

namespace tenure::simulation
{

class World;

/** How things stand between the processes and the store; the layers differ in what travels there. */
class Network : public Receiver
{
public:
    explicit Network(World& world) noexcept
        : world_(world)
    {
    }

    virtual void begin(std::uint64_t seed, Noise const& noise);

    /** A process can be connected right now. */
    [[nodiscard]] bool reachable(ProcessId process) const noexcept;

    /** Something is wrong right now on the way of this process. */
    [[nodiscard]] virtual bool troubled(ProcessId process) const noexcept { return slow_ || !reachable(process); }

    [[nodiscard]] Ns delay();
    /// when messages were last lost, late, refused or repeated on the way of this process
    [[nodiscard]] Ns last_trouble(ProcessId process) const noexcept { return paths_[process].last_trouble; }
    void trouble(ProcessId process) noexcept;

    // -- what happens to it --
    struct Path {
        bool mute = false;
        bool deaf = false;
        Ns last_trouble = 0;
    };
    /** From now on messages to the store (mute) and from it (deaf) vanish or pass. */
    virtual void set_path(ProcessId process, bool mute, bool deaf);
    [[nodiscard]] Path const& path(ProcessId process) const noexcept { return paths_[process]; }
    /** The store is paused: what arrives waits. Or it is unavailable: what arrives is lost. */
    virtual void store_stops(bool away);
    virtual void store_goes_on();
    void slow(bool is) noexcept;
    /** Ends the random noise. */
    virtual void calm_down() noexcept;
    /** A fault that only this layer knows. */
    virtual void strike(Fault const&) {}

protected:
    [[nodiscard]] World& world() const noexcept { return world_; }
    /** It happens to the next message, and is the network's noise. */
    [[nodiscard]] bool loses_one() noexcept { return noise_.drop > 0 && random_.chance(noise_.drop); }

    Random random_;
    Noise noise_;
    bool paused_ = false;
    bool away_ = false;

private:
    World& world_;
    bool slow_ = false;
    std::array<Path, most_processes> paths_{};
};

/// a longer delay counts as trouble
constexpr Ns ordinary_delay = 100 * millisecond;

} // namespace tenure::simulation
