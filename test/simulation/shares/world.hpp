// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "locks/linked_world.hpp"
#include "paused_runtime.hpp"
#include "place_book.hpp"
#include "shared_store.hpp"

#include <tenure/lease.hpp>
#include <tenure/store.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::simulation
{

namespace asio = boost::asio;

/** Fair locks, read-write locks and semaphores of a few processes, and a checker that compares what their users are
 *  given with what the book of places says. */
class ShareWorld final : private LinkedWorld
{
public:
    explicit ShareWorld(std::uint64_t seed);
    SmallOutcome run() { return run_for(1200); }

private:
    static constexpr std::array<char const*, 3> keys{"fair", "read-write", "semaphore"};

    /** One acquisition, from the call until its lease is given up. */
    struct Attempt {
        std::string key;
        Share share;
        bool done = false;
        bool cancelled = false;
        /// its process has crashed
        bool forgotten = false;
        asio::cancellation_signal cancel;
    };

    struct Process {
        /// unique to this life
        std::string name;
        std::shared_ptr<PausedRuntime> runtime;
        std::shared_ptr<ProcessLink> link;
        std::optional<Store> store;
        std::uint32_t permits = 3;
        Instant born{};
        /// until when it was paused last
        Instant stood_still{};
    };

    struct Worker {
        unsigned process = 0;
        /// it waits, or `lease` is its result
        std::shared_ptr<Attempt> attempt;
        Lease lease;
    };

    /** The end of an acquisition: what it had in the store may stay there for a moment. */
    struct Ended {
        std::string process;
        std::string key;
        Instant at;
    };

    // -- what happens --
    void operate() override;
    void start(Process& process);
    void ask(Worker& worker);
    void acquired(Worker& worker, std::shared_ptr<Attempt> const& attempt, error_code error, Lease lease);
    void give_up(Worker& worker);
    void over(Worker& worker);
    void disturb();
    void crash(Process& process);
    void finish() override;

    // -- what must hold --
    void look() override;
    void look_at_sums();
    void look_at_leases();
    void look_at_places();
    void look_at_new(Attempt const& attempt, Lease const& lease);
    void look_at_lapse(PlaceBook::Place const& place);
    void look_at_given_back(std::string const& owner);

    /** Nothing has gone wrong with the process for this time. */
    [[nodiscard]] bool undisturbed(Process const& process, Clock::duration time) const;
    [[nodiscard]] std::ptrdiff_t recently_ended(std::string const& process, std::string const& key) const;
    [[nodiscard]] Process* process_called(std::string const& name);
    Process& process_of(Worker const& worker) { return processes_[worker.process]; }
    Worker& any_worker() { return workers_[random_.below(static_cast<std::uint32_t>(workers_.size()))]; }

    PlaceBook book_{time_};
    std::unique_ptr<SharedStore> store_;
    std::chrono::milliseconds ttl_;
    /// between two claims of a waiter
    std::chrono::milliseconds longest_pause_;
    std::vector<Process> processes_;
    std::vector<Worker> workers_;
    std::vector<Ended> ended_;
    /// until when messages took long
    Instant slow_until_{};
    bool slow_ = false;
    /// by key: the greatest tokens of leases that were exclusive, and of all
    std::array<std::array<std::uint64_t, 2>, keys.size()> tokens_{};
};

/** Four processes that take turns at a fair lock without a fault. The waits of one are shorter than its turn takes. */
[[nodiscard]] SmallOutcome run_fair_world(std::uint64_t seed);

} // namespace tenure::simulation
