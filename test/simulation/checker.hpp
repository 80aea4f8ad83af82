// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "message.hpp"
#include "model.hpp"

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>

#include <boost/system/error_code.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenure
{
class Lease;
}

namespace tenure::simulation
{

/** The fencing token of a lease; 0 without fencing. */
[[nodiscard]] inline std::uint64_t token_of(Lease const& lease)
{
    return lease.has_fencing_token() ? lease.fencing_token() : 0;
}

using boost::system::error_code;

class Process;
class Worker;
class World;

/** One lease, as its holder and the checker know it. */
struct Holding {
    Lease const* lease = nullptr;
    CancellationToken token;
    ProcessId process = 0;
    RangeId range{};
    KeyId key = 0;
    OwnerId owner = 0;
    Ns granted = 0;
    /// when the store's first grant came
    Ns answered = 0;
    /// its ttl was changed
    bool resized = false;
    /// the store lost it, through no fault of the library: another may hold the key
    bool robbed = false;
    /// the token's answer has come
    bool told = false;
    bool fired = false;
    CancelReason reason = CancelReason::none;
    /// the release has begun
    bool released = false;
    bool fired_before_release = false;
    /// the instant and the world of the last check
    Instant seen_until = Instant::min();
    Ns until_world = 0;
    std::uint32_t seen_version = 0;
};

struct Violation {
    Rule rule = Rule::none;
    Ns when = 0;
    std::string text;
};

/** Looks at the world after every event, and compares what holders believe with what the store knows. It never asks the
 *  library anything that changes it. */
class Checker
{
public:
    explicit Checker(World& world) noexcept
        : world_(world)
    {
    }

    void begin();
    void violate(Rule rule, std::string text);
    [[nodiscard]] Violation const& violation() const noexcept { return violation_; }
    [[nodiscard]] bool violated() const noexcept { return violation_.rule != Rule::none; }

    /** After every event. */
    void look();
    /** No task is ready, and time advances: all immediate duties must be done. */
    void nothing_ready();

    // -- what the store does --
    void granted(KeyId key, std::uint64_t fence);
    void holds_again(KeyId key, OwnerId owner);
    void robbed(KeyId key, OwnerId owner);
    void fence_lost(KeyId key, Ns store_micros);
    void clock_jumped(Ns store_micros);
    /** A release freed a key of another owner. */
    void freed(KeyId key, OwnerId by);
    /** A key is kept in quarantine after this owner. */
    void rests(KeyId key, OwnerId owner);

    // -- what the library does --
    void asks(Process& process, Message const& message);
    void answered(Process& process, Message const& message, Instant since);
    /** An answer has arrived that gives the owner `ttl` from `since` on. */
    void justify(OwnerId owner, Instant since, Ns ttl, std::uint64_t token);
    /** The engine is told the answer. */
    void told(Process& process, Message const& message);
    /** A renewal reached the store that was handed over at this time, after a release on the same way or not. */
    void renewal_written(OwnerId owner, Ns when, bool after_release);
    /** The answer has come to a release of this owner, which named a waiter of another process. */
    void release_named_another(OwnerId owner) { justified_[owner].named_another = true; }
    /** The process was told that the store does not know a script that it called by its name; the call was handed over
     * at `written`. */
    void told_unknown_script(Process& process, std::uint64_t script, Ns written);
    /** Something that the process asked takes another round trip through no fault of the network. */
    void slowed(Process const& process);
    /** The store has lost its scripts. */
    void scripts_forgotten() { unknown_scripts_.clear(); }
    /** Something about this owner was asked, or ended. */
    void asked(OwnerId owner);
    [[nodiscard]] bool released(OwnerId owner) { return justified_[owner].released; }
    void claim_ended(Process& process, RangeId range);
    /** A key may be free, or it is the process's turn: its waiter must claim at once. */
    void hinted(Process& process, RangeId range);
    /** By whose release others were named. */
    enum class NamedBy : std::uint8_t { another, its_release };
    /** Others were named: the process's waiter holds back for a moment, and then claims. */
    void others_named(Process& process, RangeId range, NamedBy by);

