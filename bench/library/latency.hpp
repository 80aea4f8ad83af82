// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

/** One pair of acquire and release after another, and the microseconds of each but the first ones. `Source` is a kind
 * of lock. Release is written out here and not shared: a coroutine of its own would be measured with it. */
template <class Source>
asio::awaitable<void> measure_latency(Source source, unsigned pairs, std::vector<double>& times)
{
    auto const warm_up = pairs / 10;
    for (unsigned pair = 0; pair < warm_up + pairs; ++pair) {
        auto const begin = Steady::now();
        auto lease = co_await source.async_acquire();
        auto const outcome = co_await lease.async_release();
        if (outcome != tenure::ReleaseOutcome::released)
            throw std::runtime_error("a release ended as " + std::string(to_string(outcome)));
        if (pair >= warm_up)
            times.push_back(microseconds_since(begin));
    }
}

} // namespace bench::library
