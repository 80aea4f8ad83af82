// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LeaseTarget: checks options and starts acquisitions.
#include "lease_target.hpp"

#include "acquisition.hpp"

#include <tenure/errc.hpp>

#include <boost/system/errc.hpp>

#include <cstdint>
#include <stdexcept>

namespace tenure::engine
{

namespace
{

/** @throws std::invalid_argument naming the option and the rule */
void check_wait(milliseconds wait, bool is_try)
{
    auto const refuse = [&](char const* rule) {
        throw std::invalid_argument("AcquireOptions::wait is " + std::to_string(wait.count()) + " ms: " + rule);
    };
    if (wait < milliseconds{0})
        refuse("0 or more");
    if (is_try && wait != milliseconds{0})
        refuse("a try does not wait; leave it out, or call async_acquire");
}

/** @throws std::invalid_argument naming the option and the rule */
void check_ttl(TtlLimits const& limits, milliseconds ttl)
{
    if (auto const refusal = refuse_ttl(limits, ttl))
        throw std::invalid_argument("AcquireOptions::" + refusal->words);
}

/** @throws std::invalid_argument naming the option and the rule */
void check_prefer(KeyRange const& range, std::uint32_t prefer)
{
    auto const refuse = [&](std::string const& rule) {
        throw std::invalid_argument("AcquireOptions::prefer is " + std::to_string(prefer) + ": " + rule);
    };
    if (!range.numbered)
        refuse(range.describe() + " is a lock, and only the slots of a SlotPool have numbers; leave it out");
    if (prefer >= range.count)
        refuse("the pool " + range.describe() + " has " + std::to_string(range.count) + " slots, counted from 0");
}

/** @throws std::invalid_argument naming the option and the rule */
void check_permits(std::uint32_t permits, std::uint32_t most)
{
    if (permits == 0 || permits > most)
        throw std::invalid_argument(
            "AcquireOptions::permits is " + std::to_string(permits) + ": " +
            (most == 1 ? "only a Semaphore of several permits takes another number than 1; leave it out"
                       : "this Semaphore takes 1 to " + std::to_string(most)));
}

} // namespace

void acquire(
    std::shared_ptr<LeaseTarget> const& target, AcquireOptions const& options, bool is_try, AcquireHandler handler,
    asio::cancellation_slot slot)
{
    acquire_for(target->handle()->core()->events().context(), target, options, is_try, std::move(handler), slot);
}

void acquire_for(
    std::shared_ptr<void> event_context, std::shared_ptr<LeaseTarget> const& target, AcquireOptions const& options,
    bool is_try, AcquireHandler handler, asio::cancellation_slot slot)
{
    auto const& core = target->handle()->core();
    if (!core->same_process() || core->is_closed()) {
        handler(Known::at_once, make_error_code(core->same_process() ? errc::closed : errc::forked), Lease());
        return;
    }
    auto terms = target->terms();
    auto const wait = options.wait.value_or(is_try ? milliseconds{0} : default_wait);
    std::string refusal;
    try {
        check_wait(wait, is_try);
        check_permits(options.permits, target->permits());
        if (options.prefer)
            check_prefer(*target->range(), *options.prefer);
        if (options.ttl) {
            check_ttl(core->capabilities().ttl, *options.ttl);
            terms = target->terms_for(*options.ttl);
        }
    } catch (std::invalid_argument const& error) {
        refusal = error.what();
    }
    if (!refusal.empty()) {
        auto const invalid = make_error_code(boost::system::errc::invalid_argument);
        auto const failing = core->store_log().refuse(invalid, std::move(refusal));
        handler(Known::at_once, invalid, Lease());
        return;
    }
    auto share = target->share();
    if (share)
        share->weight *= options.permits;
    Acquisition::start(
        std::make_shared<Acquisition>(
            target, terms, wait, is_try, options.prefer, share, std::move(event_context), std::move(handler)),
        slot);
}

} // namespace tenure::engine
