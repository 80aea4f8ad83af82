// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/key_range.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace tenure
{

namespace engine
{
class LeaseTarget;
}

namespace locks
{
class OrderedLocks;
}

/** The keys of a `Lock` or a `SlotPool`, and the terms of their leases. */
class TENURE_API AcquirableKeys
{
public:
    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] boost::asio::any_io_executor get_executor() const noexcept { return executor_of(target_); }

    /** The keys, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept;

    /** The default ttl of its leases. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept;

    /** The longest store outage that costs no lease of this lock or pool, whenever the outage begins. With default
     * options it is slightly less than half of the ttl.
     *
     * An outage lasts from the first unanswered renewal to the first answered one, so it includes the time to
     * reconnect. Leases with their own ttl tolerate a different outage (`AcquireOptions::ttl`, `Lease::async_renew`).
     * On ZooKeeper it is shorter (docs/users/guarantees.md). It is 0 if the library does not retry: with
     * `Renewal::manual` and `CancelWhen::first_failed_renewal`. */
    [[nodiscard]] std::chrono::milliseconds tolerated_outage() const noexcept;

    /** Lists the holder of each key: a snapshot for display that proves nothing. As `Store::async_inspect(range())`. */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_inspect(CompletionToken&& completion = {}) const
    {
        return store().async_inspect(range(), std::forward<CompletionToken>(completion));
    }

    /** Force-releases a key from the holder that `async_inspect` showed. As `Store::async_evict`. */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_evict(KeyState seen, std::string who, CompletionToken&& completion = {}) const
    {
        return store().async_evict(std::move(seen), std::move(who), std::forward<CompletionToken>(completion));
    }

protected:
    /// the engine's part of a lock or pool
    using LeaseTargetPtr = std::shared_ptr<engine::LeaseTarget>;

    /** @param target  the engine's part, never null */
    explicit AcquirableKeys(LeaseTargetPtr target) noexcept
        : target_(std::move(target))
    {
    }

    /** The engine's part, for the operations. */
    [[nodiscard]] LeaseTargetPtr const& state_for() const noexcept { return target_; }
    /** For the operations. */
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(LeaseTargetPtr const& target) noexcept;
    /** Begins an acquisition, whose result is a lease, or for a try an optional one. */
    template <class Result>
    static void start(
        LeaseTargetPtr const& target, AcquireOptions const& options,
        boost::asio::any_completion_handler<void(error_code, Result)> handler);

private:
    friend class locks::OrderedLocks;
    friend class View;

    [[nodiscard]] Store store() const noexcept;

    LeaseTargetPtr target_;
};

} // namespace tenure
