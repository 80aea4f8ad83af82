// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "acquisition.hpp"
#include "contest.hpp"

#include <tenure/detail/recycling_allocator.hpp>

#include <boost/system/errc.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure::engine
{

/// how long `async_acquire` waits unless its options say otherwise
inline constexpr std::chrono::seconds default_wait{30};

template <class Result>
inline constexpr bool is_try = false;
template <class LeaseType>
inline constexpr bool is_try<std::optional<LeaseType>> = true;

/** Checks the options of one acquisition and starts it.
 *  @tparam Result  `Lease` or `Slot`, or an optional one: a try */
template <class Result>
void start_acquisition(
    std::shared_ptr<Contest> const& contest, AcquireOptions options,
    detail::UserHandler<void(error_code, Result)> handler)
{
    auto const& core = contest->handle()->core();
    PendingHandler<void(error_code, Result)> pending(std::move(handler));
    if (!core->same_process()) {
        std::move(pending).post(make_error_code(errc::forked), Result());
        return;
    }
    auto terms = contest->terms();
    options.wait = options.wait.value_or(is_try<Result> ? milliseconds{0} : default_wait);
    try {
        auto const refuse_wait = [&](char const* rule) {
            throw std::invalid_argument(
                "AcquireOptions::wait is " + std::to_string(options.wait->count()) + " ms: " + rule);
        };
        if (*options.wait < milliseconds{0})
            refuse_wait("0 or more");
        if (is_try<Result> && *options.wait != milliseconds{0})
            refuse_wait("a try does not wait; leave it out, or call async_acquire");
        if (options.ttl != milliseconds{0})
            terms = contest->terms_for(options.ttl);
    } catch (std::invalid_argument const& error) {
        // to the strand, to which the runtime's log belongs
        core->runtime()->post(
            [core, words = std::string(error.what())] { core->journal().log(LogLevel::error, words); });
        core->journal().trouble(make_error_code(boost::system::errc::invalid_argument), error.what());
        std::move(pending).post(make_error_code(boost::system::errc::invalid_argument), Result());
        return;
    }
    Acquisition::start(make_recycled<Acquisition>(contest, terms, *options.wait, std::move(pending)));
}

} // namespace tenure::engine
