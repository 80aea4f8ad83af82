// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "follower.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tenure::engine
{

class Handle;

/** A user's wait for the store to become ready. Asks the store until it is ready, a person must act, or the time is
 *  over. Everything but `start` runs on the strand. */
class Readiness final : public Call<>, public Follower, public std::enable_shared_from_this<Readiness>
{
public:
    using Call<>::Call;

    /** Keeps the store open until the end of the wait. */
    void begin(std::shared_ptr<Handle> handle, std::chrono::milliseconds timeout);

    /** Completes the wait: after the answer, the timeout, the user's cancellation or the end of the store. */
    void complete(error_code error);

    /** The context is being destroyed: handlers are no longer called. */
    void abandon() noexcept override;

    /** It asks again after a pause in any case. */
    void reachable() override {}
    void store_closes() override { complete(make_error_code(errc::closed)); }
    [[nodiscard]] bool has_caller() const noexcept override { return true; }

private:
    void ask();
    void answered(ReadyReply const& reply);
    void ask_later();
    void time_is_over();
    void stop_timers() noexcept;

    /// null before the beginning and after the end
    std::shared_ptr<Handle> handle_;
    /// the store stops trying to connect: a little before the timeout, so that its answer can name the cause
    Instant ask_until_{};
    /// the last failure; no error if there was none
    error_code last_;
    /// its details
    std::string last_detail_;
    Clock::duration pause_{};
    /// ends the wait; unset before the beginning
    std::optional<Timer> timeout_timer_;
    /// asks again
    std::optional<Timer> pause_timer_;
    /// unwritten requests read it
    RequestMark mark_;
};

} // namespace tenure::engine
