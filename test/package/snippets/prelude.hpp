// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The reader's own variables and functions, which the C++ blocks of README.md and docs/ use.
#pragma once

#include "unit/scripted_backend.hpp"

#include <tenure/features.hpp>
#if TENURE_HAS_OPENTELEMETRY
#include <tenure/opentelemetry.hpp>
#endif
#if TENURE_HAS_PROMETHEUS
#include <tenure/prometheus.hpp>
#endif
#include <tenure/metrics_page.hpp>
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>

#if TENURE_HAS_PROMETHEUS
#include <prometheus/exposer.h>
#endif

#include <array>
#include <cassert>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

namespace reader
{

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using tenure::async_with_lease;
using tenure::cancel_on;

// NOLINTBEGIN: only declared
extern asio::any_io_executor executor;
extern asio::io_context context;
extern asio::signal_set signals;
extern asio::ip::tcp::socket socket;
extern std::array<char, 16> storage;
inline auto const buffer = asio::buffer(storage);
extern tenure::StoreOptions options;
extern tenure::Store store;
extern tenure::SlotPool pool;
extern tenure::Slot slot;
extern tenure::CancellationToken stop;
extern tenure::Lease lease;
extern tenure::Lock nightly;
// NOLINTEND

struct Config {
};
Config read_config();
void handler(std::exception_ptr);
void report(std::exception_ptr);
std::string newest_password();

asio::awaitable<void> handle_one_job(std::uint32_t);
asio::awaitable<void> one_step();
asio::awaitable<void> transfer(std::uint64_t, std::uint64_t);
asio::awaitable<void> run_the_job(tenure::Lease const&);
asio::awaitable<void> work(tenure::Lock const&);
asio::awaitable<void> work_without_lock();
asio::awaitable<void> lead(tenure::Lease&);
asio::awaitable<void> make_ids(tenure::Slot&);
asio::awaitable<void> make_ids_with(std::uint32_t);
asio::awaitable<void> consume(tenure::Shard&);
asio::awaitable<void> render(tenure::Slot&);

struct Serve {
    asio::awaitable<void> operator()(std::uint32_t) const;
    asio::awaitable<void> operator()(tenure::Slot&) const;
    asio::awaitable<void> operator()(tenure::Slot&, Config) const;
};
inline constexpr Serve serve;

using MyBackend = tenure::test::ScriptedBackend;

} // namespace reader
