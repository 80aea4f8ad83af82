// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "known_store.hpp"
#include "message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::simulation
{

class MessageNetwork;

/** The store of the engine's own layer, which executes a request in one step, as Redis executes a script. */
class Server final : public KnownStore
{
public:
    Server(World& world, MessageNetwork& network) noexcept
        : KnownStore(world)
        , network_(network)
    {
    }

    void begin(Settings const& settings, LocalClock clock, std::size_t snapshots) override;
    void lose_everything() override;
    void go_back_to(std::uint32_t snapshot, Ns clock_differs_by) override;
    [[nodiscard]] std::vector<Place> line(RangeId range) override
    {
        return lines_[static_cast<std::size_t>(range)].places;
    }

    /** Executes the request, and writes its answer into it. */
    void execute(Message& message, bool late);

private:
    [[nodiscard]] std::uint64_t next_token(Key& key, KeyId id);
    void claim(Message& message, bool late);
    void grant(Message& message, std::uint8_t index, bool late);
    void extend(Message& message, KeyId id, bool late);
    bool free(KeyId id, Message& message);

    struct Line {
        std::vector<Place> places;
        /// on the store's clock; later with each claim that waits
        Ns lapses = 0;
    };
    /** The line, without the stores that have left it. */
    [[nodiscard]] Line& line_of(RangeId range);
    void join_line(Message const& message, bool late);
    void leave_line(Message const& message);
    /** A key of the range was released: names the first of its line, and notifies the watches. */
    void announce(Message& message, KeyId id);

    std::array<Line, range_count> lines_;
    MessageNetwork& network_;
};

} // namespace tenure::simulation
