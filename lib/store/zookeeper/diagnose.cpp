// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Tests of `tenure doctor` on an ensemble, and its findings.
#include "operations.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
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
    std::string unreachable;
    std::vector<nanoseconds> round_trips;
    std::vector<nanoseconds> writes;
    /// timeouts that the server grants for a too short and a too long request
    std::optional<milliseconds> shortest;
    std::optional<milliseconds> longest;
    /// why a node could not be created and removed; empty: it could
    std::string refused;
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

/** An `ok` finding if `well`; otherwise one of the given severity, with advice. */
Finding finding(bool well, Severity otherwise, std::string name, std::string snapshot, std::string advice)
{
    return {well ? Severity::ok : otherwise, std::move(name), std::move(snapshot), well ? "" : std::move(advice)};
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

class Examination : public std::enable_shared_from_this<Examination>
{
public:
    Examination(EnsemblePtr ensemble, milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
        : ensemble_(std::move(ensemble))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , session_(ensemble_->query_session())
        , use_(session_->use())
    {
        auto const& config = ensemble_->config();
        facts_.ttl = ttl;
        facts_.tick = config.tick;
        facts_.servers = config.servers.size();
        facts_.logged_in = !config.username.empty();
    }

    void start()
    {
        session_->when_connected(not_after_, [self = shared_from_this()](Failure const* why) {
            if (why == nullptr) {
                self->measure();
                return;
            }
            self->facts_.unreachable = why->detail.empty() ? "no time left" : why->detail;
            self->finish();
        });
    }

private:
    // measures round trips one after the other
    void measure()
    {
        bool const reads = facts_.round_trips.size() < round_trips;
        if (!reads && facts_.writes.size() == round_trips) {
            ask_limits();
            return;
        }
        auto const& chroot = ensemble_->config().chroot;
        session_->ask(
            {reads ? Request::Kind::get : Request::Kind::check, chroot.empty() ? "/" : chroot},
            [self = shared_from_this(), reads](Response const& response) {
                if (!is_answered(response.code)) {
                    self->facts_.unreachable = ::zerror(response.code);
                    self->finish();
                    return;
                }
                (reads ? self->facts_.round_trips : self->facts_.writes).push_back(response.answered - response.sent);
                self->measure();
            });
    }

    void ask_limits()
    {
        ask_limit(least_timeout, facts_.shortest);
        ask_limit(std::chrono::hours(24), facts_.longest);
        ++open_;
        std::uint64_t number = 0;
        ensemble_->runtime().random_bytes(std::as_writable_bytes(std::span(&number, 1)));
        auto const nodes = ensemble_->nodes(*named_key("tenure-doctor-" + std::to_string(number)));
        create_parent(
            session_, nodes.parent(), [self = shared_from_this(), path = nodes.path(0)](Response const& made) {
                if (!made.exists()) {
                    self->tried(made);
                    return;
                }
                create_generation(self->session_, self->generation_, [self, path](Response const& response) {
                    if (response.exists())
                        self->try_claim(path);
                    else
                        self->tried(response);
                });
            });
    }

    void ask_limit(milliseconds timeout, std::optional<milliseconds>& granted)
    {
        ++open_;
        auto const probe = ensemble_->probe(timeout);
        probe->when_connected(
            not_after_.no_later_than(ensemble_->runtime().now() + 2s),
            [self = shared_from_this(), probe, &granted](Failure const* why) {
                if (why == nullptr)
                    granted = probe->timeout();
                probe->close(true);
                self->close_one();
            });
    }

    void try_claim(std::string const& path)
    {
        session_->ask(
            {.kind = Request::Kind::claim, .path = path, .generation = generation_},
            [self = shared_from_this(), path](Response const& created) {
                if (created.code == ZOK)
                    self->session_->ask(
                        {Request::Kind::remove, path}, [self](Response const& removed) { self->tried(removed); });
                else
                    self->tried(created);
            });
    }

    void tried(Response const& response)
    {
        if (response.code != ZOK)
            facts_.refused = ensemble_
                                 ->failure(
                                     response, response.of_generation ? "the generation " + generation_
                                                                      : "a node of the doctor's own")
                                 .detail;
        close_one();
    }

    void close_one()
    {
        if (--open_ == 0)
            finish();
    }

    void finish() { handler_(judge(facts_)); }

    EnsemblePtr ensemble_;
    Deadline not_after_;
    ReplyHandler<Findings> handler_;
    SessionPtr session_;
    Session::Use use_;
    /// each doctor uses another key, but all may share its generation
    std::string generation_ = ensemble_->nodes({"tenure-doctor", 0, 1, false}).generation(0);
    Facts facts_;
    int open_ = 0;
};

} // namespace

void examine(EnsemblePtr ensemble, std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
{
    std::make_shared<Examination>(std::move(ensemble), ttl, not_after, std::move(handler))->start();
}

} // namespace tenure::zookeeper
