// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A child of fork that goes on with its parent's context, as Asio allows it after notify_fork: it leaves the parent's
// connections and leases alone.
#include "harness/eventually.hpp"
#include "harness/immovable.hpp"
#include "harness/redis_server.hpp"
#include "system/support/certificate_authority.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr auto tuple = asio::as_tuple(asio::deferred);

StoreOptions quiet()
{
    StoreOptions options;
    options.log = silent_log_sink();
    return options;
}

/** A store with a lease on a context of this thread. */
struct LeaseOfParent {
    LeaseOfParent(std::string const& url, std::chrono::milliseconds ttl)
        : store(std::in_place, open_store(context.get_executor(), url, quiet()))
    {
        Lock(*store, {.key = "held", .ttl = ttl}).async_acquire([this](error_code error, Lease granted) {
            CHECK_FALSE(error);
            lease = std::move(granted);
        });
        for (auto const limit = Clock::now() + 10s; !lease.valid() && Clock::now() < limit;)
            context.run_one_for(10ms);
        REQUIRE(lease.valid());
    }

    asio::io_context context;
    std::optional<Store> store;
    Lease lease;
};

/** Acquires and releases for a while; how often. */
asio::awaitable<int> pairs(Lock lock, Instant until)
{
    int done = 0;
    while (Clock::now() < until) {
        auto [error, lease] = co_await lock.async_acquire({.wait = 5s}, tuple);
        if (error)
            co_return -1;
        auto const [failure, outcome] = co_await lease.async_release(tuple);
        if (failure || outcome != ReleaseOutcome::released)
            co_return -1;
        ++done;
    }
    co_return done;
}

/** Ends with the process, if not before. */
class Fork : Immovable
{
public:
    template <class Function>
    explicit Fork(Function in_child)
        : pid_(::fork())
    {
        REQUIRE(pid_ >= 0);
        if (pid_ > 0)
            return;
        ::alarm(60);
        int status = 1;
        try {
            status = in_child();
        } catch (...) { // NOLINT(bugprone-empty-catch): the status tells
        }
        ::_exit(status);
    }
    ~Fork()
    {
        // once it was waited for, its number may be another process's
        if (status_)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] std::optional<int> status()
    {
        int status = 0;
        if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
            status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return status_;
    }

private:
    pid_t pid_;
    std::optional<int> status_;
};

/** The two things that a child may do with its parent's context: notify it of the fork, and run it. */
int go_on(asio::io_context& context, std::chrono::milliseconds time)
{
    context.notify_fork(asio::io_context::fork_child);
    context.restart();
    context.run_for(time);
    return 0;
}

} // namespace

TEST_CASE("a child that continues with the context reads nothing from its parent's connections", "[integration]")
{
    Authority const authority;
    authority.issue("good", "IP:127.0.0.1");
    auto options = tls_options(authority, "good");
    options.unix_socket = true;
    RedisServer const server(options);
    auto const kind = GENERATE(as<std::string>(), "TCP", "TLS", "Unix socket");
    CAPTURE(kind);
    auto const url = kind == "TCP" ? server.url()
                     : kind == "TLS"
                         ? "rediss://127.0.0.1:" + std::to_string(server.tls_port()) + "?tls_ca=" + authority.ca()
                         : "redis+unix://" + server.socket_path();
    LeaseOfParent holder(url, 1500ms);
    holder.context.notify_fork(asio::io_context::fork_prepare);
    Fork child([&] { return go_on(holder.context, 3s); });
    holder.context.notify_fork(asio::io_context::fork_parent);
    std::optional<int> done;
    asio::co_spawn(
        holder.context, pairs(Lock(*holder.store, {.key = "traffic", .ttl = 3s}), Clock::now() + 2s),
        [&](std::exception_ptr const& failure, int count) { done = failure ? -2 : count; });
    holder.context.restart();
    for (auto const limit = Clock::now() + 20s; !done && Clock::now() < limit;)
        holder.context.run_one_for(10ms);
    CHECK(done.value_or(0) > 0);
    CHECK(holder.lease.valid());
    auto const seen = holder.store->statistics();
    CHECK(seen.renewals >= 2);
    CHECK(seen.renewals_failed == 0);
    REQUIRE(eventually([&] { return child.status().has_value(); }));
    CHECK(child.status() == 0);
}

TEST_CASE("a child that goes on with the context keeps no lease of a parent that is gone", "[integration]")
{
    RedisServer const server;
    auto client = server.client();
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    Fork parent([&] {
        LeaseOfParent holder(server.url(), 1s);
        holder.context.notify_fork(asio::io_context::fork_prepare);
        if (auto const grandchild = ::fork(); grandchild == 0) {
            ::alarm(60);
            (void)go_on(holder.context, 5s);
            (void)!::write(ends[1], "x", 1);
            ::_exit(0);
        }
        return 0;
    });
    ::close(ends[1]);
    REQUIRE(eventually([&] { return parent.status().has_value(); }));
    REQUIRE(parent.status() == 0);
    REQUIRE(client.get("held"));
    CHECK(eventually([&] { return !client.get("held"); }, 3s));
    // the grandchild runs on all the while
    char byte = 0;
    CHECK(::read(ends[0], &byte, 1) == 1);
    CHECK_FALSE(client.get("held"));
    ::close(ends[0]);
}
