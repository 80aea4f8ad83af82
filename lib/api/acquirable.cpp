// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/acquirable.hpp>

#include "engine/acquisition.hpp"
#include "engine/completion.hpp"
#include "engine/contest.hpp"

#include <tenure/errc.hpp>

#include <boost/system/errc.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure
{

namespace
{

using std::chrono::milliseconds;

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

/** Checks the options of one acquisition and starts it. */
void start_acquisition(
    std::shared_ptr<engine::Contest> const& contest, AcquireOptions const& options, bool is_try,
    engine::Acquisition::Handler handler)
{
    auto const& core = contest->handle()->core();
    if (!core->same_process()) {
        std::move(handler).post(make_error_code(errc::forked), Lease());
        return;
    }
    auto terms = contest->terms();
    auto const wait = options.wait.value_or(is_try ? milliseconds{0} : engine::default_wait);
    try {
        check_wait(wait, is_try);
        if (options.prefer)
            check_prefer(*contest->range(), *options.prefer);
        if (options.ttl != milliseconds{0})
            terms = contest->terms_for(options.ttl);
    } catch (std::invalid_argument const& error) {
        // to the strand, to which the runtime's log belongs
        core->runtime()->post(
            [core, words = std::string(error.what())] { core->journal().log(LogLevel::error, words); });
        core->journal().trouble(make_error_code(boost::system::errc::invalid_argument), error.what());
        std::move(handler).post(make_error_code(boost::system::errc::invalid_argument), Lease());
        return;
    }
    engine::Acquisition::start(
        std::make_shared<engine::Acquisition>(contest, terms, wait, is_try, options.prefer, std::move(handler)));
}

} // namespace

template <class LeaseType>
KeyRangePtr Acquirable<LeaseType>::range() const noexcept
{
    return contest_->range();
}

template <class LeaseType>
std::chrono::milliseconds Acquirable<LeaseType>::ttl() const noexcept
{
    return contest_->terms().ttl;
}

template <class LeaseType>
std::chrono::milliseconds Acquirable<LeaseType>::tolerated_outage() const noexcept
{
    return engine::tolerated_outage(contest_->terms());
}

template <class LeaseType>
asio::any_io_executor const& Acquirable<LeaseType>::executor_of(ContestPtr const& contest) noexcept
{
    return contest->handle()->core()->runtime()->user_executor();
}

template <class LeaseType>
Store Acquirable<LeaseType>::store() const noexcept
{
    return Store(contest_->handle());
}

template <class LeaseType>
void Acquirable<LeaseType>::start(
    ContestPtr const& contest, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, Lease)> handler)
{
    start_acquisition(
        contest, options, is_try,
        engine::Acquisition::Handler(std::move(handler), contest->handle()->core()->runtime().get()));
}

template class Acquirable<Lease>;
template class Acquirable<Slot>;

} // namespace tenure
