// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Measurements of `tenure doctor` on an etcd cluster.
#include "findings.hpp"
#include "store/etcd/operations.hpp"
#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace tenure::etcd
{

namespace
{

constexpr std::size_t round_trips = 5;
/// no pool or lock uses this key, so a denied read says nothing about their keys
constexpr std::string_view probe_key = "tenure/doctor";
constexpr std::string_view readiness_key = "tenure/ready";

/// a lease that was requested to test the cluster; its failure is a finding
struct Probe {
    Leases::Taken taken;
};

} // namespace

store::Request<Findings> examine(ClusterPtr cluster, std::chrono::milliseconds ttl, Deadline not_after)
{
    Facts facts;
    facts.ttl = std::max(ttl, std::chrono::milliseconds{1000});
    facts.username = cluster->client->config().username;
    // Measures round trips one after the other. The first one opens the connection.
    while (facts.round_trips.size() < round_trips) {
        auto read = send(cluster->client, {"kv/range", range_body({std::string(probe_key), {}}, {1, true}), not_after});
        auto const outcome = co_await read;
        if (outcome.delivery != Delivery::answered) {
            facts.unreachable = outcome.detail.empty() ? outcome.error.message() : outcome.detail;
            co_return judge(facts);
        }
        if (!outcome.good()) {
            auto const error = classify(outcome.status, outcome.body);
            if (error.error != errc::permission_denied) {
                facts.refused = error.text();
                break;
            }
        }
        facts.round_trips.push_back(cluster->runtime().now() - outcome.since);
    }

    auto ask_status = send(cluster->client, {"maintenance/status", "{}", not_after});
    auto const status_outcome = co_await ask_status;
    if (auto const status = status_outcome.good() ? parse_status(status_outcome.body) : std::nullopt) {
        facts.version = status->version;
        facts.leader = status->leader;
        facts.raft_term = status->header.raft_term;
    }
    auto ask_members = send(cluster->client, {"cluster/member/list", "{}", not_after});
    auto const members = co_await ask_members;
    if (members.good())
        facts.members = parse_members(members.body);
    auto ask_alarms = send(cluster->client, {"maintenance/alarm", "{\"action\":\"GET\"}", not_after});
    auto const alarms = co_await ask_alarms;
    if (alarms.good())
        facts.alarms = parse_alarms(alarms.body);

    store::Step<Probe> probe([&](OneShot<void(Probe&&)> handler) {
        Leases::grant(cluster->leases, facts.ttl, not_after, {})
            .start([handler = std::move(handler)](Leases::Taken taken) mutable { handler(Probe{std::move(taken)}); });
    });
    auto const granted = co_await probe;
    if (auto const* const lease = std::get_if<LeasePtr>(&granted.taken)) {
        facts.granted_ttl = (*lease)->granted;
        cluster->leases->discard(*lease);
    } else {
        auto const& failure = std::get<Failure>(granted.taken);
        facts.grant_refused = failure.effect == Failure::Effect::refused ? failure.detail : "no answer";
    }
    co_return judge(facts);
}

store::Request<ReadyReply> ready(ClusterPtr cluster, Deadline not_after)
{
    auto read = send(cluster->client, {"kv/range", range_body({std::string(readiness_key), {}}, {1, true}), not_after});
    auto const outcome = co_await read;
    bool const denied = outcome.delivery == Delivery::answered && !outcome.good() &&
                        classify(outcome.status, outcome.body).error == errc::permission_denied;
    if (outcome.good() || denied)
        co_return Ready{};
    co_return failure(outcome, cluster->where(), "a first read");
}

} // namespace tenure::etcd
