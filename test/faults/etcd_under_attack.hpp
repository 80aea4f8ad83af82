// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "consensus_under_attack.hpp"

#include "harness/etcd_server.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A cluster of three etcds. Faults of a follower must cost no lease, and no fault may
 * let two hold a key: the store forgets nothing. */
class EtcdUnderAttack final : public ConsensusUnderAttack
{
public:
    explicit EtcdUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    [[nodiscard]] std::size_t leader() override { return cluster_.leader(); }
    void pause(std::size_t member) override { cluster_.server(member).pause(); }
    void resume(std::size_t member) override { cluster_.server(member).resume(); }
    void kill(std::size_t member) override { cluster_.server(member).kill(); }
    void start(std::size_t member) override { cluster_.server(member).start_without_waiting(); }
    void await_whole(Attack&) override { static_cast<void>(cluster_.leader()); }
    bool move_leader(Attack& attack);
    bool compact(Attack& attack);
    bool rob(Attack& attack, bool only_delete);
    /** From the first member that answers. */
    [[nodiscard]] std::string ask(std::string const& path, std::string const& body);
    [[nodiscard]] std::optional<std::int64_t> expiry_of(std::int64_t lease);

    test::EtcdCluster cluster_{3};
    /// the member that answered last
    std::size_t asked_ = 0;
    /// which cell's expiry is looked at next
    std::uint32_t looked_at_ = 0;
};

} // namespace tenure::faults
