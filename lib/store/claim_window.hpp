// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request.hpp"
#include "runtime/names.hpp"

#include <runtime/once_per_turn.hpp>
#include <runtime/timer.hpp>
#include <tenure/backend/backend.hpp>
#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>

namespace tenure::store
{

/** The claims of one server that have begun, and those that wait for their turn, first in, first out.
 *
 *  A server that gets more claims than it can answer answers none in time. So at most `size` claims have begun: each of
 *  them gets its next step without waiting here, and another begins when one ends. The server's own answers set the
 *  pace. Everything runs on the strand. */
class ClaimWindow : public std::enable_shared_from_this<ClaimWindow>
{
public:
    /** The place of a claim that has begun; another claim begins after its end. */
    class Place
    {
    public:
        Place() = default;
        explicit Place(std::shared_ptr<ClaimWindow> window) noexcept
            : window_(std::move(window))
            , series_(window_->series_)
        {
        }
        Place(Place&&) noexcept = default;
        Place& operator=(Place&& other) noexcept
        {
            std::swap(window_, other.window_);
            std::swap(series_, other.series_);
            return *this;
        }
        Place(Place const&) = delete;
        Place& operator=(Place const&) = delete;
        ~Place()
        {
            if (window_)
                window_->ended(series_);
        }

    private:
        std::shared_ptr<ClaimWindow> window_;
        /// `ClaimWindow::series_` when the claim began
        std::uint64_t series_ = 0;
    };

    /** Takes the claim's turn, or why it gets none: its deadline has passed, its owner has given up, or the window was
     *  emptied by `fail_all`. */
    using Turn = OneShot<void(std::variant<Place, Failure>&&)>;

    /** @param size  the most claims that may have begun; at least 1 */
    ClaimWindow(std::shared_ptr<Runtime> runtime, std::size_t size) noexcept;
    ClaimWindow(ClaimWindow const&) = delete;
    ClaimWindow& operator=(ClaimWindow const&) = delete;
    ~ClaimWindow() = default;

    /** True if a claim may begin at once. */
    [[nodiscard]] bool has_room() const noexcept { return begun_ < size_ && waiting_.empty(); }

    /** Begins a claim without a turn, where `has_room`. */
    [[nodiscard]] Place begin_now();

    /** Waits for the claim's turn, which is taken inside this call if there is room. A failure is never reported inside
     *  this call. */
    void begin(Deadline not_after, Turn turn);

    /** As above, for a coroutine: a failure ends its request. */
    [[nodiscard]] Step<std::variant<Place, Failure>> turn(Deadline not_after);

    /** Reports `Failure::dropped` to the waiting claims whose owners have given up. Where many wait it looks at them at
     *  most a tenth of the time. */
    void drop_abandoned();

    /** Reports the failure to all waiting claims: no server can answer them. Each call is posted. */
    void fail_all(Failure const& failure);

    /** The claims that have begun no longer count: the connection that carries them is silent, and another one carries
     *  those that follow. */
    void begin_anew();

    /** Sets the most claims that may have begun; at least 1. */
    void resize(std::size_t size);

    /** Number of claims that wait. */
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
    /** Number of claims that have begun. */
    [[nodiscard]] std::size_t begun() const noexcept { return begun_; }

private:
    struct Waiting {
        Deadline not_after;
        Turn turn;
        /// claims that were ahead of it when it came
        std::size_t ahead = 0;
        /// `turns_given_` when it came
        std::uint64_t turns_before = 0;
    };
    using Queue = std::map<std::uint64_t, Waiting>;

    void ended(std::uint64_t series) noexcept;
    void let_next_begin_soon();
    void let_next_begin();
    void tick();
    void drop_overdue(Instant now);
    void look_for_abandoned(Instant now);
    /** Posts the failure to the waiting claim, which leaves the queue. Returns the next one. */
    Queue::iterator drop(Queue::iterator place, Failure failure);
    [[nodiscard]] Failure not_its_turn(Waiting const& waiting) const;
    void arm(Instant now);

    std::shared_ptr<Runtime> runtime_;
    std::size_t size_;
    /// places of this series that are taken
    std::size_t begun_ = 0;
    /// counts calls of `begin_anew`
    std::uint64_t series_ = 0;
    /// by the order in which they came
    Queue waiting_;
    /// the deadlines of `waiting_`, except for those without an end
    std::set<std::pair<Instant, std::uint64_t>> deadlines_;
    std::uint64_t last_ticket_ = 0;
    /// to waiting claims, ever
    std::uint64_t turns_given_ = 0;
    /// when it may look for claims without an owner again
    Instant look_after_{};
    /// an owner has given up since the last look
    bool look_due_ = false;
    OncePerTurn next_;
    Timer timer_;
};
using ClaimWindowPtr = std::shared_ptr<ClaimWindow>;

} // namespace tenure::store
