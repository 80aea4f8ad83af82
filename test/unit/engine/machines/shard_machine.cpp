// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The rules of ShardMachine, by the numbers of its header.
#include "engine/machines/shard_machine.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

using Actions = ShardMachine::Actions;
using Kind = ShardMachine::Action::Kind;
using Numbers = std::vector<ShardMachine::Number>;

/** A member of a group of 10 shards, whose machine hears one event after another. */
struct Member {
    explicit Member(std::uint32_t shards = 10, Clock::duration pause = 0ms)
        : machine({shards, 10s, 2s, 4s, pause, 1s})
    {
    }

    Instant now = Instant{} + 1000s;
    ShardMachine machine;

    Actions view(Numbers const& live) { return machine.viewed(live, now); }
    Actions grant(ShardMachine::Number shard, bool cancelled = false) { return machine.granted(shard, cancelled, now); }
    Actions end(ShardMachine::Number shard) { return machine.work_ended(shard, now); }
    Actions after(Clock::duration time)
    {
        now += time;
        return machine.tick(now);
    }
    /** Joins and settles. @return the first claims */
    Actions join(Numbers const& numbers, Numbers const& live)
    {
        CHECK(machine.tick(now) == Actions{{Kind::join}});
        CHECK(machine.joined(numbers, now).empty());
        CHECK(view(live).empty());
        return after(4s);
    }
    /** Is alone and owns shards from 0 on. */
    void own(ShardMachine::Number count)
    {
        (void)join({0}, {0});
        for (ShardMachine::Number shard = 0; shard < count; ++shard)
            CHECK(grant(shard) == Actions{{Kind::begin, shard}});
    }
};

std::size_t count(Actions const& actions, Kind kind)
{
    return static_cast<std::size_t>(std::ranges::count(actions, kind, &ShardMachine::Action::kind));
}

/** The share of these numbers, among all that are live. */
std::size_t share_of(std::uint32_t shards, Numbers const& numbers, Numbers const& live)
{
    Member member(shards);
    (void)member.join(numbers, live);
    return member.machine.share();
}

} // namespace

TEST_CASE("rule 1 of shards: the lowest live numbers count for one shard more")
{
    CHECK(share_of(10, {4}, {4, 7, 9}) == 4);
    CHECK(share_of(10, {7}, {4, 7, 9}) == 3);
    CHECK(share_of(10, {9}, {4, 7, 9}) == 3);
    CHECK(share_of(10, {4, 9}, {4, 7, 9}) == 7);
    CHECK(share_of(2, {9}, {4, 7, 9}) == 0);
    // the own numbers count before the view has them
    CHECK(share_of(10, {9}, {4, 7}) == 3);
    SECTION("the shares of one view sum to N, a join raises none, and a leave lowers none")
    {
        for (std::uint32_t shards = 1; shards < 40; ++shards)
            for (ShardMachine::Number members = 1; members < 12; ++members) {
                Numbers live;
                for (ShardMachine::Number number = 0; number < members; ++number)
                    live.push_back(2 * number + 1);
                auto more = live;
                more.push_back(shards % (2 * members));
                if (more.back() % 2 == 1)
                    more.back() = 0;
                std::size_t sum = 0;
                for (auto const number : live) {
                    auto const share = share_of(shards, {number}, live);
                    sum += share;
                    CHECK(share_of(shards, {number}, more) <= share);
                }
                CHECK(sum == shards);
            }
    }
}

TEST_CASE("rule 2 of shards: nothing changes with a stale view, without membership, or before it has settled")
{
    Member member;
    (void)member.machine.tick(member.now);
    CHECK(member.view({3}).empty());
    CHECK(member.after(100s).empty());
    CHECK(member.machine.joined({0}, member.now).empty());
    CHECK(member.after(3999ms).empty());
    CHECK(member.machine.wake_at() == member.now + 1ms);
    CHECK(count(member.after(1ms), Kind::claim) == 5);
    CHECK(member.machine.view_stale(member.now).empty());
    CHECK(member.after(100s).empty());
    CHECK(member.view({0}).empty());
    CHECK(member.after(3999ms).empty());
    CHECK(count(member.after(1ms), Kind::claim) == 5);
}

