// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Tests of `tenure doctor` on an ensemble, and its findings.
#include "operations.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <store/diagnosis.hpp>
#include <store/gather.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Severity = Finding::Severity;

constexpr std::size_t round_trips = 5;
/// the C client gives up a server that has not answered within two thirds of the requested timeout
constexpr auto least_timeout = 150ms;
/// leases of this many ticks and more have time to stop, and survive the failure of a server
constexpr int comfortable_ticks = 4;

/** Facts about an ensemble. */
struct Facts {
    milliseconds ttl{};
    milliseconds tick{};
    std::size_t servers = 0;
    bool logged_in = false;
    /// why no facts could be read; empty: they were read
    std::string unreachable = {};
    std::vector<nanoseconds> round_trips = {};
    std::vector<nanoseconds> writes = {};
    /// timeouts that the server grants for a too short and a too long request
    std::optional<milliseconds> shortest = {};
    std::optional<milliseconds> longest = {};
    /// why a node could not be created and removed; empty: it could
    std::string refused = {};
};

std::string text(milliseconds value)
{
    return std::to_string(value.count()) + " ms";
}

std::string text(std::vector<nanoseconds> const& values)
{
    std::array<char, 64> line{};
    auto const [least, most] = std::ranges::minmax(values);
    std::snprintf(
        line.data(), line.size(), "%.2f to %.2f ms", static_cast<double>(least.count()) / 1e6,
        static_cast<double>(most.count()) / 1e6);
    return line.data();
}

void judge_limits(Facts const& facts, Findings& findings)
{
    if (!facts.shortest || !facts.longest) {
        findings.push_back(
            {Severity::unverified, "session timeouts", "the server did not open sessions to try its limits",
             "look at tickTime, minSessionTimeout and maxSessionTimeout in its configuration"});
        return;
    }
    findings.push_back(finding(
        facts.ttl >= *facts.shortest && facts.ttl <= *facts.longest, Severity::warning, "session timeouts",
        "the server grants " + text(*facts.shortest) + " to " + text(*facts.longest),
        "a ttl of " + text(facts.ttl) +
            " becomes the nearest of these; ask for another ttl, or change minSessionTimeout and "
            "maxSessionTimeout of the servers"));
    findings.push_back(finding(
        *facts.shortest <= facts.tick * 2, Severity::warning, "tick",
        "configured here: " + text(facts.tick) + "; the shortest timeout is two ticks unless a server is set up " +
            "otherwise, so theirs is about " + text(*facts.shortest / 2),
        "if that is their tickTime, say so (?tick=" + std::to_string((*facts.shortest / 2).count()) +
            "ms): validity rests on it"));
}

/** Judges the facts for leases, with advice. */
Findings judge(Facts const& facts)
{
    if (!facts.unreachable.empty())
        return {
            {Severity::error, "connection", facts.unreachable,
             "check the servers' addresses, that they run and have a leader, and that nothing between blocks their "
             "client port"}};
    Findings findings;
    findings.push_back({Severity::ok, "round trip", "reads " + text(facts.round_trips), ""});
    findings.push_back(finding(
        std::ranges::max(facts.writes) <= facts.ttl / 10, Severity::warning, "writes",
        "a write takes " + text(facts.writes),
        "that is more than a tenth of the ttl of " + text(facts.ttl) +
            "; give the servers' log a disk of its own, or use a longer ttl"));
    judge_limits(facts, findings);
    findings.push_back(finding(
        facts.ttl >= facts.tick * comfortable_ticks, Severity::warning, "ttl",
        text(facts.ttl) + ", " + std::to_string(facts.ttl / facts.tick) + " ticks of " + text(facts.tick),
        "more than a tick of it is always unproven; use a ttl of at least " + text(facts.tick * comfortable_ticks) +
            ", or a shorter tickTime"));
    findings.push_back(finding(
        facts.refused.empty(), Severity::error, "permissions",
        facts.refused.empty() ? "nodes can be created and removed" : facts.refused,
        "leases cannot be acquired before that is put right"));
    findings.push_back(finding(
        facts.logged_in, Severity::warning, "access",
        facts.logged_in ? "nodes belong to the digest user alone"
                        : "no login: any client that reaches the servers may change or delete the nodes of leases",
        "give user and password: zookeeper://USER:PASSWORD@HOST/..."));
    findings.push_back(finding(
        facts.servers >= 3, Severity::unverified, "servers",
        std::to_string(facts.servers) + (facts.servers == 1 ? " server is" : " servers are") + " named",
        "where there are more, name them all: leases outlast the loss of a minority"));
    return findings;
}