    // -- what users do and see --
    void wants(Process& process, RangeId range);
    void ended_waiting(Process& process, RangeId range);
    void must_end(Process& process, Worker& worker);
    /** A user was given this owner's lease. */
    void handed_out(OwnerId owner) { justified_[owner].handed_out = true; }
    void acquired(
        Process& process, Holding& holding, Lease const& lease, RangeId range, std::uint32_t index, std::uint32_t turn);
    void token_answered(Process& process, Holding& holding, error_code error);
    void releases(Process& process, Holding& holding, bool fired_before);
    /** How often the store has lost a key's holder, or what was to keep the key taken. */
    [[nodiscard]] std::uint32_t robberies(KeyId key) const { return robberies_.at(key); }
    /** The user was told that the key is kept until then.
     *  @param robberies  as they were when he asked for it: one since excuses the store */
    void detached(KeyId key, Ns until, std::uint32_t robberies);
    void forget(Holding& holding) noexcept;
    void dies(Process& process);

    std::uint64_t grants = 0;
    std::uint64_t losses = 0;

private:
    /** The conclusions that answers to an owner's requests justify. */
    struct Justified {
        Instant until = Instant::min();
        /// its lease is over, and since when
        bool released = false;
        bool fired = false;
        Ns over = 0;
        /// a user was given its lease
        bool handed_out = false;
        /// its release named a waiter of another process
        bool named_another = false;
        /// the last fencing tokens that were given to it
        std::array<std::uint64_t, 4> tokens{};
        Ns delivered = 0;
        /// when the first grant came
        Ns granted = 0;
        /// when anything about it was last asked or answered
        Ns last_asked = 0;
    };
    /** Something a process has to do before time goes on. */
    struct Duty {
        Rule rule;
        ProcessId process;
        std::uint32_t life;
        RangeId range;
        std::uint32_t turn;
        Worker* worker;
        Holding* holding;
        Ns since;
    };
    /** How a process holds back when others were named. */
    struct Courtesy {
        /// when it was notified; 0: not, or it need no longer hold back
        Ns told = 0;
        /// it claimed right after that
        bool hasty = false;
        /// how often it did, one time after the other
        unsigned in_a_row = 0;
    };
    /** A process calls a script by its name that the store does not know. */
    struct UnknownScript {
        /// when it was told
        Ns told = 0;
        /// how often it did it again, well after that
        unsigned again = 0;
    };
    /** One process's waiting for one range. */
    struct Waiting {
        /// by `NamedBy`
        std::array<Courtesy, 2> courtesy;
        /// when it last heard that others were named and has not claimed since; 0: it has
        Ns yields_since = 0;
        /// when a claim was last sent or answered
        Ns last_claim = 0;
        /// until then it waits for the answer of a claim, if one is under way
        Ns patient_until = 0;
        /// claims it may send before it counts as a storm
        double allowance = 0;
        Ns counted = 0;
    };

    void wake_at(Holding& holding);
    void look_at_validity(Holding& holding, Instant until);
    [[nodiscard]] bool done(Duty const& duty) const;
    void sweep();
    /** It is over for its holder. */
    void ends(Holding const& holding, Ns when);
    void look_for_leftovers();
    void look_at_rest(KeyId id);
    void look_at_waiters();
    void look_at_waiter(Process& process, Worker const& worker);
    void look_at_lines();
    /** A worker of the process that has waited since before this instant without a fault meanwhile. */
    [[nodiscard]] Worker* listener(Process& process, RangeId range) const;
    void claims(Process& process, Message const& message);
    void look_at_busy(Message const& message);
    /** It has another reason to claim. */
    static void need_not_hold_back(Waiting& waits) noexcept;
    void judge_loss(Process& process, Holding const& holding);
    [[nodiscard]] Ns last_trouble(Process const& process) const;
    [[nodiscard]] Waiting& waiting(Process const& process, RangeId range);
    [[nodiscard]] Ns longest_ttl() const;

    World& world_;
    Violation violation_;
    std::vector<Holding*> holdings_;
    std::vector<Duty> duties_;
    std::unordered_map<OwnerId, Justified> justified_;
    std::vector<std::pair<KeyId, OwnerId>> robbed_;
    std::array<std::uint64_t, key_count> last_fence_{};
    /// the store has lost the key's fence since the last grant
    std::array<bool, key_count> fence_lost_{};
    std::array<std::array<Waiting, range_count>, most_processes> waiting_{};
    std::map<std::pair<ProcessId, std::uint64_t>, UnknownScript> unknown_scripts_;
    /// when something that it asked last took another round trip through no fault of the network
    std::array<Ns, most_processes> slowed_{};
    Ns next_sweep_ = 0;
    std::array<Ns, key_count> free_since_{};
    /// the key may not be granted before this instant of the world
    std::array<Ns, key_count> rests_until_{};
    std::array<std::uint32_t, key_count> robberies_{};
};

} // namespace tenure::simulation
