// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "model.hpp"
#include "server.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace tenure::simulation
{

/** Carries requests to the store and answers back: each with a delay of its own, so that they overtake each other, and
 *  some of them not at all, or twice. */
class Network : public Receiver
{
public:
    explicit Network(World& world) noexcept
        : world_(world)
    {
    }

    void begin(std::uint64_t seed, Noise const& noise);

    void send(Message const& message);

    /** Tells all who have subscribed to the range that one of its keys was released. */
    void publish(RangeId range);

    /** A process can be connected right now. */
    [[nodiscard]] bool reachable(ProcessId process) const noexcept;

    /** Something is wrong right now on the way of this process. */
    [[nodiscard]] bool troubled(ProcessId process) const noexcept { return slow_ || !reachable(process); }

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
    [[nodiscard]] Path& path(ProcessId process) noexcept { return paths_[process]; }
    /** The store stands still: what arrives waits. Or it is away: what arrives is lost. */
    void store_stops(bool away);
    void store_goes_on();
    void slow(bool is) noexcept { slow_ = is; }
    /** No noise any more. */
    void calm_down() noexcept;

    void on_event(std::uint32_t what, std::uint64_t value) override;

private:
    enum What : std::uint32_t { at_store, back, hint };

    [[nodiscard]] std::uint32_t keep(Message const& message);
    void lose(Message const& message);
    void arrive_at_store(std::uint32_t slot);
    void arrive_back(std::uint32_t slot);
    void drop_slot(std::uint32_t slot) { unused_.push_back(slot); }

    World& world_;
    Random random_;
    Noise noise_;
    bool slow_ = false;
    bool paused_ = false;
    bool away_ = false;
    std::array<Path, most_processes> paths_{};
    /// messages under way
    std::vector<Message> messages_;
    std::vector<std::uint32_t> unused_;
    /// what has arrived at a store that stands still
    std::vector<std::uint32_t> waiting_;
};

} // namespace tenure::simulation