/** Each doctor uses another key, but all may share its generation. */
RangeNodes own_nodes(Ensemble const& ensemble)
{
    std::uint64_t number = 0;
    ensemble.runtime().random_bytes(std::as_writable_bytes(std::span(&number, 1)));
    return ensemble.nodes(*named_key("tenure-doctor-" + std::to_string(number)));
}

/** Creates a node as a claim does, and removes it. The response is that of the last step. */
store::Request<Response> try_node(SessionPtr session, RangeNodes nodes, std::string generation)
{
    auto parent = store::as_step(create_parent(session, nodes.parent()));
    auto response = co_await parent;
    if (!response.exists())
        co_return response;
    auto counter = store::as_step(create_generation(session, generation));
    response = co_await counter;
    if (!response.exists())
        co_return response;
    auto claim = ask(session, {.kind = Request::Kind::claim, .path = nodes.path(0), .generation = generation});
    response = co_await claim;
    if (response.code != ZOK)
        co_return response;
    auto removal = ask(session, {Request::Kind::remove, nodes.path(0)});
    co_return co_await removal;
}

} // namespace

/** Measures round trips one after the other, then tries the limits of timeouts and the creation of a node at once. */
store::Request<Findings> examine(EnsemblePtr ensemble, milliseconds ttl, Deadline not_after)
{
    auto const& config = ensemble->config();
    Facts facts{ttl, config.tick, config.servers.size(), !config.username.empty()};
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, not_after);
    if (auto const why = co_await connection) {
        facts.unreachable = why->detail.empty() ? "no time left" : why->detail;
        co_return judge(facts);
    }
    for (auto* const trips : {&facts.round_trips, &facts.writes})
        while (trips->size() < round_trips) {
            auto const kind = trips == &facts.writes ? Request::Kind::check : Request::Kind::get;
            auto trip = ask(session, {kind, config.chroot.empty() ? "/" : config.chroot});
            auto const response = co_await trip;
            if (!is_answered(response.code)) {
                facts.unreachable = ::zerror(response.code);
                co_return judge(facts);
            }
            trips->push_back(response.answered - response.sent);
        }

    auto const generation = ensemble->nodes({"tenure-doctor", 0, 1, false}).generation(0);
    auto tests = store::gather(ensemble->runtime(), Instant::max(), [&](auto take_reply) {
        auto const try_timeout = [&](milliseconds timeout, std::optional<milliseconds>& granted) {
            auto const probe = ensemble->probe(timeout);
            probe->when_connected(
                not_after.no_later_than(ensemble->runtime().now() + 2s),
                take_reply([probe, &granted](Failure const* why) {
                    if (why == nullptr)
                        granted = probe->timeout();
                    probe->close(true);
                }));
        };
        try_timeout(least_timeout, facts.shortest);
        try_timeout(std::chrono::hours(24), facts.longest);
        try_node(session, own_nodes(*ensemble), generation).start(take_reply([&](Response const& response) {
            auto const what = response.of_generation ? "the generation " + generation : "a node of the doctor's own";
            if (response.code != ZOK)
                facts.refused = ensemble->failure(response, what).detail;
        }));
    });
    co_await tests;
    co_return judge(facts);
}

} // namespace tenure::zookeeper
