// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One leader among several processes. All of them campaign, and all show who leads and where it can be reached: this is
// how a follower finds the leader to send requests to. If the leader dies, another one leads after the ttl.
//   leader STORE_URL NAME CONTACT [TTL_MS]     runs until SIGINT or SIGTERM, which resigns
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** The work of the leader. A lost lease and a signal cancel it where it waits; it resigns when this has ended. */
asio::awaitable<void> lead(tenure::Lease& lease)
{
    std::cout << "I lead, with fencing token " << lease.fencing_token() << std::endl;
    asio::steady_timer step(co_await asio::this_coro::executor);
    boost::system::error_code cancelled;
    while (!cancelled && lease.valid()) {
        // a step would go here; what it writes bears the fencing token, so that no earlier leader can undo it
        step.expires_after(50ms);
        auto const waited = co_await step.async_wait(asio::as_tuple(asio::deferred));
        cancelled = std::get<0>(waited);
    }
    auto const reason = lease.token().reason();
    std::cout << "I lead no longer: " << (is_loss(reason) ? describe(reason) : "I resign") << std::endl;
}

/** Campaigns, leads, and campaigns again when the leadership was lost. */
asio::awaitable<void> campaign(tenure::Store store, tenure::Election election)
{
    // a wrong login fails here, at the start
    co_await store.async_ready(10s, tenure::with_details());
    co_await tenure::async_run(election, lead);
}

/** Shows each change, as a follower needs it. */
asio::awaitable<void> follow(tenure::Election election)
{
    tenure::Leader leader;
    for (;;) {
        leader = co_await election.async_next_leader(leader.version);
        switch (leader.state) {
        case tenure::Leader::State::present:
            std::cout << "leader: " << leader.name << " at " << leader.contact << std::endl;
            break;
        case tenure::Leader::State::none:
            std::cout << "leader: none" << std::endl;
            break;
        case tenure::Leader::State::unknown:
        case tenure::Leader::State::stale:
            std::cout << "leader: the store does not say; the last one was " << leader.name << std::endl;
            break;
        }
    }
}

/** Campaigns and follows until one of them fails, or SIGINT or SIGTERM ends both; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, tenure::Election election)
{
    co_await tenure::async_serve(store, {.close_within = 1s}, campaign(store, election), follow(election));
    std::cout << "stopped" << std::endl;
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 4) {
        std::cerr << "usage: leader STORE_URL NAME CONTACT [TTL_MS]\n";
        return 1;
    }
    std::chrono::milliseconds const ttl(argc > 4 ? std::atol(argv[4]) : 5000);
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argv[1], {.worker_name = argv[2]});
    asio::co_spawn(context, serve(store, {store, {.name = "reports:leader", .contact = argv[3], .ttl = ttl}}), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
