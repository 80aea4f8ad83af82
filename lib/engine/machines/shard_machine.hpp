// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tenure::engine
{

/** The terms of a member of a shard group. */
struct ShardTerms {
    /// how many shards the group has
    std::uint32_t shards = 0;
    Clock::duration ttl{};
    /// time between two reads of the members
    Clock::duration refresh{};
    /// how long a member changes nothing after it has joined, and after its view was stale
    Clock::duration settle{};
    /// how long numbers that have vanished count as live for claims
    Clock::duration pause{};
    /// how long the work of a shard may go on after its shard was given up
    Clock::duration drain{};
};

/** Which shards a member of a group claims and gives up, and how their work ends. A pure state machine; no I/O, no
 *  clock.
 *
 *  A member holds numbers of a pool of members, and shards of a pool of shards.
 *
 *  1. With q = N / M and r = N mod M, each of the r lowest live member numbers counts for q + 1 shards, others for q.
 *  2. Nothing is claimed or given up while the view is stale, without membership, or until `settle` after their begin.
 *  3. Above its share the member first cancels pending claims, then gives up its newest shards.
 *  4. Below its share it claims, at most 32 at a time; numbers that vanished within `pause` still count as live then.
 *  5. Shards whose work is ending count for no share; such a number is given back, and no claim begins for a refresh.
 *  6. A grant above the share is given back before its work begins.
 *  7. A shard that is given up is renewed until its work has ended, and then released.
 *  8. Work that goes on for `drain` after that gets `terminal`, and a second later its shard is no longer renewed.
 *  9. Work that returned by itself is finished: its shard stays held without work until it is given up.
 * 10. A member that leaves first gives its membership back, and then all shards.
 * 11. Without its membership a member cancels its claims and joins again; after a ttl it gives up all shards.
 * 12. A member whose claims fail for a ttl leaves, and joins again after a backoff of 1 to 16 ttl. */
class ShardMachine
{
public:
    using Number = std::uint32_t;
    /// most claims that are pending at a time
    static constexpr std::size_t most_claims = 32;
    /// for work that got `terminal`
    static constexpr std::chrono::seconds patience{1};

    /** What to do; in this order. */
    struct Action {
        enum class Kind : std::uint8_t {
            /// acquire the numbers of the member
            join,
            /// release them, or stop acquiring them
            quit,
            /// wait for any shard
            claim,
            /// cancel the claim that began last
            cancel,
            /// release the shard that was just granted; its work has not begun
            give_back,
            /// begin the work of the shard
            begin,
            /// cancel its work (total)
            stop,
            /// cancel its work (terminal)
            terminate,
            /// renew it no longer: its work ignores that
            abandon,
            /// release the shard, which has no work; it may be lost
            release
        };
        Kind kind;
        Number shard = 0;

        friend bool operator==(Action const&, Action const&) = default;
    };
    using Actions = std::vector<Action>;

    explicit ShardMachine(ShardTerms const& terms) noexcept
        : terms_(terms)
    {
    }

    // -- the member --

    /** Joins, the first time; then whenever `wake_at` says. */
    [[nodiscard]] Actions tick(Instant now) { return decide(now); }
    /** The member holds these numbers. */
    [[nodiscard]] Actions joined(std::vector<Number> numbers, Instant now);
    /** One of the numbers was lost; the others are released. */
    [[nodiscard]] Actions membership_lost(Instant now);
    /** The store has shown these live numbers. */
    [[nodiscard]] Actions viewed(std::span<Number const> live, Instant now);
    /** The view has not been confirmed for too long. */
    [[nodiscard]] Actions view_stale(Instant now);
    /** The run ends.
     *  @param at_once  without a drain */
    [[nodiscard]] Actions leave(bool at_once, Instant now);

    // -- shards --

    /** A claim has got this shard.
     *  @param cancelled  it was cancelled before */
    [[nodiscard]] Actions granted(Number shard, bool cancelled, Instant now);
    /** A claim that was not cancelled has failed. */
    [[nodiscard]] Actions claim_failed(Instant now);
    /** The lease of the shard is lost; work under it gets `terminal` without an action. */
    [[nodiscard]] Actions lost(Number shard, Instant now);
    /** The work of the shard has ended. */
    [[nodiscard]] Actions work_ended(Number shard, Instant now);

    // -- what is so --

    /** When to call `tick`, after the last event. */
    [[nodiscard]] Instant wake_at() const;
    /** The shards that count, in the order of their grants. */
    [[nodiscard]] std::vector<Number> owned() const;
    /** The live members, as far as known. */
    [[nodiscard]] std::vector<Number> const& live() const noexcept { return live_; }
    /** How many shards count for the member.
     *  @param with_vanished  numbers that vanished within `pause` count as live */
    [[nodiscard]] std::size_t share(bool with_vanished = false) const;
    [[nodiscard]] std::size_t pending() const noexcept { return pending_; }
    /** It is a member whose view counts. */
    [[nodiscard]] bool settled(Instant now) const noexcept
    {
        return member_ == Member::is && !stale_ && now >= settled_at_;
    }
    /** The member has left, and has no shard. */
    [[nodiscard]] bool over() const noexcept { return member_ == Member::left && held_.empty(); }

private:
    using Kind = Action::Kind;
    enum class Member : std::uint8_t {
        /// not begun, or in a backoff
        out,
        joins,
        is,
        /// for good: its shards end
        left
    };
    struct Held {
        /// lost: also abandoned
        enum class State : std::uint8_t { works, finished, stops, terminated, lost };
        Number shard;
        State state = State::works;
        /// when its work is terminated, then when its shard is abandoned
        Instant stop_by = Instant::max();

        [[nodiscard]] bool counts() const noexcept { return state <= State::finished; }
    };

    /** Adds the actions that follow from the state, and returns all of them. */
    [[nodiscard]] Actions decide(Instant now);
    void balance(Instant now);
    /** Gives the membership, all claims and all shards back. */
    void go(Instant now);
    void cancel_claims(std::size_t count);
    void give_up_newest(std::size_t count, Instant now);
    /** The end of its work takes the next step. */
    void advance(Held& held, Held::State state, Instant stop_by, Kind action);
    void release(std::vector<Held>::iterator held);
    [[nodiscard]] auto find(Number shard) { return std::ranges::find(held_, shard, &Held::shard); }

    ShardTerms terms_;
    Member member_ = Member::out;
    /// of this member; empty unless it is one
    std::vector<Number> numbers_;
    /// as viewed last
    std::vector<Number> live_;
    /// numbers that are no longer live, and until when they count for claims
    std::vector<std::pair<Number, Instant>> vanished_;
    bool stale_ = true;
    Instant settled_at_ = Instant::min();
    /// rule 11; max: it has its membership, or leaves
    Instant gives_up_at_ = Instant::max();
    /// the end of the last backoff
    Instant joins_at_ = Instant::min();
    /// of which none was cancelled
    std::size_t pending_ = 0;
    /// no claim begins earlier
    Instant claims_from_ = Instant::min();
    /// the first failure of a claim since the last grant
    std::optional<Instant> failing_since_;
    unsigned backoffs_ = 0;
    /// in the order of their grants
    std::vector<Held> held_;
    /// of the event that is being decided
    Actions actions_;
    /// the last event
    Instant now_ = Instant::min();
};

} // namespace tenure::engine
