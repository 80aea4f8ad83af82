// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "attack.hpp"
#include "share_work.hpp"

#include "harness/auditor.hpp"
#include "harness/child_process.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A lease that a stranger took away in the store. */
struct Robbery {
    std::uint32_t cell = 0;
    std::uint64_t fencing_token = 0;
    pid_t pid = 0;
    std::int64_t at = 0;
};

/** The disturbances of workers, counted by kind. */
struct FleetCounts {
    /// holders that were stopped for longer than their ttl
    std::uint64_t long_pauses = 0;
    std::uint64_t kills = 0;
    /// the processes among those killed that only waited
    std::uint64_t waiters_killed = 0;
    /// the same of those that were stopped for longer than the ttl
    std::uint64_t waiters_stopped = 0;
    /// longest time from SIGKILL of a holder until the next holder of its key
    std::int64_t slowest_return = 0;
};

/** The worker processes, and what is done to them. Belongs to the thread that made it. */
class Fleet
{
public:
    struct Setup {
        Arena arena;
        /// the command line of workers: the program and its first arguments are the same for all
        std::string program;
        /// the part of each worker, if the locks are held in shares; `number` is filled in. Unset: plain locks
        std::optional<ShareWork> shares;
        std::vector<std::string> urls;
        std::string audit;
        std::string testimony;
        std::string register_socket;
        std::string output;
        std::string mutant;
        /// of each worker
        unsigned tasks = 2;
        std::uint64_t seed = 0;
    };
    Fleet(Setup setup, test::Auditor const& auditor, Ledger& ledger);

    /** The disturbances of workers, which are the same for all stores. */
    [[nodiscard]] std::vector<Disturbance> disturbances();

    /** From now on some process is stopped or killed every 0.5 to 1.2 s, whether it holds or waits. */
    void harass() { harasses_at_ = test::boottime_ns(); }
    /** Lets processes go on that were stopped for long enough, and replaces those that have ended. */
    void turn();
    /** Lets all go on. */
    void resume_all();
    /** SIGTERM to all; waits until they have given back what they held. */
    void end(std::chrono::milliseconds limit);

    /** A lease that is live now, of a process that runs. */
    [[nodiscard]] std::optional<test::Holding> some_holder();
    /** Of those the one that has been held for the longest time. */
    [[nodiscard]] std::optional<test::Holding> oldest_holder();
    /** The token of who is live in a cell now. */
    [[nodiscard]] std::optional<std::uint64_t> holder_of(std::uint32_t cell) const;
    void robbed(test::Holding const& victim);
    /** Calls the function while the process is stopped. False: the process does not run. */
    bool while_stopped(pid_t pid, std::function<void()> const& deed);

    [[nodiscard]] std::vector<Robbery> const& robberies() const noexcept { return robberies_; }
    [[nodiscard]] FleetCounts const& counts() const noexcept { return counts_; }

private:
    /** A process that is stopped now. */
    struct Pause {
        std::int64_t begin;
        std::int64_t until;
        /// in the ledger
        std::size_t fault;
        /// a lease that it held when it stopped
        bool holder;
    };
    struct Worker {
        test::ChildProcess process;
        std::int64_t started = test::boottime_ns();
        std::optional<Pause> pause = std::nullopt;
        /// told to end: its end is no mishap
        bool ending = false;
    };

    [[nodiscard]] test::ChildProcess start(std::size_t number);
    void begin_anew(Worker& worker);
    [[nodiscard]] Worker* worker_of(pid_t pid);
    /** All leases that are live now, of processes that run. */
    [[nodiscard]] std::vector<test::Holding> holders();
    /** A random worker that runs and holds a lease. */
    [[nodiscard]] Worker* some_holding_worker();
    void resume(Worker& worker);
    /** Starts another in the place of one that was killed. */
    void replace(Worker& killed);
    void strike_any();
    void stop(Worker& worker, std::string name, std::chrono::milliseconds time);
    void kill(Worker& worker, std::string name);
    bool pause(Attack& attack, bool briefly);
    bool kill_holder(Attack& attack);
    bool kill_any(Attack& attack);
    bool block_loop(Attack& attack);
    bool restart_gently(Attack& attack);
    void wait_for_return(Attack& attack, std::vector<test::Holding> const& left_behind, std::int64_t killed);

    Setup setup_;
    test::Auditor const& auditor_;
    Ledger& ledger_;
    Random random_;
    std::uint64_t started_ = 0;
    std::vector<Worker> workers_;
    /// when some process is stopped or killed next; unset: none
    std::optional<std::int64_t> harasses_at_;
    std::vector<Robbery> robberies_;
    FleetCounts counts_;
};

} // namespace tenure::faults
