// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Implementation of ReentrantLock and ReentrantLease over HeldKey.
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>

#include "held_key.hpp"
#include "try_handler.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure
{

namespace
{

/** Ends the ReentrantLease in the background. */
void end(std::shared_ptr<locks::Entry> const& entry) noexcept
{
    try {
        if (entry && !entry->ended)
            locks::HeldKey::end(entry, std::nullopt);
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the key lapses by its ttl
    }
}

Lease const& lease_of(std::shared_ptr<locks::Entry> const& entry) noexcept
{
    static Lease const none;
    return entry ? entry->grant->lease : none;
}

Runtime const* runtime_of(std::shared_ptr<locks::Entry> const& entry) noexcept
{
    return entry ? entry->grant->runtime.get() : nullptr;
}

} // namespace

ReentrantLock::ReentrantLock(Store store, LockConfig config)
    : lock_(std::move(store), std::move(config))
{
}

ReentrantLock::ReentrantLock(Lock lock) noexcept
    : lock_(std::move(lock))
{
}

template <class Result>
void ReentrantLock::start(
    ForHolder const& part, AcquireOptions const& options,
    asio::any_completion_handler<void(error_code, Result)> handler)
{
    locks::HeldKey::acquire(
        part.holder_.state_, part.lock_, options, engine::is_try_result<Result>,
        locks::plain_handler(std::move(handler)));
}

template void ReentrantLock::start(
    ForHolder const&, AcquireOptions const&, asio::any_completion_handler<void(error_code, ReentrantLease)>);
template void ReentrantLock::start(
    ForHolder const&, AcquireOptions const&,
    asio::any_completion_handler<void(error_code, std::optional<ReentrantLease>)>);

void detail::LeaveKey<ReentrantLease>::of(ReentrantLease& lease) noexcept
{
    // other ReentrantLeases need it
    if (lease.depth() == 1)
        LeaveKey<Lease>::of(lease.entry_->grant->lease);
}

ReentrantLease::ReentrantLease() noexcept = default;

ReentrantLease::ReentrantLease(EntryPtr entry) noexcept
    : entry_(std::move(entry))
{
}

ReentrantLease::ReentrantLease(ReentrantLease&& other) noexcept = default;

ReentrantLease& ReentrantLease::operator=(ReentrantLease&& other) noexcept
{
    if (this != &other) {
        end(entry_);
        entry_ = std::move(other.entry_);
    }
    return *this;
}

ReentrantLease::~ReentrantLease()
{
    end(entry_);
}

bool ReentrantLease::valid() const noexcept
{
    return entry_ && !entry_->ended && entry_->grant->lease.valid();
}

LeaseState ReentrantLease::state() const noexcept
{
    return entry_ && !entry_->ended ? entry_->grant->lease.state() : LeaseState::released;
}

std::uint32_t ReentrantLease::depth() const noexcept
{
    return entry_ && !entry_->ended ? entry_->grant->depth.load() : 0;
}

Instant ReentrantLease::valid_until() const noexcept
{
    return lease_of(entry_).valid_until();
}

Instant ReentrantLease::stop_at() const noexcept
{
    return lease_of(entry_).stop_at();
}

std::chrono::milliseconds ReentrantLease::ttl() const noexcept
{
    return lease_of(entry_).ttl();
}

std::string const& ReentrantLease::key() const noexcept
{
    return lease_of(entry_).key();
}

std::string const& ReentrantLease::owner() const noexcept
{
    return lease_of(entry_).owner();
}

std::uint64_t ReentrantLease::fencing_token() const
{
    return lease_of(entry_).fencing_token();
}

bool ReentrantLease::has_fencing_token() const noexcept
{
    return lease_of(entry_).has_fencing_token();
}

CancellationToken ReentrantLease::token() const noexcept
{
    auto token = lease_of(entry_).token();
    if (entry_ && entry_->ended && !token.cancelled())
        return {};
    return token;
}

ReentrantLease::executor_type ReentrantLease::get_executor() const noexcept
{
    return executor_of(entry_);
}

ReentrantLease::executor_type ReentrantLease::executor_of(EntryPtr const& entry) noexcept
{
    return lease_of(entry).get_executor();
}

void ReentrantLease::start_release(EntryPtr const& entry, ReleaseHandler handler)
{
    locks::HeldKey::ReleaseHandler pending(std::move(handler), runtime_of(entry));
    if (entry)
        locks::HeldKey::end(entry, std::move(pending));
    else
        std::move(pending).complete_at_once(make_error_code(errc::released), ReleaseOutcome::was_lost);
}

void ReentrantLease::start_renew(EntryPtr const& entry, WaitHandler handler)
{
    if (entry && !entry->ended)
        entry->grant->lease.async_renew(std::move(handler));
    else
        engine::Completion<void(error_code)>(std::move(handler), runtime_of(entry))
            .complete_at_once(make_error_code(errc::released));
}

void ReentrantLease::start_wait_at_risk(EntryPtr const& entry, WaitHandler handler)
{
    if (entry && !entry->ended)
        entry->grant->lease.async_wait_at_risk(std::move(handler));
    else
        engine::Completion<void(error_code)>(std::move(handler), runtime_of(entry))
            .complete_at_once(make_error_code(errc::released));
}

} // namespace tenure
