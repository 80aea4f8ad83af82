// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

asio::awaitable<void>
hold_leases(tenure::Store store, unsigned count, std::chrono::milliseconds ttl, double seconds, Measurement& result)
{
    std::vector<tenure::Lease> leases;
    for (unsigned number = 0; number < count; ++number) {
        tenure::Lock lock{store, {"bench:lease:" + std::to_string(number), ttl, {}}};
        auto lease = co_await lock.async_acquire();
        leases.push_back(std::move(lease));
    }
    asio::steady_timer timer(co_await asio::this_coro::executor);
    // the first renewals bear the marks of how the leases came to be
    timer.expires_after(ttl);
    co_await timer.async_wait(asio::deferred);

    auto const renewals = store.statistics().renewals;
    auto const begin = Steady::now();
    auto const cpu = cpu_seconds();
    timer.expires_after(std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(asio::deferred);
    auto const elapsed = seconds_since(begin);
    auto const thirds = elapsed / (std::chrono::duration<double>(ttl).count() / 3);
    auto const renewed = static_cast<double>(store.statistics().renewals - renewals);
    result = {(cpu_seconds() - cpu) * 100 / elapsed, renewed / count / thirds};
    if (!std::all_of(leases.begin(), leases.end(), [](tenure::Lease const& lease) { return lease.valid(); }))
        throw std::runtime_error("a lease was lost");
}

} // namespace

Measurement renewals(std::string const& url, unsigned leases, unsigned ttl_ms, double seconds)
{
    Measurement result;
    run_session(url, [&](tenure::Store store) {
        return hold_leases(store, leases, std::chrono::milliseconds(ttl_ms), seconds, result);
    });
    return result;
}

} // namespace bench::library
