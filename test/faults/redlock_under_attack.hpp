// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "redis_look.hpp"
#include "store_under_attack.hpp"
#include "wall_clock.hpp"

#include "harness/redis_client.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** Five independent Redis servers with append-only files, each reached through three proxies, one with a wall clock
 * that can be set. Faults of a minority of them must cost no lease; between two such faults all are whole for a
 * ttl, as Redlock demands. */
class RedlockUnderAttack final : public StoreUnderAttack
{
public:
    explicit RedlockUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    /** None: one server's clock decides nothing. */
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t) const override { return 0; }
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    struct Node {
        explicit Node(test::RedisServerOptions options)
            : server(std::move(options))
            , network(server.port(), 3)
        {
        }

        test::RedisServer server;
        Network network;
        /// of `look`; unset while there is no connection
        std::optional<test::RedisClient> looking;
    };
    using Nodes = std::vector<Node*>;

    [[nodiscard]] Nodes some(Random& random, std::size_t count);
    /** The same disturbance, but a worker that was killed or stopped is waited for first: in the middle of a claim it
     * leaves a few servers taken for a ttl, and what is acquired meanwhile may have a bare majority, which the fault of
     * one more server takes away (docs/integrators/redlock.md). */
    [[nodiscard]] Disturbance undivided(Disturbance disturbance) const;
    /** Lets the servers be whole for long enough before the next fault. */
    void recover(Attack& attack) const;
    bool stop(Attack& attack, std::size_t count, bool briefly);
    bool restart(Attack& attack, std::size_t count, bool with_data);
    bool jump(Attack& attack);
    /** The last tokens came from a clock that was ahead: servers that forgot theirs would stand behind them, which is
     * the documented exception to their order, and no subject here. */
    [[nodiscard]] bool tokens_are_ahead() const;
    [[nodiscard]] Disturbance on_some(std::string name, std::vector<std::string> command);
    [[nodiscard]] Disturbance on_network(std::size_t kind);
    /** The contents of the keys on one server; empty if it does not answer. */
    [[nodiscard]] std::optional<std::vector<KeyContent>> read(Node& node) const;

    Arena arena_;
    test::ScratchDirectory directory_;
    /// the first server's
    WallClock clock_;
    std::vector<std::unique_ptr<Node>> nodes_;
    /// in ns of CLOCK_BOOTTIME
    std::int64_t tokens_ahead_until_ = 0;
};

} // namespace tenure::faults
