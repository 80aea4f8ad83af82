// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "byte_network.hpp"

#include "../access.hpp"
#include "../message.hpp"

#include <tenure/stores/redis.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

class Process;
class World;

/** One process's Redis store: the backend and the connections that ship, over streams of the simulation. It also keeps
 *  book of what the engine asks the backend and is told, for the checker. */
class RedisAccess final : public Access
{
public:
    RedisAccess(World& world, ByteNetwork& network, Process& process, RedisConfig const& config) noexcept;

    void begin(std::uint64_t seed) override;
    [[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime) override;
    void clear() noexcept override;
    [[nodiscard]] bool idle() const noexcept override;
    void cut() override;
    [[nodiscard]] bool asking(OwnerId owner) const noexcept override;
    [[nodiscard]] bool claiming(RangeId range) const noexcept override;
    [[nodiscard]] unsigned claims_of(OwnerId owner) const noexcept override;
    [[nodiscard]] bool listens(RangeId range) const noexcept override;

    // -- for the backend --

    /** Notes a request; the number names it until it has ended. */
    [[nodiscard]] std::uint64_t asks(Message message);
    /** The answer of a request, before the engine has it; false: a life that is over asked. */
    template <class Reply>
    [[nodiscard]] bool ended(std::uint64_t number, Reply const& reply);
    void watched(RangeId range, int more) noexcept { watches_[static_cast<std::size_t>(range)] += more; }
    void heard(RangeId range, WatchEvent event);
    void leaves_line(RangeId range);

private:
    struct Asked {
        std::uint64_t number = 0;
        Message message;
    };

    World& world_;
    ByteNetwork& network_;
    Process& process_;
    RedisConfig const& config_;
    std::uint64_t last_number_ = 0;
    std::vector<Asked> asked_;
    std::array<int, range_count> watches_{};
    std::array<bool, range_count> in_force_{};
};

} // namespace tenure::simulation
