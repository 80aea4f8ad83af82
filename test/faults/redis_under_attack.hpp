// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "store_under_attack.hpp"
#include "wall_clock.hpp"

#include "harness/redis_client.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** One Redis server with an append-only file, reached through three proxies, with a wall clock of its own. */
class RedisUnderAttack final : public StoreUnderAttack
{
public:
    explicit RedisUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t now) const override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    // redis_disturbances.cpp: what is done to the server and what is in it
    [[nodiscard]] std::vector<Disturbance> server_disturbances();
    [[nodiscard]] std::vector<Disturbance> memory_disturbances();
    [[nodiscard]] std::vector<Disturbance> command_disturbances();
    bool stop(Attack& attack, bool briefly);
    bool restart(Attack& attack, bool with_data);
    bool forget_all(Attack& attack);
    bool run_out_of_memory(Attack& attack);
    bool fail_to_save(Attack& attack);
    bool jump(Attack& attack);
    bool overwrite(Attack& attack, bool only_delete);
    /** A person deletes a key that is held in places, or one of its places. */
    bool delete_places(Attack& attack, bool only_one);
    /** After a jump back the last tokens lie in the future of the server's clock: a fence that is lost then is the
     * documented exception to their order, and no subject here. */
    [[nodiscard]] bool tokens_are_ahead() const;

    Arena arena_;
    test::ScratchDirectory directory_;
    WallClock clock_;
    test::RedisServer server_;
    Network network_;
    /// of `look`; unset while there is no connection
    std::optional<test::RedisClient> looking_;
    /// when the wall clock jumped back last, in ns of CLOCK_BOOTTIME; 0: never
    std::atomic<std::int64_t> jumped_back_ = 0;
};

} // namespace tenure::faults
