// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "small_world.hpp"

#include "node_link.hpp"
#include "unit/fake_runtime.hpp"

#include <store/redis/redlock/backend.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;
using test::FakeRuntime;

constexpr auto ttl = 1000ms;
constexpr auto length = 60s;

/** Until when a claim may be relied on: the time rule of the engine. */
Instant valid_until(Instant since, std::chrono::milliseconds granted)
{
    return since + granted * 99 / 100 - 10ms;
}

class World;

/** Takes a key, holds it for a while, and gives it back, for ever; each time as a new owner. */
class Holder
{
public:
    Holder(World& world, std::shared_ptr<Backend> backend, KeyRangePtr range, unsigned number)
        : world_(world)
        , backend_(std::move(backend))
        , range_(std::move(range))
        , number_(number)
    {
    }

    void start();

private:
    void wait_then_start(Clock::duration pause);
    void answered(ClaimReply const& reply);
    void hold(Granted const& granted);
    void renew();
    void renewed(std::uint64_t lease, RenewReply const& reply);
    void check_time(std::uint64_t lease);
    void end(bool lost);

    World& world_;
    std::shared_ptr<Backend> backend_;
    KeyRangePtr range_;
    unsigned number_;
    std::uint64_t asked_ = 0;
    /// counts leases: what belongs to an earlier one is ignored
    std::uint64_t lease_ = 0;
    std::string owner_;
    std::shared_ptr<Claim> claim_;
    Instant valid_until_{};
    Instant release_at_{};
};

class World
{
public:
    explicit World(std::uint64_t seed);
    SmallOutcome run();

    /** The claim may be relied on from now on. */
    void granted(std::string const& key, std::uint64_t token, unsigned holder);
    /** It may be relied on until then. */
    void relies(std::string const& key, unsigned holder, Instant until);
    void note(std::uint64_t what);

    std::shared_ptr<FakeRuntime> runtime;
    Random random;
    SmallOutcome outcome;

private:
    struct KeyNews {
        std::uint64_t last_token = 0;
        unsigned holder = 0;
        Instant until{};
    };

    void next_fault();
    void strike();
    void violation(std::string text);

    std::vector<std::shared_ptr<NodeState>> nodes_;
    /// by client, then by server
    std::vector<std::vector<std::shared_ptr<NodeLink>>> links_;
    std::vector<std::unique_ptr<Holder>> holders_;
    std::map<std::string, KeyNews> keys_;
};

// -- the holders --

void Holder::wait_then_start(Clock::duration pause)
{
    world_.runtime->call_at(world_.runtime->now() + pause, [this] { start(); });
}

void Holder::start()
{
    owner_ = "holder-" + std::to_string(number_) + "/" + std::to_string(++asked_);
    ClaimRequest request;
    request.range = range_;
    request.owner = owner_;
    request.ttl = ttl;
    request.not_after = world_.runtime->now() + 2s;
    backend_->claim(std::move(request), [this](ClaimReply const& reply) { answered(reply); });
}

void Holder::answered(ClaimReply const& reply)
{
    if (auto const* const grant = std::get_if<Granted>(&reply)) {
        hold(*grant);
        return;
    }
    ++world_.outcome.counts["refusals"];
    if (failed_as(reply, Failure::Effect::unknown)) {
        WithdrawRequest request;
        request.range = range_;
        request.owner = owner_;
        request.not_after = world_.runtime->now() + ttl;
        backend_->withdraw(std::move(request), [](WithdrawReply const&) {});
    }
    wait_then_start(std::chrono::microseconds(world_.random.between(1'000, 60'000)));
}

