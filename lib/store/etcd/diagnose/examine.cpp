// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "examine.hpp"

#include "findings.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace tenure::etcd
{

namespace
{

constexpr std::size_t round_trips = 5;
/// nobody's, so that permission to read it says nothing about a pool's
constexpr std::string_view probe_key = "tenure/doctor";

class Examination : public std::enable_shared_from_this<Examination>
{
public:
    Examination(NodePtr node, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
        : node_(std::move(node))
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
        facts_.ttl = ttl;
        facts_.username = node_->client->config().username;
    }

    // One after the other, so that each is a round trip of its own. The first one opens the connection.
    void measure()
    {
        call("kv/range", range_body({std::string(probe_key), {}}, {1, true}), [](Examination& self, Outcome outcome) {
            self.measured(std::move(outcome));
        });
    }

private:
    void measured(Outcome outcome)
    {
        if (outcome.delivery != Delivery::answered) {
            facts_.unreachable = outcome.detail.empty() ? outcome.error.message() : outcome.detail;
            finish();
            return;
        }
        auto const error = outcome.status == 200 ? GatewayError() : classify(outcome.status, outcome.body);
        if (error.error && error.error != errc::permission_denied) {
            facts_.refused = error.text();
            ask();
            return;
        }
        facts_.round_trips.push_back(node_->runtime().now() - outcome.since);
        if (facts_.round_trips.size() < round_trips)
            measure();
        else
            ask();
    }

    void ask()
    {
        open_ = 4;
        call("maintenance/status", "{}", [](Examination& self, Outcome const& outcome) {
            if (auto const status = outcome.good() ? parse_status(outcome.body) : std::nullopt) {
                self.facts_.version = status->version;
                self.facts_.leader = status->leader;
                self.facts_.raft_term = status->header.raft_term;
            }
            self.answered();
        });
        call("cluster/member/list", "{}", [](Examination& self, Outcome const& outcome) {
            if (outcome.good())
                self.facts_.members = parse_members(outcome.body);
            self.answered();
        });
        call("maintenance/alarm", "{\"action\":\"GET\"}", [](Examination& self, Outcome const& outcome) {
            if (outcome.good())
                self.facts_.alarms = parse_alarms(outcome.body);
            self.answered();
        });
        node_->leases->grant(facts_.ttl, not_after_, [self = shared_from_this()](Leases::Taken taken) {
            if (auto const* const lease = std::get_if<LeasePtr>(&taken)) {
                self->facts_.granted_ttl = (*lease)->granted;
                self->node_->leases->discard(*lease);
            } else {
                auto const& failure = std::get<Failure>(taken);
                bool const refused = failure.effect == Failure::Effect::refused;
                self->facts_.grant_refused = refused ? failure.detail : "no answer";
            }
            self->answered();
        });
    }

    void answered()
    {
        if (--open_ == 0)
            finish();
    }

    template <class Then>
    void call(std::string_view path, std::string body, Then then)
    {
        Call call;
        call.path = path;
        call.body = std::move(body);
        call.not_after = not_after_;
        node_->client->call(
            std::move(call), [self = shared_from_this(), then](Outcome outcome) { then(*self, std::move(outcome)); });
    }

    void finish() { std::move(handler_)(judge(facts_)); }

    NodePtr node_;
    Deadline not_after_;
    ReplyHandler<Findings> handler_;
    Facts facts_;
    unsigned open_ = 0;
};

} // namespace

void examine(NodePtr const& node, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
{
    std::make_shared<Examination>(node, std::max(ttl, std::chrono::milliseconds{1000}), not_after, std::move(handler))
        ->measure();
}

} // namespace tenure::etcd
