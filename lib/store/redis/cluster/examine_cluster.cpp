// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "examine_cluster.hpp"

#include "store/redis/diagnose/examine.hpp"
#include "store/redis/node.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

class ClusterExamination : public std::enable_shared_from_this<ClusterExamination>
{
public:
    ClusterExamination(
        std::shared_ptr<Cluster> cluster, ExamineSettings settings, std::chrono::milliseconds ttl, Deadline not_after,
        ReplyHandler<Findings> handler)
        : cluster_(std::move(cluster))
        , settings_(std::move(settings))
        , ttl_(ttl)
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
    }

    void start()
    {
        auto& topology = cluster_->topology();
        auto const& failure = topology.failure();
        bool const is_over = cluster_->closed() || not_after_.over(cluster_->runtime()->now());
        if (topology.known()) {
            look_at_nodes();
        } else if (is_over || (asked_ && (failure.fatal || (failure.error && not_after_.one_attempt())))) {
            findings_.push_back(
                {Finding::Severity::error, "cluster",
                 failure.detail.empty() ? "no node told who serves which hash slot" : failure.detail,
                 "nothing works before this is mended: check addresses, user, password and permissions"});
            cluster_->runtime()->post([self = shared_from_this()] { self->finish(); });
        } else {
            asked_ = true;
            topology.refresh();
            cluster_->wait(not_after_, true, [self = shared_from_this()] { self->start(); });
        }
    }

private:
    void look_at_nodes()
    {
        auto const& map = cluster_->topology().map();
        auto const masters = map.masters();
        auto const covered = std::to_string(map.covered()) + " of 16384 hash slots are served by " +
                             std::to_string(masters.size()) + " masters";
        if (map.covered() == hash_slot_count)
            findings_.push_back({Finding::Severity::ok, "cluster", covered, ""});
        else
            findings_.push_back(
                {Finding::Severity::error, "cluster", covered,
                 "leases on keys of the other slots cannot be had or renewed: bring their masters back"});
        under_way_ = masters.size();
        for (auto const& address : masters) {
            auto& member = cluster_->members().at(address);
            member.used = not_after_.at();
            auto const node = std::make_shared<Node>(
                cluster_->runtime(), member.route, NodeSettings{cluster_->name() + " at " + to_string(address)});
            examine(node, settings_, ttl_, not_after_, [self = shared_from_this(), address](Findings findings) {
                self->looked(address, std::move(findings));
            });
        }
        if (masters.empty())
            cluster_->runtime()->post([self = shared_from_this()] { self->finish(); });
    }

    void looked(ServerAddress const& address, Findings findings)
    {
        for (auto& finding : findings) {
            // that it is a node of a cluster is what was asked for
            if (finding.subject == "role" && finding.observed == "a node of a cluster")
                continue;
            finding.observed = to_string(address) + ": " + finding.observed;
            findings_.push_back(std::move(finding));
        }
        if (--under_way_ == 0)
            finish();
    }

    void finish() { std::move(handler_)(std::move(findings_)); }

    std::shared_ptr<Cluster> cluster_;
    ExamineSettings settings_;
    std::chrono::milliseconds ttl_;
    Deadline not_after_;
    ReplyHandler<Findings> handler_;
    Findings findings_;
    std::size_t under_way_ = 0;
    bool asked_ = false;
};

} // namespace

void examine_cluster(
    std::shared_ptr<Cluster> const& cluster, ExamineSettings settings, std::chrono::milliseconds ttl,
    Deadline not_after, ReplyHandler<Findings> handler)
{
    std::make_shared<ClusterExamination>(cluster, std::move(settings), ttl, not_after, std::move(handler))->start();
}

} // namespace tenure::redis
