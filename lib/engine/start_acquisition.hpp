// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "acquisition.hpp"
#include "contest.hpp"

#include <tenure/detail/recycling_allocator.hpp>

#include <boost/system/errc.hpp>

#include <stdexcept>
#include <utility>

namespace tenure::engine
{

/** What `Lock` and `SlotPool` have in common: checks the options of one acquisition and starts it. */
template <class Holding>
void start_acquisition(
    std::shared_ptr<Contest> const& contest, AcquireOptions const& options, bool only_try,
    detail::UserHandler<void(error_code, Holding)> handler)
{
    auto const& core = contest->handle()->core();
    PendingHandler<void(error_code, Holding)> pending(std::move(handler));
    if (!core->same_process()) {
        std::move(pending).post(make_error_code(errc::forked), Holding());
        return;
    }
    auto terms = contest->terms();
    try {
        if (options.wait < milliseconds{0})
            throw std::invalid_argument(
                "AcquireOptions::wait is " + std::to_string(options.wait.count()) + " ms: 0 or more");
        if (options.ttl != milliseconds{0})
            terms = contest->terms_for(options.ttl);
    } catch (std::invalid_argument const& error) {
        // to the strand, to which the runtime's log belongs
        core->runtime()->post(
            [core, words = std::string(error.what())] { core->journal().log(LogLevel::error, words); });
        core->journal().trouble(make_error_code(boost::system::errc::invalid_argument), error.what());
        std::move(pending).post(make_error_code(boost::system::errc::invalid_argument), Holding());
        return;
    }
    Acquisition::start(make_recycled<Acquisition>(contest, terms, options, only_try, std::move(pending)));
}

} // namespace tenure::engine
