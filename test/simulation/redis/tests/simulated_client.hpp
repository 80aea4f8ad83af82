// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "simulation/redis/byte_network.hpp"
#include "simulation/redis/server.hpp"
#include "simulation/world.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

using Commands = std::vector<std::vector<std::string>>;

/** As they go over the wire. */
[[nodiscard]] std::string encode(Commands const& commands);

/** The end of the replies to an exchange: the answer to `PING` with this text. */
constexpr std::string_view last_words = "end of the exchange";
[[nodiscard]] std::string answer_to_last_words();

/** The function of scripts that draws the token of a claim. */
constexpr std::string_view draw_text =
    "local function draw(counter) "
    "local token = redis.call('INCR', counter) local time = redis.call('TIME') "
    "local now = time[1] * 1000000 + time[2] "
    "if token < now then token = now redis.call('SET', counter, string.format('%.0f', now)) end "
    "return string.format('%.0f', token) end ";

/** A world in which nothing happens but what the test does to its server, a Redis 7.0.15 without password. */
class QuietWorld
{
public:
    QuietWorld();

    [[nodiscard]] RedisServer& server() { return static_cast<RedisServer&>(world.store); }
    [[nodiscard]] ByteNetwork& network() { return static_cast<ByteNetwork&>(world.network); }
    /** Something happens to process 0, or to the store. */
    void strike(FaultKind kind);

    World world;

private:
    Plan plan_;
};

/** A connection to it, of process 0. */
class SimulatedClient final : private Socket, test::Immovable
{
public:
    explicit SimulatedClient(QuietWorld& world);
    ~SimulatedClient() { world_.network().close(id_); }

    /** The bytes of all replies; as many as came if the connection broke. */
    [[nodiscard]] std::string exchange(Commands const& commands);
    [[nodiscard]] bool broken() const noexcept { return static_cast<bool>(failure_); }

private:
    void dialed(error_code error) override;
    void readable() override {}
    void sent(error_code, std::size_t) override {}
    [[nodiscard]] bool goes_on();

    QuietWorld& world_;
    ConnectionId id_ = 0;
    bool connected_ = false;
    error_code failure_;
};

} // namespace tenure::simulation
