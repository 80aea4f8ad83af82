// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "pool.hpp"
#include "random.hpp"
#include "timeline.hpp"

#include <engine/machines/shard_machine.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tenure::simulation
{

using Number = engine::ShardMachine::Number;

/** The shared state of the members of a world. */
struct ShardSurroundings {
    Timeline& timeline;
    Random& random;
    engine::ShardTerms terms;
    Pool members;
    Pool shards;
    Instant outage_until = Instant::min();
    Pool::Id last_id = 0;
    /// some reads of the members take long
    bool answers_slowly = false;
    /// claims fail until then
    Instant refuses_until = Instant::min();
    /// a rule was broken
    std::function<void(std::string)> violation;
    /// the work of a shard is about to begin at a member
    std::function<void(Number, unsigned)> begins;
    std::function<void(std::string_view)> count;
};

/** One process: a machine, and around it leases, requests and works that take time. */
class ShardMember
{
public:
    ShardMember(ShardSurroundings& around, unsigned id, unsigned weight, bool hangs);
    ShardMember(ShardMember const&) = delete;
    ShardMember& operator=(ShardMember const&) = delete;

    void start();
    void leave();
    void kill() { killed_ = true; }
    /** Stands still until then. */
    void stop(Instant until);
    /** Its reads of the members are not answered until then. */
    void blind(Instant until) { blind_until_ = until; }
    /** A member was released: read the members soon. */
    void hint();

    [[nodiscard]] bool killed() const noexcept { return killed_; }
    /** It runs, and neither leaves nor has left. */
    [[nodiscard]] bool stays() const noexcept { return !killed_ && !leaves_; }
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] unsigned id() const noexcept { return id_; }
    [[nodiscard]] unsigned weight() const noexcept { return weight_; }
    [[nodiscard]] engine::ShardMachine const& machine() const noexcept { return machine_; }
    [[nodiscard]] Number lowest_number() const { return numbers_.empty() ? 0 : numbers_.begin()->first; }
    /** It has work of the shard whose lease is valid. */
    [[nodiscard]] bool works_validly(Number shard) const;
    /** It has work of the shard. */
    [[nodiscard]] bool works(Number shard) const;
    [[nodiscard]] std::size_t hung() const;

private:
    using Id = Pool::Id;
    struct Lease {
        Id id;
        Instant valid_until;
        bool renews = true;
    };
    struct Work {
        /// of its lease
        Id id;
        std::optional<Instant> stopped_at;
        bool lease_lost = false;
        bool terminated = false;
    };

    /** Plans something that this process does. */
    void later(Clock::duration delay, std::function<void()> what);
    /** Plans a request: executed by the store unless it is unavailable. */
    void ask(std::function<void()> at_store, std::function<void()> unanswered);
    void reply(std::function<void()> what) { later(latency(), std::move(what)); }
    [[nodiscard]] Clock::duration latency();
    [[nodiscard]] Instant now() const { return around_.timeline.now(); }

    void perform(engine::ShardMachine::Actions const& actions);
    void perform(engine::ShardMachine::Action action, bool leaving);
    void read();
    void read_once(Clock::duration slow);
    void answered(Instant asked, std::vector<Number> const& taken);
    void check_stale(Instant asked);
    void claim(Pool& pool, Id id, Instant asked);
    void got(Pool& pool, Id id, Number number, Instant asked);
    void claim_shard();
    void claim_member();
    void renew();
    void watch(Id id);
    void lease_lost(Id id);
    void membership_lost();
    void release(Pool& pool, Id id);
    void end_work(Number shard, Clock::duration after);
    void end_work_now(Number shard, Id id);
    [[nodiscard]] std::size_t share(bool with_vanished) const;
    [[nodiscard]] bool may_change() const;
    [[nodiscard]] Instant valid_until(Instant sent) const;

    ShardSurroundings& around_;
    unsigned id_;
    unsigned weight_;
    /// its work ignores every cancellation
    bool hangs_;
    engine::ShardMachine machine_;
    bool killed_ = false;
    bool leaves_ = false;
    bool ended_ = false;
    Instant stopped_until_ = Instant::min();
    std::deque<std::function<void()>> missed_;
    Instant blind_until_ = Instant::min();

    std::map<Number, Id> numbers_;
    /// one of them was lost before all were there
    bool lost_while_joining_ = false;
    std::map<Id, Lease> leases_;
    /// pending, not cancelled
    std::vector<Id> member_claims_;
    std::vector<Id> shard_claims_;
    /// granted by the store, and not known here
    std::set<Id> arriving_;
    /// of these, those that were cancelled too late
    std::set<Id> winning_;
    std::map<Number, Id> shards_;
    /// that was granted last
    Id granted_ = 0;
    /// may be two of one shard, if a rule is broken
    std::multimap<Number, Work> works_;
    std::vector<Number> owned_;

    // the last view, as the world knows it
    Instant read_ = Instant::min();
    bool stale_ = true;
    Instant settled_at_ = Instant::max();
    std::vector<Number> live_;
    std::map<Number, Instant> vanished_;
    Instant membership_lost_at_ = Instant::max();
    std::uint64_t ticks_ = 0;
};

} // namespace tenure::simulation