void Holder::hold(Granted const& granted)
{
    claim_ = std::make_shared<Claim>();
    claim_->range = range_;
    claim_->index = granted.index;
    claim_->owner = owner_;
    claim_->fencing_token = granted.fencing_token;
    valid_until_ = valid_until(granted.since, granted.ttl);
    auto const lease = ++lease_;
    auto const now = world_.runtime->now();
    if (now >= valid_until_) {
        end(true);
        return;
    }
    world_.granted(claim_->key(), granted.fencing_token, number_);
    world_.relies(claim_->key(), number_, valid_until_);
    release_at_ = now + std::chrono::milliseconds(world_.random.between(0, 2500));
    check_time(lease);
    world_.runtime->call_at(now + ttl / 3, [this, lease] {
        if (lease == lease_)
            renew();
    });
}

void Holder::check_time(std::uint64_t lease)
{
    auto const when = std::min(valid_until_, release_at_);
    world_.runtime->call_at(when, [this, lease] {
        if (lease != lease_ || !claim_)
            return;
        auto const now = world_.runtime->now();
        if (now >= valid_until_)
            end(true);
        else if (now >= release_at_)
            end(false);
        else
            check_time(lease);
    });
}

void Holder::renew()
{
    if (!claim_)
        return;
    auto const lease = lease_;
    RenewRequest request;
    request.claim = claim_;
    request.ttl = ttl;
    request.not_after = valid_until_;
    backend_->renew({std::move(request)}, [this, lease](std::span<RenewAnswer const> answers) {
        renewed(lease, answers.front().reply);
    });
    world_.runtime->call_at(world_.runtime->now() + ttl / 3, [this, lease] {
        if (lease == lease_)
            renew();
    });
}

void Holder::renewed(std::uint64_t lease, RenewReply const& reply)
{
    if (lease != lease_ || !claim_)
        return;
    if (auto const* const extended = std::get_if<Renewed>(&reply)) {
        valid_until_ = std::max(valid_until_, valid_until(extended->since, extended->ttl));
        world_.relies(claim_->key(), number_, valid_until_);
    } else if (std::holds_alternative<NotOwner>(reply)) {
        end(true);
    }
}

