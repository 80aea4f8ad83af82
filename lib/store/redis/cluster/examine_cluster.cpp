// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Examination of all masters of a cluster.
#include "operations.hpp"

#include "cluster.hpp"
#include "open_slots.hpp"

#include "store/redis/server_context.hpp"
#include "store/redis/wire/server_error.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

// size of the reply of a thousand nodes
constexpr std::size_t nodes_reply_bytes = std::size_t{1} * 1024 * 1024;

struct ClusterExamination {
    std::shared_ptr<Cluster> cluster;
    ExamineSettings settings;
    std::chrono::milliseconds ttl;
    Deadline not_after;
    ReplyHandler<Findings> handler;
    Findings findings = {};
    /// findings that are still to come: two parts of each master
    std::size_t missing = 0;
};
using ExaminationPtr = std::shared_ptr<ClusterExamination>;

void finish_later(ExaminationPtr const& all)
{
    all->cluster->runtime()->post([all] { std::move(all->handler)(std::move(all->findings)); });
}

void add(ClusterExamination& all, ServerAddress const& master, Findings findings)
{
    for (auto& finding : findings) {
        // a node of a cluster is expected here
        if (finding.subject == "role" && finding.observed == "a node of a cluster")
            continue;
        finding.observed = to_string(master) + ": " + finding.observed;
        all.findings.push_back(std::move(finding));
    }
}

void part_done(ClusterExamination& all)
{
    if (--all.missing == 0)
        std::move(all.handler)(std::move(all.findings));
}

/** An open slot is served by its master, and yet new claims on its keys are refused. */
void examine_open_slots(ExaminationPtr const& all, ServerAddress const& address, CommandChannel& channel)
{
    resp::Command question("CLUSTER", "NODES");
    question.expect_reply_bytes(nodes_reply_bytes);
    channel.execute(std::move(question), all->not_after, [all, address](Outcome const& outcome) {
        // without an answer the other part says that the master is unreachable
        if (outcome.succeeded() && outcome.reply.is_string())
            all->findings.push_back(judge_open_slots(read_open_slots(outcome.reply.as_string()), address));
        else if (outcome.delivery == Delivery::answered)
            all->findings.push_back(
                {Finding::Severity::unverified, "hash slots",
                 to_string(address) +
                     ": may not be asked (CLUSTER NODES: " + classify(outcome.reply.as_string()).words + ")",
                 "an open hash slot refuses new claims: grant +cluster|nodes, or see redis-cli --cluster check"});
        part_done(*all);
    });
}

void examine_masters(ExaminationPtr const& all)
{
    auto const& cluster = all->cluster;
    auto const& map = cluster->topology().map();
    auto const masters = map.masters();
    auto const covered = std::to_string(map.covered()) + " of 16384 hash slots are served by " +
                         std::to_string(masters.size()) + " masters";
    if (map.covered() == hash_slot_count)
        all->findings.push_back({Finding::Severity::ok, "cluster", covered, ""});
    else
        all->findings.push_back(
            {Finding::Severity::error, "cluster", covered,
             "leases on keys of the other slots cannot be had or renewed: bring their masters back"});
    all->missing = 2 * masters.size();
    for (auto const& address : masters) {
        auto& node = cluster->nodes().at(address);
        node.used = all->not_after.at();
        auto const server = std::make_shared<ServerContext>(
            cluster->runtime(), node.channel, ServerSettings{cluster->name() + " at " + to_string(address)});
        examine(server, all->settings, all->ttl, all->not_after, [all, address](Findings findings) {
            add(*all, address, std::move(findings));
            part_done(*all);
        });
        examine_open_slots(all, address, *node.channel);
    }
    if (masters.empty())
        finish_later(all);
}

/** @param asked  a refresh of the map was requested */
void examine_when_mapped(ExaminationPtr const& all, bool asked)
{
    auto& topology = all->cluster->topology();
    auto const& failure = topology.failure();
    bool const is_over = all->cluster->closed() || all->not_after.over(all->cluster->runtime()->now());
    if (topology.known()) {
        examine_masters(all);
    } else if (is_over || (asked && (failure.fatal || (failure.error && all->not_after.one_attempt())))) {
        all->findings.push_back(
            {Finding::Severity::error, "cluster",
             failure.detail.empty() ? "no node told who serves which hash slot" : failure.detail,
             "nothing works before this is mended: check addresses, user, password and permissions"});
        finish_later(all);
    } else {
        topology.refresh();
        all->cluster->wait(all->not_after, true, [all] { examine_when_mapped(all, true); });
    }
}

} // namespace

void examine_cluster(
    std::shared_ptr<Cluster> const& cluster, ExamineSettings settings, std::chrono::milliseconds ttl,
    Deadline not_after, ReplyHandler<Findings> handler)
{
    examine_when_mapped(
        std::make_shared<ClusterExamination>(
            cluster, std::move(settings), ttl, std::move(not_after), std::move(handler)),
        false);
}

} // namespace tenure::redis
