// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "acquisition.hpp"
#include "completion.hpp"
#include "counters.hpp"
#include "events.hpp"
#include "follower.hpp"
#include "keeper.hpp"
#include "lease_lines.hpp"
#include "lease_record.hpp"
#include "place_queue.hpp"
#include "release_queue.hpp"
#include "runtime/context_guard.hpp"
#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"
#include "runtime/own_thread.hpp"
#include "runtime/spare_nodes.hpp"
#include "runtime/timer.hpp"
#include "store_log.hpp"
#include "wait_queue.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace tenure::engine
{

/** The engine of one store: the state that its acquisitions, leases and releases share. Everything runs on the strand
 *  unless stated otherwise. */
class Core final : public std::enable_shared_from_this<Core>, public ContextUser, public OwnThread::Tenant
{
public:
    Core(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, std::string worker_name,
        std::string order_name, EventHook on_event, EventContext event_context);

    /** Call it right after construction. */
    void start();

    // -- any thread --

    [[nodiscard]] std::shared_ptr<Runtime> const& runtime() const noexcept { return runtime_; }
    /** False in a child of fork, which must not use this object. */
    [[nodiscard]] bool same_process() const noexcept { return !fork_mark_.forked(); }
    [[nodiscard]] Counters& counters() noexcept { return counters_; }
    [[nodiscard]] StoreLog& store_log() noexcept { return store_log_; }
    [[nodiscard]] Events const& events() const noexcept { return events_; }
    [[nodiscard]] std::string const& worker_name() const noexcept { return worker_name_; }
    /** `StoreOptions::order_name` */
    [[nodiscard]] std::string const& order_name() const noexcept { return order_name_; }
    /** As `Backend::capabilities`. */
    [[nodiscard]] Capabilities const& capabilities() const noexcept { return capabilities_; }

    /** The last public object of the store was destroyed: closes the store as soon as nothing is pending. */
    void handle_gone() noexcept;

    /** Refuses new claims, and closes the store once every lease is released and every key given back. At `at` it
     *  closes in any case: held tokens are cancelled, and their keys expire. On the strand. */
    void close_by(Instant at, std::shared_ptr<Call<>> call);

    /** The context is being destroyed: drops everything without calling handlers. */
    void abandon() noexcept override;
    void context_ends() noexcept override { abandon(); }
    [[nodiscard]] bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire); }

    // -- for the thread of the store --

    [[nodiscard]] bool has_users() const noexcept override { return has_users_.load(std::memory_order_acquire); }
    bool forget_callers() noexcept override;
    void failed(std::exception_ptr failure) noexcept override;

    // -- on the strand --

    [[nodiscard]] Backend& backend() noexcept { return *backend_; }
    [[nodiscard]] Keeper& keeper() noexcept { return *keeper_; }
    [[nodiscard]] WaitQueues& queues() noexcept { return queues_; }
    [[nodiscard]] PlaceQueues& places() noexcept { return places_; }

    void add(std::shared_ptr<Acquisition> acquisition);
    void remove(Acquisition& acquisition);

    /** True while acquisitions end with errc::closed. */
    [[nodiscard]] bool refuses_claims() const noexcept { return refuses_claims_; }
    /** True once the store is closed. Thread-safe. */
    [[nodiscard]] bool is_closed() const noexcept { return over_.load(std::memory_order_acquire); }

    /** Adds a reader of the store, which does not keep the store open. False: the store is being closed. */
    [[nodiscard]] bool add(std::shared_ptr<Follower> follower);
    void remove(Follower const& follower) noexcept;

    /** While it exists, claims are sent together. */
    class ClaimsTogether
    {
    public:
        explicit ClaimsTogether(Core& core) noexcept
            : core_(core)
        {
            core_.claims_together_ = true;
        }
        ClaimsTogether(ClaimsTogether const&) = delete;
        ClaimsTogether& operator=(ClaimsTogether const&) = delete;
        ~ClaimsTogether() { core_.claims_together_ = false; }

    private:
        Core& core_;
    };
    [[nodiscard]] bool claims_together() const noexcept { return claims_together_; }

    /** Counts a claim that was passed to the store. A store without users stays open for its answer for at most a
     *  second. */
    void claim_begins() noexcept { ++claims_; }
    /** Counts the answer to a claim. */
    void claim_ends();
    /** Owners of requests have given up: drops the unwritten ones. */
    void drop_abandoned();

    void release(LeaseRecordPtr const& record, ReleaseQueue::PendingReleasePtr const& pending);
    /** @param remaining  how long the key stays taken; zero: the rest of its ttl */
    void detach(LeaseRecordPtr const& record, milliseconds remaining, std::shared_ptr<Call<>> call);
    /** Ends a lease without a release: its key expires. */
    void leave(LeaseRecord& record);
    /** Gives back an unwanted grant.
     *  @param lifetime  from now on; after it the key has expired */
    void give_back(ClaimPtr claim, milliseconds lifetime, bool notifications);
    /** Withdraws a claim with unknown outcome after the end of its acquisition.
     *  @param reuse_after  quarantine of a key that is found; zero if it had no holder */
    void withdraw(
        KeyRangePtr range, std::string owner, milliseconds lifetime, bool notifications, milliseconds reuse_after = {});

