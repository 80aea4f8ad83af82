// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "view_cache.hpp"

#include "engine/core.hpp"
#include "engine/follower.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/view.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tenure::locks
{

class ViewHandle;

/** Keeps the cache of one view up to date: reads the keys periodically, and completes waits for a change. */
class ViewReader final : public engine::Follower, public std::enable_shared_from_this<ViewReader>
{
public:
    /** Completes the handler of the user, and does nothing else. */
    using Notify = OneShot<void(engine::Known, error_code, ViewSnapshot&&)>;

    /** @param names_only  as `InspectRequest::names_only` */
    ViewReader(
        std::shared_ptr<Runtime> runtime, KeyRangePtr range, std::chrono::milliseconds refresh, ViewCache::Same same,
        bool names_only);

    // -- any thread --

    [[nodiscard]] KeyRangePtr const& range() const noexcept { return range_; }
    [[nodiscard]] bool forked() const noexcept { return fork_mark_.forked(); }
    /** True after the end of the reading. */
    [[nodiscard]] bool over() const noexcept { return mark_.ended.load(std::memory_order_acquire); }

    [[nodiscard]] ViewSnapshot snapshot();
    /** Completes as soon as the version differs from `seen`.
     *  @param slot  cancels the wait
     *  @param view  kept alive until then */
    void wait(std::uint64_t seen, asio::cancellation_slot slot, Notify notify, std::shared_ptr<ViewHandle> view);

    // -- on the strand --

    void begin(std::shared_ptr<engine::Core> core);
    /** Ends the reading, and all waits with this error. */
    void end(error_code error);

    void reachable() override;
    void store_closes() override;
    void abandon() noexcept override;

private:
    using Id = std::uint64_t;
    struct Waiter {
        Id id;
        Notify notify;
        std::shared_ptr<ViewHandle> view;
    };

    void on_event(WatchEvent event);
    /** Requests a read as soon as the minimum pause allows. */
    void read_soon();
    void read();
    void answered(InspectReply reply, Instant asked);
    void failed(Failure const& failure);
    /** When the next read is due. */
    [[nodiscard]] Instant next_read(Instant expiry) const noexcept;
    /** Sets the timer. */
    void arm();
    void wake();
    void stop_reading() noexcept;
    /** Notifies the waiters of a new version. Unlocks. */
    void notify_all(std::unique_lock<std::mutex>& lock, Instant now);
    void cancel(Id id);

    std::shared_ptr<Runtime> const runtime_;
    KeyRangePtr const range_;
    Clock::duration const refresh_;
    bool const names_only_;
    ForkMark const fork_mark_;
    /// written on the strand; an unwritten request reads it
    RequestMark mark_;

    // -- on the strand --
    /// null before the beginning and after the end
    std::shared_ptr<engine::Core> core_;
    std::unique_ptr<Watch> watch_;
    /// for the next read, or for the instant at which the cache becomes stale
    Timer timer_{*runtime_};
    /// a read is pending
    bool reading_ = false;
    /// a change may have happened after the last read began
    bool news_ = false;
    /// when the last read began
    Instant asked_{};
    /// earliest begin of the next read
    Instant rests_until_{};

    std::mutex mutex_;
    // -- under the mutex --
    ViewCache cache_;
    /// waits of callers that have seen the current version of the cache
    std::vector<Waiter> waiting_;
    Id last_id_ = 0;
    /// set: all waits end with this error
    std::optional<error_code> ended_;
};

/** The shared state of all copies of a view. It keeps the store open, and the last copy ends the reading. */
class ViewHandle
{
public:
    /** Begins the reading.
     *  @param names_only  as `InspectRequest::names_only`
     *  @throws std::invalid_argument naming the field `where` and the rule for `refresh` */
    ViewHandle(
        std::shared_ptr<engine::Handle> store, KeyRangePtr range, char const* where, std::chrono::milliseconds refresh,
        ViewCache::Same same, bool names_only = false);
    ViewHandle(ViewHandle const&) = delete;
    ViewHandle& operator=(ViewHandle const&) = delete;
    ~ViewHandle();

    [[nodiscard]] ViewReader& reader() const noexcept { return *reader_; }
    [[nodiscard]] Runtime const& runtime() const noexcept { return *store_->core()->runtime(); }

private:
    std::shared_ptr<engine::Handle> store_;
    std::shared_ptr<ViewReader> reader_;
};

} // namespace tenure::locks
