// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Holders that are killed (SIGKILL) at any moment: what they leave lasts no longer than ttl + reuse_after.
#include "directory.hpp"
#include "scratch_directory.hpp"

#include <tenure/slot_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::backend;
using namespace tenure::conformance;
using namespace own_store;
using own_store::test::ScratchDirectory;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 400ms;
constexpr auto reuse_after = 200ms;
constexpr std::uint32_t keys = 32;

asio::awaitable<void> hold_again_and_again(SlotPool pool)
{
    for (;;) {
        Slot slot = co_await pool.async_acquire();
        co_await slot.async_renew();
        co_await slot.async_release();
    }
}

/** In a process of its own, until it is killed. */
void work(std::filesystem::path const& directory)
{
    asio::io_context context;
    auto const store = open_directory(context.get_executor(), directory, {});
    SlotPool const pool(store, {.prefix = "pool:", .size = keys, .ttl = ttl, .reuse_after = reuse_after});
    for (int i = 0; i < 3; ++i)
        asio::co_spawn(context, hold_again_and_again(pool), [](std::exception_ptr const& failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    context.run();
}

class Worker
{
public:
    explicit Worker(std::filesystem::path const& directory)
        : process_(::fork())
    {
        if (process_ < 0)
            throw std::runtime_error("cannot fork");
        if (process_ == 0) {
            try {
                work(directory);
            } catch (std::exception const& error) {
                std::cerr << "worker: " << error.what() << '\n';
            }
            ::_exit(1);
        }
    }
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;
    ~Worker() { (void)end(); }

    /** Kills it. False: it had ended before. */
    [[nodiscard]] bool end()
    {
        if (process_ == 0)
            return true;
        ::kill(process_, SIGKILL);
        int status = 0;
        ::waitpid(std::exchange(process_, 0), &status, 0);
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }

private:
    ::pid_t process_;
};

[[nodiscard]] std::vector<KeyState> look(ScratchDirectory const& directory, KeyRangePtr const& range)
{
    return expect<std::vector<KeyState>>(directory.client()->inspect(range));
}

} // namespace

TEST_CASE("holders that are killed at any moment leave nothing beyond the ttl and the quarantine", "[kill]")
{
    ScratchDirectory const directory;
    auto const range = numbered_keys("pool:", keys);
    std::map<std::uint32_t, std::uint64_t> tokens;
    std::mt19937 random(30);
    std::uniform_int_distribution<int> microseconds(5'000, 60'000);
    unsigned in_the_middle = 0;
    for (unsigned round = 0; round < 50; ++round) {
        {
            // two of them, because each may be killed under the lock that the other waits for
            Worker first(directory.path());
            Worker second(directory.path());
            std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
            REQUIRE(first.end());
            REQUIRE(second.end());
        }
        in_the_middle += std::filesystem::remove(Directory(directory.path()).draft()) ? 1 : 0;

        // the store works at once, and no token comes twice
        auto const client = directory.client();
        auto const states = expect<std::vector<KeyState>>(client->inspect(range));
        for (auto const& state : states) {
            CHECK(state.kind != KeyState::Kind::foreign);
            CHECK(state.fencing_token >= tokens[state.index]);
            tokens[state.index] = state.fencing_token;
        }
        auto const reply = client->claim({range, owner(round), ttl, client->now() + 5s, true, std::nullopt});
        if (auto const* const granted = std::get_if<Granted>(&reply)) {
            CHECK(granted->fencing_token > tokens[granted->index]);
            tokens[granted->index] = granted->fencing_token;
            expect<Released>(client->release(claim_of(range, owner(round), *granted)));
        } else
            expect<Busy>(reply);
    }
    // otherwise this would have tested little
    CHECK(in_the_middle > 0);
    CHECK(std::ranges::any_of(tokens, [](auto const& token) { return token.second > 5; }));

    std::this_thread::sleep_for(ttl + reuse_after);
    for (auto const& state : look(directory, range))
        CHECK(state.kind == KeyState::Kind::free);
    auto const client = directory.client();
    for (std::uint32_t index = 0; index < keys; ++index) {
        auto const granted = expect<Granted>(client->claim(range, owner(index)));
        CHECK(granted.index == index);
        CHECK(granted.fencing_token > tokens[index]);
    }
}