private:
    /** A release, a detachment or a withdrawal has ended. */
    void release_done(ReleaseQueue::Finished const& done);
    /** Ends the renewals of the lease. */
    void lease_ends(LeaseRecord& record, Instant now);
    /** Leases, acquisitions or releases are left. */
    [[nodiscard]] bool busy() const noexcept;
    void close_if_idle();
    /** Checks behind what runs now, such as requests that leave a line of waiters. */
    void close_soon();
    void close();
    /** Closes the store at this instant, if not earlier. */
    void close_at(Instant at);
    void notify_closed(error_code error);
    void end_followers();
    /** Withdraws a second key that the acquisition of a released lease may have left. */
    void withdraw_second_key(LeaseRecord const& record);

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    std::string worker_name_;
    std::string order_name_;
    Capabilities capabilities_;
    ForkMark fork_mark_;
    Counters counters_;
    StoreLog store_log_;
    Events events_;
    LeaseLines lines_;
    std::shared_ptr<Keeper> keeper_;
    std::shared_ptr<ReleaseQueue> releases_;
    WaitQueues queues_;
    PlaceQueues places_;
    /// pending acquisitions
    std::list<std::shared_ptr<Acquisition>> acquisitions_;
    /// nodes for them
    SpareNodes<std::shared_ptr<Acquisition>> spare_;
    /// number of unanswered claims
    std::size_t claims_ = 0;
    /// within a `ClaimsTogether`
    bool claims_together_ = false;
    /// `Backend::drop_abandoned` will be called
    bool drop_posted_ = false;
    /// ends pending work after the last public object is gone, or at the time of `close_by`
    Timer closing_timer_{*runtime_};
    Instant closes_at_ = Instant::max();
    /// closes as soon as nothing is pending: the last public object is gone, or the user closes the store
    bool closing_ = false;
    bool refuses_claims_ = false;
    /// readers of the store, and waits for it to become ready
    std::vector<std::shared_ptr<Follower>> followers_;
    /// waits for the store to be closed
    std::vector<std::shared_ptr<Call<>>> close_calls_;
    /// this object, from the end of its last user until it is closed
    std::shared_ptr<Core> until_closed_;
    bool closed_ = false;
    /// a copy of `closed_` for any thread
    std::atomic<bool> over_{false};
    std::atomic<bool> abandoned_{false};
    /// a public object exists
    std::atomic<bool> has_users_{true};
};

/** The shared state of public objects: the store stays open while one exists. */
class Handle
{
public:
    explicit Handle(std::shared_ptr<Core> core) noexcept
        : core_(std::move(core))
    {
    }
    Handle(Handle const&) = delete;
    Handle& operator=(Handle const&) = delete;
    ~Handle() { core_->handle_gone(); }

    [[nodiscard]] std::shared_ptr<Core> const& core() const noexcept { return core_; }

private:
    std::shared_ptr<Core> core_;
};

} // namespace tenure::engine
