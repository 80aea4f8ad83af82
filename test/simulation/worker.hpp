// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "checker.hpp"
#include "model.hpp"
#include "random.hpp"

#include <tenure/errc.hpp>
#include <tenure/lease.hpp>
#include <tenure/slot.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace tenure::simulation
{

namespace asio = boost::asio;
class Process;
class World;

/** The exception of users' code here. */
struct UserError {
};

/** A user of the library: acquires, works, looks at its token, and releases, in the many ways in which users do. */
class Worker
{
public:
    Worker(World& world, Process& process, std::uint32_t number, std::uint64_t seed);

    void start();
    /** Its process ends: whatever it does, it stops, and begins nothing more. */
    void stop();
    /** Its process has died. */
    void forget() noexcept;

    /** The time it wanted to wait for is over; on the user's executor. */
    void step(std::uint32_t number);

    // -- for the checker --
    [[nodiscard]] bool waiting() const noexcept { return phase_ == Phase::acquiring; }
    [[nodiscard]] bool patient() const noexcept { return patient_; }
    [[nodiscard]] RangeId range() const noexcept { return range_; }
    [[nodiscard]] std::uint32_t turn() const noexcept { return turn_; }
    [[nodiscard]] Ns asked_at() const noexcept { return asked_at_; }
    [[nodiscard]] Ns must_end_at() const noexcept { return must_end_at_; }
    [[nodiscard]] Holding const& holding() const noexcept { return *holding_; }

private:
    enum class Phase : std::uint8_t { idle, acquiring, holding, stopped };

    void rest(Ns longest);
    void wake_after(Ns time);
    void acquire();
    void cancel();
    void acquired(std::uint32_t turn, error_code error, Lease lease, std::uint32_t index);
    void hold(Lease lease, std::uint32_t index);
    void look();
    void token_answers(std::uint32_t turn, error_code error);
    void resize();
    void give_up_lease();
    void detach();

    World& world_;
    Process& process_;
    std::uint32_t number_;
    Random random_;
    Phase phase_ = Phase::idle;
    RangeId range_{};
    /// which acquisition and lease this is
    std::uint32_t turn_ = 0;
    /// which call of `step` is awaited
    std::uint32_t wake_number_ = 0;
    bool patient_ = false;
    bool will_cancel_ = false;
    /// it has seen its token fire, and winds down
    bool winds_down_ = false;
    Ns asked_at_ = 0;
    Ns must_end_at_ = 0;
    Ns hold_until_ = 0;
    Lease lease_;
    /// stays where it is: the checker looks at it
    std::unique_ptr<Holding> holding_;
    std::unique_ptr<asio::cancellation_signal> cancel_;
};

} // namespace tenure::simulation
