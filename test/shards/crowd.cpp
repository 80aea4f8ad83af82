// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// tenure_shard_crowd URL SHARDS MEMBERS TTL_MS REST_SECONDS: many members of one group in one process, each with a
// store of its own. Prints how many requests each member sends at rest, and while one more joins. The works only wait.
// Each line is the end of a phase; crowd.py reads the counters of the server then.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct Settings {
    std::string url;
    std::uint32_t shards;
    std::uint32_t members;
    std::chrono::milliseconds ttl;
    std::chrono::seconds rest;
};

asio::awaitable<void> wait(tenure::Shard& shard)
{
    co_await shard.token().async_wait(asio::as_tuple(asio::deferred));
}

/** Requests of all members, by kind. */
using Counts = std::array<std::uint64_t, tenure::request_kinds>;

class Crowd
{
public:
    Crowd(asio::io_context& loop, Settings settings)
        : loop_(loop)
        , settings_(std::move(settings))
    {
    }

    asio::awaitable<void> run()
    {
        for (std::uint32_t i = 0; i < settings_.members; ++i)
            join();
        co_await until_exact("cold start");
        co_await pause(settings_.ttl);
        auto const before = counts();
        auto const begun = tenure::Clock::now();
        co_await pause(settings_.rest);
        tell("rest", before, begun);
        auto const before_join = counts();
        auto const joined = tenure::Clock::now();
        auto const begun_before = begun_;
        join();
        co_await until_exact("join");
        tell("join", before_join, joined);
        std::cout << "moved " << begun_ - begun_before << " of " << settings_.shards << std::endl;
    }

private:
    struct Member {
        tenure::Store store;
        tenure::ShardGroup group;
    };

    void join()
    {
        auto store = tenure::open_store(loop_.get_executor(), settings_.url);
        tenure::ShardGroup group(
            store, {.name = "orders",
                    .shards = settings_.shards,
                    .max_members = settings_.members + 1,
                    .ttl = settings_.ttl,
                    .on_event = [this](tenure::ShardEvent const& event) {
                        begun_ += event.kind == tenure::ShardEvent::Kind::acquired;
                        if (event.kind == tenure::ShardEvent::Kind::lost)
                            std::cout << "a shard was lost" << std::endl;
                    }});
        members_.push_back({store, group});
        async_run(group, wait, [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    }

    [[nodiscard]] bool exact() const
    {
        auto const least = settings_.shards / members_.size();
        auto const most = least + (settings_.shards % members_.size() != 0);
        std::size_t sum = 0;
        for (auto const& member : members_) {
            auto const owned = member.group.owned().size();
            if (owned < least || owned > most || member.group.members().size() != members_.size())
                return false;
            sum += owned;
        }
        return sum == settings_.shards;
    }

    asio::awaitable<void> until_exact(char const* phase)
    {
        auto const begun = tenure::Clock::now();
        while (!exact()) {
            if (tenure::Clock::now() - begun > 300s)
                throw std::runtime_error(std::string(phase) + ": the counts were not exact after five minutes");
            co_await pause(50ms);
        }
        std::cout << phase << ": every count is exact after "
                  << std::chrono::duration<double>(tenure::Clock::now() - begun).count() << " s" << std::endl;
    }

    static asio::awaitable<void> pause(tenure::Clock::duration duration)
    {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        timer.expires_after(duration);
        co_await timer.async_wait(asio::as_tuple(asio::deferred));
    }

    [[nodiscard]] Counts counts() const
    {
        Counts sum{};
        for (auto const& member : members_) {
            auto const metrics = member.store.metrics();
            for (std::size_t kind = 0; kind < sum.size(); ++kind)
                for (auto const outcome : metrics.requests[kind].by_outcome)
                    sum[kind] += outcome;
        }
        return sum;
    }

    void tell(char const* phase, Counts const& before, tenure::Instant begun) const
    {
        auto const seconds = std::chrono::duration<double>(tenure::Clock::now() - begun).count();
        auto const after = counts();
        std::cout << phase << ", per member and second:";
        for (std::size_t kind = 0; kind < after.size(); ++kind)
            std::cout << ' ' << to_string(static_cast<tenure::RequestKind>(kind)) << ' '
                      << static_cast<double>(after[kind] - before[kind]) / seconds /
                             static_cast<double>(members_.size());
        std::cout << std::endl;
    }

    asio::io_context& loop_;
    Settings settings_;
    std::vector<Member> members_;
    /// works that have begun
    std::uint64_t begun_ = 0;
};

} // namespace

int main(int count, char** arguments)
try {
    if (count != 6) {
        std::cerr << "tenure_shard_crowd URL SHARDS MEMBERS TTL_MS REST_SECONDS\n";
        return 2;
    }
    asio::io_context loop(1);
    Crowd crowd(
        loop, {arguments[1], static_cast<std::uint32_t>(std::stoul(arguments[2])),
               static_cast<std::uint32_t>(std::stoul(arguments[3])), std::chrono::milliseconds(std::stol(arguments[4])),
               std::chrono::seconds(std::stol(arguments[5]))});
    std::exception_ptr failure;
    asio::co_spawn(loop, crowd.run(), [&](std::exception_ptr thrown) {
        failure = thrown;
        loop.stop();
    });
    loop.run();
    if (failure)
        std::rethrow_exception(failure);
    std::cout.flush();
    // the keys go with the server
    std::_Exit(0);
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    std::_Exit(1);
}