TEST_CASE("rule 3 of shards: pending claims are cancelled before the newest shards are given up")
{
    Member member;
    member.own(6);
    CHECK(member.machine.pending() == 4);
    CHECK(
        member.view({0, 1}) ==
        Actions{{Kind::cancel}, {Kind::cancel}, {Kind::cancel}, {Kind::cancel}, {Kind::stop, 5}});
    CHECK(member.view({0, 1, 2}) == Actions{{Kind::stop, 4}});
    CHECK(member.machine.owned() == Numbers{0, 1, 2, 3});
    CHECK(member.view({0, 1, 2}).empty());
}

TEST_CASE("rule 4 of shards: claims, at most 32 at a time, and not for numbers that have just vanished")
{
    SECTION("at most 32")
    {
        Member member(100);
        CHECK(count(member.join({0}, {0}), Kind::claim) == 32);
        CHECK(member.grant(7) == Actions{{Kind::begin, 7}, {Kind::claim}});
        CHECK(member.machine.pending() == 32);
    }
    SECTION("a number that has vanished")
    {
        Member member(10, 3s);
        CHECK(count(member.join({0}, {0, 1}), Kind::claim) == 5);
        CHECK(member.view({0}).empty());
        CHECK(member.machine.share() == 10);
        CHECK(member.after(2999ms).empty());
        CHECK(member.machine.wake_at() == member.now + 1ms);
        CHECK(count(member.after(1ms), Kind::claim) == 5);
    }
    SECTION("a number that is back in time")
    {
        Member member(10, 3s);
        CHECK(count(member.join({0}, {0, 1}), Kind::claim) == 5);
        CHECK(member.view({0}).empty());
        CHECK(member.after(1s).empty());
        CHECK(member.view({0, 1}).empty());
        CHECK(member.after(10s).empty());
    }
}

TEST_CASE("rule 5 of shards: a shard whose work is ending counts for no share, and is not claimed")
{
    Member member;
    member.own(10);
    CHECK(member.machine.lost(9, member.now) == Actions{{Kind::claim}});
    CHECK(member.machine.owned().size() == 9);
    CHECK(member.grant(9) == Actions{{Kind::give_back, 9}});
    CHECK(member.after(1999ms).empty());
    CHECK(member.after(1ms) == Actions{{Kind::claim}});
    CHECK(member.end(9) == Actions{{Kind::release, 9}});
    CHECK(member.grant(9) == Actions{{Kind::begin, 9}});
}

TEST_CASE("rule 6 of shards: a grant above the share is given back")
{
    Member member;
    member.own(5);
    CHECK(count(member.view({0, 1}), Kind::cancel) == 5);
    CHECK(member.grant(7, true) == Actions{{Kind::give_back, 7}});
    SECTION("a cancelled claim may be granted while there is room")
    {
        CHECK(count(member.view({0}), Kind::claim) == 5);
        CHECK(member.grant(8, true) == Actions{{Kind::begin, 8}, {Kind::cancel}});
    }
}

TEST_CASE("rule 7 of shards: a shard is released when its work has ended")
{
    Member member;
    member.own(10);
    CHECK(count(member.view({0, 1}), Kind::stop) == 5);
    CHECK(member.after(500ms).empty());
    CHECK(member.end(9) == Actions{{Kind::release, 9}});
    SECTION("also if it was lost before")
    {
        CHECK(member.machine.lost(8, member.now).empty());
        CHECK(member.after(10s) == Actions{{Kind::terminate, 5}, {Kind::terminate, 6}, {Kind::terminate, 7}});
        CHECK(member.end(8) == Actions{{Kind::release, 8}});
    }
}

TEST_CASE("rule 8 of shards: after the drain the work gets terminal, and a second later its shard is abandoned")
{
    Member member;
    member.own(10);
    CHECK(count(member.view({0, 1}), Kind::stop) == 5);
    CHECK(member.after(999ms).empty());
    CHECK(member.view({0, 1}).empty());
    CHECK(member.machine.wake_at() == member.now + 1ms);
    CHECK(count(member.after(1ms), Kind::terminate) == 5);
    CHECK(member.after(999ms).empty());
    CHECK(member.end(9) == Actions{{Kind::release, 9}});
    CHECK(count(member.after(1ms), Kind::abandon) == 4);
    CHECK(member.after(10s).empty());
    CHECK(member.end(8) == Actions{{Kind::release, 8}});
}

