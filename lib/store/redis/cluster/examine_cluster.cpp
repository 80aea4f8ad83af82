// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Examination of all masters of a cluster.
#include "operations.hpp"

#include "cluster.hpp"
#include "open_slots.hpp"

#include "store/redis/server_context.hpp"
#include "store/redis/wire/server_error.hpp"

#include <store/gather.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

// size of the reply of a thousand nodes
constexpr std::size_t nodes_reply_bytes = std::size_t{1} * 1024 * 1024;

void add(Findings& all, ServerAddress const& master, Findings findings)
{
    for (auto& finding : findings) {
        // a node of a cluster is expected here
        if (finding.subject == "role" && finding.observed == "a node of a cluster")
            continue;
        finding.observed = to_string(master) + ": " + finding.observed;
        all.push_back(std::move(finding));
    }
}

/** An open slot is served by its master, and yet new claims on its keys are refused. */
void add_open_slots(Findings& all, ServerAddress const& master, Outcome const& outcome)
{
    // without an answer the other part says that the master is unreachable
    if (outcome.succeeded() && outcome.reply.is_string())
        all.push_back(judge_open_slots(read_open_slots(outcome.reply.as_string()), master));
    else if (outcome.delivery == Delivery::answered)
        all.push_back(
            {Finding::Severity::unverified, "hash slots",
             to_string(master) + ": may not be asked (CLUSTER NODES: " + classify(outcome.reply.as_string()).words +
                 ")",
             "an open hash slot refuses new claims: grant +cluster|nodes, or see redis-cli --cluster check"});
}

Finding judge_coverage(SlotMap const& map)
{
    auto const covered = std::to_string(map.covered()) + " of 16384 hash slots are served by " +
                         std::to_string(map.masters().size()) + " masters";
    if (map.covered() == hash_slot_count)
        return {Finding::Severity::ok, "cluster", covered, ""};
    return {
        Finding::Severity::error, "cluster", covered,
        "leases on keys of the other slots cannot be acquired or renewed: bring their masters back"};
}

} // namespace

store::Request<bool> find_map(std::shared_ptr<Cluster> cluster, Deadline not_after)
{
    auto& topology = cluster->topology();
    auto const& failure = topology.failure();
    for (bool asked = false; !topology.known(); asked = true) {
        bool const is_over = cluster->closed() || not_after.over(cluster->runtime()->now());
        if (is_over || (asked && (failure.fatal || (failure.error && not_after.one_attempt()))))
            co_return false;
        topology.refresh();
        store::Step<std::monostate> change([&](OneShot<void(std::monostate&&)> handler) {
            cluster->wait(not_after, true, [handler = std::move(handler)]() mutable { handler({}); });
        });
        co_await change;
    }
    co_return true;
}

store::Request<Findings> examine_cluster(
    std::shared_ptr<Cluster> cluster, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after)
{
    Findings findings;
    std::vector<ServerAddress> masters;
    auto mapped = store::as_step(find_map(cluster, not_after));
    if (bool const known = co_await mapped; known) {
        masters = cluster->topology().map().masters();
        findings.push_back(judge_coverage(cluster->topology().map()));
    } else {
        auto const& detail = cluster->topology().failure().detail;
        findings.push_back(
            {Finding::Severity::error, "cluster", detail.empty() ? "no node told who serves which hash slot" : detail,
             "no lease can be acquired or renewed until this is fixed: check addresses, user, password and "
             "permissions"});
    }
    auto examination = store::gather(*cluster->runtime(), Instant::max(), [&](auto const& reply_to) {
        for (auto const& address : masters) {
            auto& node = cluster->nodes().at(address);
            node.used = not_after.at();
            auto const server = std::make_shared<ServerContext>(
                cluster->runtime(), node.channel, ServerSettings{cluster->name() + " at " + to_string(address)});
            examine(server, settings, ttl, not_after).start(reply_to([&](Findings&& found) {
                add(findings, address, std::move(found));
            }));
            resp::Command question("CLUSTER", "NODES");
            question.expect_reply_bytes(nodes_reply_bytes);
            node.channel->execute(std::move(question), not_after, reply_to([&](Outcome const& outcome) {
                                      add_open_slots(findings, address, outcome);
                                  }));
        }
    });
    co_await examination;
    co_return std::move(findings);
}

} // namespace tenure::redis
