// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "access.hpp"
#include "context.hpp"
#include "worker.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/store.hpp>

#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace asio = boost::asio;

/** One process of a world: a clock, an execution context, a store with the engine that ships, and workers that use it.
 *  It can be paused, die, and restart; the new process has no state of the old one. */
class Process : public Receiver
{
public:
    Process(World& world, ProcessId id);
    ~Process() override;

    void begin(std::uint64_t seed, LocalClock clock);
    /** The world is over. */
    void end() noexcept;

    // -- what happens to it --
    void start();
    void die();
    /** It is told to stop, does so, and dies. */
    void stop();
    void stand_still(Ns length);

    [[nodiscard]] ProcessId id() const noexcept { return id_; }
    [[nodiscard]] bool alive() const noexcept { return context_ != nullptr; }
    /** It was told to stop. */
    [[nodiscard]] bool stopping() const noexcept { return stopping_; }
    /** Which life this is. */
    [[nodiscard]] std::uint32_t life() const noexcept { return life_; }
    [[nodiscard]] bool stands_still() const noexcept;
    /** When it was last paused for longer than usual stalls of a machine. */
    [[nodiscard]] Ns last_trouble() const noexcept { return last_trouble_; }
    /** When its last life ended, or was told to. */
    [[nodiscard]] Ns died_at() const noexcept { return died_at_; }

    [[nodiscard]] Instant now() const noexcept;
    [[nodiscard]] Ns world_at(Instant local) const noexcept;
    [[nodiscard]] Instant instant_at(Ns world) const noexcept { return clock_.instant_at(world); }
    [[nodiscard]] Access& access() noexcept { return *access_; }
    [[nodiscard]] Access const& access() const noexcept { return *access_; }
    [[nodiscard]] std::vector<Worker>& workers() noexcept { return workers_; }
    [[nodiscard]] Settings const& settings() const noexcept;
    [[nodiscard]] Random& random() noexcept { return random_; }

    // -- for its workers --
    [[nodiscard]] Lock& job() noexcept { return *job_; }
    [[nodiscard]] Lock& plain() noexcept { return *plain_; }
    [[nodiscard]] SlotPool& slots() noexcept { return *slots_; }
    [[nodiscard]] Store& store() noexcept { return *store_; }
    /** Calls the worker's `step(number)` after that time. */
    void wake(std::uint32_t worker, std::uint32_t number, Ns after);

    template <class Function>
    void on_strand(Function function)
    {
        if (runtime_)
            asio::post(runtime_->strand(), std::move(function));
    }

    // -- for its runtime --
    Runtime::TimerId call_at(Instant when, Task task);
    void cancel(Runtime::TimerId id) noexcept;

    void on_event(std::uint32_t what, std::uint64_t value) override;

private:
    enum What : std::uint32_t { timer_rings, step, goes_on, has_stopped };
    struct Timer {
        Task task;
        std::uint32_t number = 0;
    };

    void make_store();
    void let_go();
    void look_at_what_is_left();
    /** The timer has not run yet. */
    [[nodiscard]] bool pending(Runtime::TimerId id) const noexcept;
    void run_timer(Runtime::TimerId id);

    World& world_;
    ProcessId id_;
    LocalClock clock_;
    Random random_;
    std::unique_ptr<Access> access_;
    std::unique_ptr<Context> context_;
    std::shared_ptr<Runtime> runtime_;
    std::optional<Store> store_;
    std::optional<Lock> job_;
    std::optional<Lock> plain_;
    std::optional<SlotPool> slots_;
    std::vector<Worker> workers_;
    std::vector<Timer> timers_;
    std::vector<std::uint32_t> unused_timers_;
    std::uint32_t last_timer_ = 0;
    std::uint32_t life_ = 0;
    bool stopping_ = false;
    /// it is paused until then
    Ns still_until_ = 0;
    Ns last_trouble_ = 0;
    Ns died_at_ = 0;
};

} // namespace tenure::simulation