TEST_CASE("rule 9 of shards: work that returned leaves its shard held until it is given up")
{
    Member member;
    member.own(10);
    CHECK(member.end(9).empty());
    CHECK(member.machine.owned().size() == 10);
    auto const actions = member.view({0, 1});
    CHECK(actions.front() == ShardMachine::Action{Kind::release, 9});
    CHECK(count(actions, Kind::stop) == 4);
    SECTION("or lost")
    {
        CHECK(member.end(0).empty());
        CHECK(member.machine.lost(0, member.now).front() == ShardMachine::Action{Kind::release, 0});
        CHECK(member.machine.owned() == Numbers{1, 2, 3, 4});
    }
}

TEST_CASE("rule 10 of shards: a member that leaves gives its membership back, then all shards")
{
    Member member;
    member.own(3);
    CHECK(member.end(0).empty());
    auto const actions = member.machine.leave(false, member.now);
    CHECK(actions.front() == ShardMachine::Action{Kind::quit});
    CHECK(count(actions, Kind::cancel) == 7);
    CHECK(count(actions, Kind::stop) == 2);
    CHECK(actions.back() == ShardMachine::Action{Kind::release, 0});
    CHECK(member.end(1) == Actions{{Kind::release, 1}});
    CHECK_FALSE(member.machine.over());
    SECTION("with a drain")
    {
        CHECK(member.end(2) == Actions{{Kind::release, 2}});
    }
    SECTION("at once")
    {
        CHECK(member.machine.leave(true, member.now) == Actions{{Kind::terminate, 2}});
        CHECK(member.end(2) == Actions{{Kind::release, 2}});
        CHECK(member.machine.leave(true, member.now).empty());
    }
    CHECK(member.machine.over());
    CHECK(member.after(100s).empty());
}

TEST_CASE("rule 11 of shards: a member without its membership keeps its shards for a ttl, and joins again")
{
    Member member;
    member.own(9);
    CHECK(member.machine.membership_lost(member.now) == Actions{{Kind::cancel}, {Kind::join}});
    CHECK(member.after(9999ms).empty());
    SECTION("in time")
    {
        CHECK(member.machine.joined({4}, member.now).empty());
        CHECK(member.view({4}).empty());
        CHECK(member.after(4s) == Actions{{Kind::claim}});
        CHECK(member.machine.owned().size() == 9);
    }
    SECTION("too late")
    {
        CHECK(count(member.after(1ms), Kind::stop) == 9);
    }
}

TEST_CASE("rule 12 of shards: a member whose claims fail for a ttl leaves, and joins again after a backoff")
{
    Member member;
    member.own(1);
    auto const fail = [&] {
        Actions actions;
        auto const begin = member.now;
        while (count(actions, Kind::quit) == 0 && member.now < begin + 20s) {
            actions = member.machine.claim_failed(member.now);
            if (count(actions, Kind::quit) == 0)
                (void)member.after(2s);
        }
        CHECK(member.now == begin + 10s);
        return actions;
    };
    auto const actions = fail();
    CHECK(actions.front() == ShardMachine::Action{Kind::quit});
    CHECK(count(actions, Kind::stop) == 1);
    CHECK(member.end(0) == Actions{{Kind::release, 0}});
    CHECK(member.after(9999ms).empty());
    CHECK(member.after(1ms) == Actions{{Kind::join}});
    SECTION("the second backoff is longer")
    {
        CHECK(member.machine.joined({0}, member.now).empty());
        (void)member.view({0});
        CHECK(count(member.after(4s), Kind::claim) == 10);
        (void)fail();
        CHECK(member.after(19999ms).empty());
        CHECK(member.after(1ms) == Actions{{Kind::join}});
    }
}

} // namespace tenure::engine
