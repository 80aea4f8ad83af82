// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Readiness of the servers of a quorum.
#include "operations.hpp"

#include "quorum_request.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::redlock
{

namespace
{

Findings findings_of(Quorum const& quorum, std::vector<Findings>& by_node)
{
    Findings all;
    all.push_back(
        {Finding::Severity::ok, "quorum",
         std::to_string(quorum.majority()) + " of " + std::to_string(quorum.size()) + " servers decide",
         "A lease is safe while fewer than that lose their data or their clock at a time; keep each server on a "
         "machine of its own, and one that lost its data down for the longest ttl"});
    for (std::size_t node = 0; node < by_node.size(); ++node)
        for (auto& finding : by_node[node]) {
            finding.subject = quorum.nodes()[node]->describe() + ": " + finding.subject;
            all.push_back(std::move(finding));
        }
    return all;
}

} // namespace

void ready(QuorumPtr const& quorum, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    auto const conclude = [quorum](Votes<ReadyReply> const& votes) {
        return undecided(*quorum, votes, "not ready", Failure::Effect::refused);
    };
    auto const decide = [quorum, conclude](Votes<ReadyReply> const& votes) -> std::optional<ReadyReply> {
        if (votes.count<Ready>() >= quorum->majority())
            return Ready{};
        auto const fatal = votes.count_if([](ReadyReply const& reply) {
            auto const* const failure = std::get_if<Failure>(&reply);
            return failure != nullptr && failure->fatal;
        });
        if (fatal >= quorum->veto())
            return conclude(votes);
        return std::nullopt;
    };
    auto const limit = not_after.at();
    ask_all(
        quorum, &redis::VoterBackend::ready_to_vote, std::move(not_after), decide, conclude, std::move(handler), limit);
}

store::Request<Findings> examine(QuorumPtr quorum, std::chrono::milliseconds ttl, Deadline not_after)
{
    auto ask = store::all_of<Findings>(quorum->size(), [&](std::size_t node, ReplyHandler<Findings> handler) {
        quorum->nodes()[node]->examine(ttl, not_after, std::move(handler));
    });
    auto by_node = co_await ask;
    co_return findings_of(*quorum, by_node);
}

} // namespace tenure::redlock
