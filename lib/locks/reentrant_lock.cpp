// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Implementation of ReentrantLock and Hold over HeldKey.
#include <tenure/hold.hpp>
#include <tenure/reentrant_lock.hpp>

#include "held_key.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure
{

namespace
{

/** Ends the Hold in the background. */
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

void ReentrantLock::start(
    Lock const& lock, Holder const& holder, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, Hold)> handler)
{
    locks::HeldKey::acquire(holder.state_, lock, options, is_try, std::move(handler));
}

Hold::Hold() noexcept = default;

Hold::Hold(EntryPtr entry) noexcept
    : entry_(std::move(entry))
{
}

Hold::Hold(Hold&& other) noexcept = default;

Hold& Hold::operator=(Hold&& other) noexcept
{
    if (this != &other) {
        end(entry_);
        entry_ = std::move(other.entry_);
    }
    return *this;
}

Hold::~Hold()
{
    end(entry_);
}

bool Hold::valid() const noexcept
{
    return entry_ && !entry_->ended && entry_->grant->lease.valid();
}

LeaseState Hold::state() const noexcept
{
    return entry_ && !entry_->ended ? entry_->grant->lease.state() : LeaseState::released;
}

std::uint32_t Hold::depth() const noexcept
{
    return entry_ && !entry_->ended ? entry_->grant->depth.load() : 0;
}

Instant Hold::valid_until() const noexcept
{
    return lease_of(entry_).valid_until();
}

Instant Hold::stop_at() const noexcept
{
    return lease_of(entry_).stop_at();
}

std::chrono::milliseconds Hold::ttl() const noexcept
{
    return lease_of(entry_).ttl();
}

std::string const& Hold::key() const noexcept
{
    return lease_of(entry_).key();
}

std::string const& Hold::owner() const noexcept
{
    return lease_of(entry_).owner();
}

std::uint64_t Hold::fencing_token() const noexcept
{
    return lease_of(entry_).fencing_token();
}

CancellationToken Hold::token() const noexcept
{
    auto token = lease_of(entry_).token();
    if (entry_ && entry_->ended && !token.cancelled())
        return {};
    return token;
}

Hold::executor_type Hold::get_executor() const noexcept
{
    return executor_of(entry_);
}

Hold::executor_type Hold::executor_of(EntryPtr const& entry) noexcept
{
    return lease_of(entry).get_executor();
}

void Hold::start_release(EntryPtr const& entry, ReleaseHandler handler)
{
    locks::HeldKey::ReleaseHandler pending(std::move(handler), runtime_of(entry));
    if (entry)
        locks::HeldKey::end(entry, std::move(pending));
    else
        std::move(pending).post(make_error_code(errc::released), ReleaseOutcome::was_lost);
}

void Hold::start_renew(EntryPtr const& entry, WaitHandler handler)
{
    if (entry && !entry->ended)
        entry->grant->lease.async_renew(std::move(handler));
    else
        engine::Completion<void(error_code)>(std::move(handler), runtime_of(entry))
            .post(make_error_code(errc::released));
}

void Hold::start_wait_at_risk(EntryPtr const& entry, WaitHandler handler)
{
    if (entry && !entry->ended)
        entry->grant->lease.async_wait_at_risk(std::move(handler));
    else
        engine::Completion<void(error_code)>(std::move(handler), runtime_of(entry))
            .post(make_error_code(errc::released));
}

} // namespace tenure
