// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "library/workloads.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace bench::library
{

namespace asio = boost::asio;

/** Runs one coroutine over a store on this thread until it ends; what it throws is thrown on. */
void run_session(std::string const& url, std::function<asio::awaitable<void>(tenure::Store)> const& work);

/** How every store of the bench is opened: warnings go to standard error. */
[[nodiscard]] tenure::StoreOptions store_options();

[[nodiscard]] tenure::LeaseOptions lease_options(Features features);

/** Releases, and insists that the lease was still held. */
template <tenure::LeaseLike Held>
[[nodiscard]] asio::awaitable<void> release(Held& lease)
{
    auto const outcome = co_await lease.async_release(asio::deferred);
    if (outcome != tenure::ReleaseOutcome::released)
        throw std::runtime_error("a release ended as " + std::string(to_string(outcome)));
}

} // namespace bench::library
