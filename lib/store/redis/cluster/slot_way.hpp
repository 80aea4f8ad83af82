// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster.hpp"
#include "hash_slot.hpp"
#include "redirect.hpp"

#include "store/redis/link/way.hpp"

#include <memory>
#include <string>

namespace tenure::redis
{

/** The way to whichever node serves one hash slot. Redirects are followed here, so that nobody above has to know of
 *  them; a command whose node cannot be reached is held back, not written, until `not_after` or until another node
 *  serves the slot. All keys of a command must be of this slot. */
class SlotWay final : public Way, public std::enable_shared_from_this<SlotWay>
{
public:
    SlotWay(std::shared_ptr<Cluster> cluster, HashSlot slot, Migration migration);

    void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) override;
    [[nodiscard]] bool ready() override;
    [[nodiscard]] std::string last_error() const override;
    [[nodiscard]] ServerInfo const& server() const noexcept override;
    [[nodiscard]] std::uint64_t generation() const noexcept override;
    void note_ttl(std::chrono::milliseconds ttl) noexcept override;
    void reconnect() override { cluster_->topology().refresh(); }
    void distrust(std::string_view what) override;
    [[nodiscard]] std::string place() const override;

    /** The node that serves the slot was connected and is not any more; asking starts to look for it. */
    [[nodiscard]] bool is_lost();

private:
    class Request;

    [[nodiscard]] Member* member() const noexcept;

    std::shared_ptr<Cluster> cluster_;
    HashSlot slot_;
    Migration migration_;
    /// who answered last
    ServerAddress answered_by_;
    /// the longest ttl noted, for nodes that serve the slot later
    std::chrono::milliseconds longest_ttl_{};
};

} // namespace tenure::redis