void Holder::end(bool lost)
{
    world_.outcome.counts["losses"] += lost ? 1U : 0U;
    world_.note(lost ? 2 : 1);
    claim_->mark.ended.store(true);
    world_.relies(claim_->key(), number_, world_.runtime->now());
    ReleaseRequest request;
    request.claim = std::exchange(claim_, nullptr);
    request.not_after = world_.runtime->now() + ttl;
    backend_->release(std::move(request), [](ReleaseReply const&) {});
    wait_then_start(std::chrono::microseconds(world_.random.between(100, 300'000)));
}

// -- the world --

World::World(std::uint64_t seed)
    : runtime(std::make_shared<FakeRuntime>(seed))
    , random(seed, 1)
{
    auto const servers = random.below(2) == 0 ? 3U : 5U;
    for (unsigned i = 0; i < servers; ++i)
        nodes_.push_back(
            std::make_shared<NodeState>(NodeServer(std::chrono::milliseconds(random.between(-8000, 8000)))));
    auto const clients = 2 + random.below(3);
    auto const loss = random.below(3) == 0 ? random.below(300) : 0;
    for (unsigned client = 0; client < clients; ++client) {
        auto& links = links_.emplace_back();
        std::vector<redlock::Quorum::Voter> nodes;
        for (unsigned node = 0; node < servers; ++node) {
            links.push_back(std::make_shared<NodeLink>(
                runtime, nodes_[node], "node-" + std::to_string(node), seed * 64 + client * 8 + node));
            links.back()->lossy(loss);
            nodes.push_back(links.back());
        }
        auto const backend = redlock::make_backend(runtime, std::move(nodes));
        holders_.push_back(std::make_unique<Holder>(*this, backend, named_key("lock"), client * 2));
        holders_.push_back(std::make_unique<Holder>(*this, backend, numbered_keys("slot:", 2), client * 2 + 1));
    }
}

SmallOutcome World::run()
{
    for (auto const& holder : holders_)
        runtime->call_at(
            runtime->now() + std::chrono::microseconds(random.between(0, 50'000)),
            [holder = holder.get()] { holder->start(); });
    next_fault();
    auto const end = runtime->now() + length;
    while (runtime->now() < end && outcome.violation.empty())
        runtime->run_for(100ms);
    runtime->discard();
    return outcome;
}

void World::next_fault()
{
    runtime->call_at(runtime->now() + std::chrono::milliseconds(random.between(200, 3000)), [this] {
        strike();
        next_fault();
    });
}

/** Servers stop or go away, a minority at a time; a client is cut off from some of them; one is set back, or restarts
 * without its data. */
void World::strike()
{
    ++outcome.counts["faults"];
    auto const now = runtime->now();
    auto const most = (nodes_.size() - 1) / 2;
    auto const kind = random.below(10);
    auto const until = now + std::chrono::milliseconds(random.between(50, 3000));
    if (kind < 4) {
        auto const first = random.below(static_cast<std::uint32_t>(nodes_.size()));
        for (std::size_t i = 0; i < most; ++i) {
            auto& node = *nodes_[(first + i) % nodes_.size()];
            auto& ends = kind < 2 ? node.stopped_until : node.away_until;
            // never shorter: a server without its data stays unavailable for a ttl
            ends = std::max(ends, until);
        }
    } else if (kind < 7) {
        auto& links = links_[random.below(static_cast<std::uint32_t>(links_.size()))];
        for (auto const& link : links)
            if (random.below(2) == 0)
                link->cut_until(until);
    } else {
        auto& node = *nodes_[random.below(static_cast<std::uint32_t>(nodes_.size()))];
        if (kind == 7) {
            // back only: a clock set forward ends leases before their time, which is the limit of the guarantee; and
            // only where the last tokens are remembered
            if (node.forgot)
                return;
            node.server.set_clock_back(std::chrono::milliseconds(random.between(0, 60'000)));
        } else {
            // It stays unavailable for a ttl, and its clock must not be behind the last tokens. Otherwise a lease on a
            // bare majority, or its token, could be granted again. Both are documented limits of the guarantee.
            node.forgot = true;
            node.server.lose_everything();
            node.server.set_clock(70s);
            node.away_until = std::max(node.away_until, now + ttl * 11 / 10);
        }
    }
    note(kind + 16);
}

void World::granted(std::string const& key, std::uint64_t token, unsigned holder)
{
    ++outcome.counts["grants"];
    note(token ^ holder);
    auto& news = keys_[key];
    if (news.until > runtime->now())
        violation(
            "S1: " + key + " granted to holder " + std::to_string(holder) + " while holder " +
            std::to_string(news.holder) + " relies on it");
    if (token <= news.last_token)
        violation(
            "S10: " + key + " granted with token " + std::to_string(token) + " after token " +
            std::to_string(news.last_token));
    news = {token, holder, runtime->now()};
}

void World::relies(std::string const& key, unsigned holder, Instant until)
{
    auto& news = keys_[key];
    if (news.holder == holder)
        news.until = until;
}

void World::note(std::uint64_t what)
{
    auto const when = static_cast<std::uint64_t>(runtime->now().time_since_epoch().count());
    outcome.trace = (outcome.trace ^ when ^ (what << 48U)) * 0x100000001b3U;
}

void World::violation(std::string text)
{
    if (outcome.violation.empty())
        outcome.violation = std::move(text);
}

} // namespace

/** Runs sixty seconds of virtual time: three or five servers whose clocks differ by seconds, a few clients that
 * contend for a lock and a small pool, and faults of a minority at a time. After each grant the world checks that no
 * other client may rely on the key (S1) and that its fencing token is greater than all earlier ones of the key (S10).
 * */
SmallLayer const small_layer{"redlock", [](std::uint64_t seed) { return World(seed).run(); }};

} // namespace tenure::simulation
