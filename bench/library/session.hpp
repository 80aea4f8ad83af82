// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "library/workloads.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
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
[[nodiscard]] asio::awaitable<void> release(tenure::Lease& lease);

} // namespace bench::library
