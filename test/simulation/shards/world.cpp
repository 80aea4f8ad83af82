// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ShardMachine in many processes at once: joins, leaves, kills, stops, outages, slow drains and stale views.
#include "member.hpp"
#include "small_world.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace tenure::simulation
{

namespace
{

using namespace std::chrono_literals;

constexpr auto ttl = 2000ms;
constexpr auto refresh = ttl / 5;
/// the longest time between two reads, and a request
constexpr auto longest_refresh = refresh * 12 / 10 + 20ms;
constexpr auto settle = refresh * 2;

engine::ShardTerms terms_of(Random& random)
{
    engine::ShardTerms terms;
    terms.shards = random.chance(3000) ? 64 : 1 + random.below(80);
    terms.ttl = ttl;
    terms.refresh = refresh;
    terms.settle = settle;
    terms.pause = random.chance(5000) ? 0ms : std::chrono::milliseconds(500 + random.below(2500));
    terms.drain = std::chrono::milliseconds(random.below(1000));
    return terms;
}

class World
{
public:
    explicit World(std::uint64_t seed)
        : random_(seed, 57)
        , terms_(terms_of(random_))
        , around_{
              timeline_,
              random_,
              terms_,
              Pool(timeline_, random_, 48, ttl),
              Pool(timeline_, random_, terms_.shards, ttl),
              Instant::min(),
              0,
              false,
              Instant::min(),
              [this](std::string const& rule) { violate(rule); },
              [this](Number shard, unsigned member) { begins(shard, member); },
              [this](std::string_view what) { ++outcome_.counts[what]; }}
        , hangs_(random_.chance(5000))
        , weighted_(random_.chance(5000))
    {
        around_.members.on_release = [this] {
            for (auto const& member : members_)
                member->hint();
        };
    }

    SmallOutcome run()
    {
        start_cold();
        for (unsigned part = 0; part < 3 && outcome_.violation.empty(); ++part) {
            disturb();
            if (hangs_)
                continue;
            for (unsigned change = 0; change < 4 && outcome_.violation.empty(); ++change)
                change_once();
        }
        if (!hangs_ && !weighted_ && outcome_.violation.empty())
            restart_all();
        outcome_.trace = trace_ ^ static_cast<std::uint64_t>(timeline_.now().time_since_epoch().count());
        return outcome_;
    }

private:
    void violate(std::string const& rule)
    {
        if (outcome_.violation.empty())
            outcome_.violation = rule;
    }
    void pass(Clock::duration time) { timeline_.run_until(timeline_.now() + time); }

    void begins(Number shard, unsigned id)
    {
        ++moves_;
        ++outcome_.counts["moves"];
        trace_ = trace_ * 0x100000001b3U ^ (shard * 97U + id) ^
                 static_cast<std::uint64_t>(timeline_.now().time_since_epoch().count());
        for (auto const& member : members_)
            if (!member->killed() && member->id() != id && member->works_validly(shard))
                violate("one live owner");
    }

    ShardMember& join()
    {
        bool const hangs = hangs_ && random_.chance(2500);
        auto const weight = weighted_ && random_.chance(4000) ? 1 + random_.below(3) : 1;
        members_.push_back(std::make_unique<ShardMember>(around_, ++last_member_, weight, hangs));
        members_.back()->start();
        ++outcome_.counts["joins"];
        return *members_.back();
    }

    [[nodiscard]] std::vector<ShardMember*> present() const
    {
        std::vector<ShardMember*> all;
        for (auto const& member : members_)
            if (member->stays())
                all.push_back(member.get());
        return all;
    }
    [[nodiscard]] ShardMember* any()
    {
        auto const all = present();
        return all.empty() ? nullptr : all[random_.below(static_cast<std::uint32_t>(all.size()))];
    }
    [[nodiscard]] unsigned weights() const
    {
        unsigned sum = 0;
        for (auto const* member : present())
            sum += member->weight();
        return sum;
    }

    // -- what happens --

    void start_cold()
    {
        auto const count = 1 + random_.below(12);
        for (unsigned member = 0; member < count; ++member) {
            auto const pause = std::chrono::milliseconds(random_.below(150) / count);
            join();
            pass(pause);
        }
        pass(settle + longest_refresh + around_.terms.drain + 1s);
        auto const most = around_.terms.shards + weights();
        if (moves_ > most)
            violate("a cold start takes at most N + M grants");
        check_quiet();
    }

    void disturb()
    {
        auto const end = timeline_.now() + 15s;
        around_.answers_slowly = true;
        while (timeline_.now() < end) {
            pass(std::chrono::milliseconds(50 + random_.below(random_.chance(5000) ? 400 : 4000)));
            auto* const member = any();
            if (member == nullptr || (present().size() < 12 && random_.chance(2500))) {
                join();
                continue;
            }
            strike(*member);
        }
        // all is well again, but for hung works
        around_.answers_slowly = false;
        pass(5s + around_.terms.ttl * 4 + around_.terms.pause + around_.terms.drain + ttl + settle + 3s);
        for (auto const& member : members_)
            if (!member->stays() && !member->ended())
                member->kill();
        pass(ttl + 2 * longest_refresh + around_.terms.pause + 1s);
        check_quiet();
    }

    void strike(ShardMember& member)
    {
        auto const now = timeline_.now();
        switch (random_.below(10)) {
        case 0:
        case 1:
            member.leave();
            ++outcome_.counts["leaves"];
            break;
        case 2:
            member.kill();
            ++outcome_.counts["kills"];
            break;
        case 3:
        case 4:
            member.stop(now + std::chrono::milliseconds(random_.below(5000)));
            ++outcome_.counts["stops"];
            break;
        case 5:
            around_.outage_until = now + std::chrono::milliseconds(random_.below(random_.chance(5000) ? 1000 : 5000));
            timeline_.at(around_.outage_until, [this] {
                around_.members.serve();
                around_.shards.serve();
            });
            ++outcome_.counts["outages"];
            break;
        case 6:
            around_.refuses_until = now + std::chrono::milliseconds(random_.below(3500));
            ++outcome_.counts["refusals"];
            break;
        default:
            member.blind(now + std::chrono::milliseconds(random_.below(5000)));
        }
    }

    /** One change in a quiet group: the times and the moves that are stated. */
    void change_once()
    {
        auto* const member = any();
        if (member == nullptr)
            return;
        auto const numbers = weights();
        auto const own = member->machine().owned().size();
        auto const leave_time = longest_refresh + around_.terms.pause + around_.terms.drain + 1s;
        moves_ = 0;
        switch (random_.below(5)) {
        case 0:
            pass(10s);
            expect_moves(0, "nothing moves without a change");
            break;
        case 1: {
            auto const weight = join().weight();
            pass(std::max<Clock::duration>(settle + 50ms, longest_refresh + around_.terms.drain) + 1s);
            expect_moves(
                (around_.terms.shards * weight + numbers + weight - 1) / (numbers + weight) + weight - 1,
                "a join moves at most the share of the member that joins");
            break;
        }
        case 2:
            if (present().size() == 1)
                return;
            member->leave();
            pass(leave_time);
            expect_moves(own, "a leave moves only the shards of the member that leaves");
            break;
        case 3:
            if (present().size() == 1)
                return;
            member->kill();
            pass(ttl + longest_refresh + around_.terms.pause + 1s);
            expect_moves(own, "a kill moves only the shards of the dead member");
            break;
        default:
            restart_in_pause(*member, own);
        }
        ++outcome_.counts["changes"];
        check_quiet();
    }

    void restart_in_pause(ShardMember& member, std::size_t own)
    {
        // others count it as live until then
        auto const time = around_.terms.pause - around_.terms.drain - settle - 200ms;
        if (time < 0ms || member.weight() > 1)
            return;
        // it gets the lowest free number
        auto const taken = around_.members.taken();
        auto const same = member.lowest_number() < first_gap(taken);
        member.leave();
        pass(around_.terms.drain + 50ms);
        auto const weight = join().weight();
        pass(5s);
        if (weight == 1 && same)
            expect_moves(own, "a member that is back within the pause finds its shards free");
    }

    [[nodiscard]] static Number first_gap(std::vector<Number> const& taken)
    {
        Number gap = 0;
        while (gap < taken.size() && taken[gap] == gap)
            ++gap;
        return gap;
    }

    /** A rolling restart. */
    void restart_all()
    {
        moves_ = 0;
        auto const all = present();
        if (all.size() < 2)
            return;
        ++outcome_.counts["rolling restarts"];
        for (auto* const member : all) {
            member->leave();
            pass(5s);
            join();
            pass(5s);
        }
        check_quiet();
        expect_moves(std::size_t{2} * around_.terms.shards, "a rolling restart moves each shard twice at most");
    }

    // -- what must hold --

    void expect_moves(std::size_t most, std::string const& rule)
    {
        if (moves_ > most)
            violate(rule + ": " + std::to_string(moves_) + " moves instead of " + std::to_string(most));
    }

    void check_quiet()
    {
        auto const all = present();
        if (!outcome_.violation.empty() || all.empty())
            return;
        ++outcome_.counts["quiet windows"];
        std::size_t shares = 0;
        std::vector<std::size_t> counts;
        for (auto const* member : all) {
            shares += member->machine().share();
            if (!member->machine().settled(timeline_.now()))
                violate("quiet: a member is not settled");
        }
        if (shares != around_.terms.shards)
            violate("rule 1: the shares of one view sum to N: " + std::to_string(shares));
        std::size_t owned = 0;
        bool refused = false;
        for (auto const* member : all) {
            auto const& machine = member->machine();
            owned += machine.owned().size();
            if (machine.owned().size() == machine.share()) {
                if (machine.pending() != 0)
                    violate("rule 3: at rest no claim is pending");
            } else if (member->hung() > 0 && machine.owned().size() < machine.share()) {
                refused = true;
            } else {
                violate(
                    "quiet: member " + std::to_string(member->id()) + " of " + std::to_string(all.size()) + " has " +
                    std::to_string(machine.owned().size()) + " shards, and its share is " +
                    std::to_string(machine.share()) + ", and " + std::to_string(machine.pending()) + " claims");
            }
        }
        if (owned != around_.terms.shards && !refused)
            violate("quiet: every shard is owned");
    }

    Timeline timeline_;
    Random random_;
    engine::ShardTerms terms_;
    SmallOutcome outcome_;
    ShardSurroundings around_;
    /// some members have works that hang
    bool hangs_;
    /// some members have more than one number
    bool weighted_;
    std::vector<std::unique_ptr<ShardMember>> members_;
    unsigned last_member_ = 0;
    std::size_t moves_ = 0;
    std::uint64_t trace_ = 0;
};

} // namespace

SmallLayer const small_layer{"shards", [](std::uint64_t seed) { return World(seed).run(); }};

} // namespace tenure::simulation
