// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "link.hpp"
#include "linked_world.hpp"

#include <tenure/errc.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/store.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tenure::simulation
{

namespace asio = boost::asio;

/** MultiLocks over a few keys, and a checker that compares what their users are given with what the store knows. */
class MultiWorld final : private LinkedWorld
{
public:
    explicit MultiWorld(std::uint64_t seed);

    SmallOutcome run() { return run_for(1600); }

private:
    static constexpr unsigned processes = 3;
    static constexpr unsigned workers_of_process = 2;
    static constexpr unsigned keys = 5;
    static constexpr std::chrono::milliseconds ttl{1000};
    /// a try on a silent store
    static constexpr std::chrono::milliseconds try_lasts = ttl;

    /** One acquisition, from the call until its set is given up. Its owners in the store bear the note. */
    struct Attempt {
        std::string note;
        /// in the order named
        std::vector<unsigned> named;
        /// in the order in which all processes wait for them
        std::vector<unsigned> ordered;
        Instant ends_at;
        bool is_try = false;
        bool cancelled = false;
        bool done = false;
        /// the token of its set has answered
        bool told = false;
        /// its process has crashed: this record no longer counts
        bool forgotten = false;
        /// it has lost a key, which it holds again later, if at all
        bool lost_some = false;
        /// the owner under each key, as the store knew it at the last look
        std::array<std::string, keys> seen;
        asio::cancellation_signal cancel;
    };
    struct Worker {
        unsigned process;
        /// it waits, or `set` is its result
        std::shared_ptr<Attempt> attempt;
        LeaseSet set;
    };
    struct Process {
        std::shared_ptr<Link> link;
        std::optional<Store> store;
    };
    /** An acquisition that is over: nothing of it may stay in the store. */
    struct Over {
        std::shared_ptr<Link> link;
        Instant since;
        bool crashed;
    };
    /** The store's knowledge of a key. */
    struct Known {
        /// empty: free
        std::string owner;
        /// of the acquisition
        std::string note;
        Instant free_since{};
    };

    // -- what happens --
    void operate() override;
    void start(Process& process);
    void ask(Worker& worker);
    void acquired(Worker& worker, std::shared_ptr<Attempt> const& attempt, error_code error, LeaseSet set);
    void cancel(Worker& worker);
    void give_up(Worker& worker);
    void disturb();
    void crash(Process& process);
    void over(Worker& worker, bool crashed);
    void finish() override;

    // -- what must hold --
    void look() override;
    void look_at_store();
    void look_at_leftovers();
    void look_at_set(Worker const& worker);
    /** Notes what it holds, and whether it has lost a key. */
    void look_at_keys(Worker const& worker);
    void look_at_attempt(Worker const& worker);
    void look_at_order(Worker const& worker);
    void look_for_circle(Worker const& worker);
    void look_at_new_set(Worker const& worker, Attempt const& attempt, LeaseSet const& set);
    /** The acquisition waits, and nothing that it asked is under way. */
    [[nodiscard]] bool settled(Worker const& worker) const;
    /** Nothing has gone wrong for longer than the longest pause between two attempts. */
    [[nodiscard]] bool quiet(Link const& link) const;
    /** The first key that the worker's acquisition does not hold; unset if it holds all. */
    [[nodiscard]] std::optional<unsigned> first_missing(Attempt const& attempt) const;

    Process& process_of(Worker const& worker) { return processes_[worker.process]; }
    [[nodiscard]] Process const& process_of(Worker const& worker) const { return processes_[worker.process]; }
    Worker& any_worker() { return workers_[random_.below(static_cast<std::uint32_t>(workers_.size()))]; }

    std::array<KeyRangePtr, keys> ranges_;
    std::array<Known, keys> known_;
    std::vector<Process> processes_;
    std::vector<Worker> workers_;
    std::map<std::string, Over> over_;
    /// owners whose key was removed or overwritten
    std::set<std::string> robbed_;
    /// of the last set that was handed out
    std::array<std::uint64_t, keys> tokens_{};
    /// until when everything last was paused
    Instant stood_still_{};
};

} // namespace tenure::simulation
