// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Users of a store, on one thread or several, that end at a random await point: stores, pools and leases are destroyed,
// the context is stopped, a handler throws, the process forks. Sanitizers run along. This program checks that nothing
// hangs, that no object without an owner stays alive, that no slot has two holders, and that every key is free after
// the end of its users. tenure_teardown [--rounds N] [--seed S] [--store memory|redis|redlock|etcd|zookeeper] One round
// has the seed that the program prints when something is wrong: --rounds 1 --seed S plays the like of it again, as far
// as threads do the same twice.
#include "round.hpp"
#include "servers.hpp"

#include "harness/eventually.hpp"
#include "harness/immovable.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenure::teardown
{

namespace asio = boost::asio;

namespace
{

/// a round takes some ten milliseconds; sanitizers and other users of the machine make that a second at most
constexpr unsigned longest_round_s = 60;
/// a store without users closes within a second; the machine may be busy
constexpr std::chrono::seconds longest_closing{5};
std::atomic<std::uint64_t> seed_of_round = 0;

[[noreturn]] void hangs(int)
{
    char const text[] = "a round does not end, seed ";
    char digits[24];
    int const size = std::snprintf(digits, sizeof digits, "%llu\n", static_cast<unsigned long long>(seed_of_round));
    auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
    written = ::write(STDERR_FILENO, digits, static_cast<std::size_t>(size));
    static_cast<void>(written);
    std::abort();
}

StoreOptions quiet()
{
    StoreOptions options;
    options.log = silent_log_sink();
    return options;
}

/** In the child of a fork: nothing that was the parent's may be relied on, and nothing of it is given back. */
[[nodiscard]] bool child_is_right(asio::io_context& context, Round& round, Store const& store)
{
    auto kept = round.take_kept();
    for (auto& slot : kept)
        if (slot.valid())
            return false;
    std::optional<error_code> acquired;
    std::optional<error_code> released;
    round.pool(store).async_acquire([&](error_code error, Slot const&) { acquired = error; });
    if (!kept.empty())
        kept.front().async_release([&](error_code error, ReleaseOutcome) { released = error; });
    context.notify_fork(asio::io_context::fork_child);
    while (!acquired || (!kept.empty() && !released))
        context.poll();
    return acquired == errc::forked && (kept.empty() || released == errc::forked);
}

void fork_now(asio::io_context& context, Round& round, Store const& store)
{
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(longest_round_s / 2);
        ::_exit(child_is_right(context, round, store) ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        round.fail("the child of a fork is wrong, status " + std::to_string(status));
    // the parent's leases are as they were
    auto kept = round.take_kept();
    for (auto& slot : kept) {
        if (!slot.valid())
            round.fail("a fork has cost the parent a lease");
        round.keep(std::move(slot));
    }
}

void end_round(asio::execution_context& context, Round& round, Store const& store)
{
    switch (round.plan().end) {
    case End::let_go:
        break;
    case End::stop:
        if (round.plan().thread_pool)
            static_cast<asio::thread_pool&>(context).stop();
        else
            static_cast<asio::io_context&>(context).stop();
        break;
    case End::throw_out:
        throw Thrown{};
    case End::fork_off:
        fork_now(static_cast<asio::io_context&>(context), round, store);
        break;
    }
}

/** Opens the store and sends the actors in. */
template <class Context>
void populate(Context& context, Round& round)
{
    auto const& plan = round.plan();
    Random random{plan.seed};
    auto const store = open_store(context.get_executor(), plan.url, round.store_options());
    for (unsigned i = 0; i < plan.actors; ++i)
        asio::co_spawn(
            asio::make_strand(context.get_executor()), act(context, round, store, random.next(), &end_round),
            [&round, alive = Alive{round}](std::exception_ptr failure) {
                round.actor_left();
                if (failure)
                    std::rethrow_exception(failure);
            });
}

/** Runs until there is no work left or the context was stopped; exceptions of users interrupt it for a moment. */
void run(asio::io_context& context)
{
    for (;;) {
        try {
            context.run();
            return;
        } catch (Thrown const&) {
        }
    }
}

void play(asio::io_context& context, Round& round)
{
    populate(context, round);
    std::vector<std::thread> others;
    for (unsigned i = 1; i < round.plan().threads; ++i)
        others.emplace_back([&] { run(context); });
    run(context);
    for (auto& thread : others)
        thread.join();
}

void play(asio::thread_pool& context, Round& round)
{
    populate(context, round);
    context.join();
}

/** Checks the invariants at the end of a round, when all actors have ended. */
void check(Round& round, Store const& witness)
{
    round.throw_failure();
    if (round.alive != 0)
        throw Violation(std::to_string(round.alive) + " handlers or coroutines are left");
    if (round.plan().end == End::stop)
        return;
    if (round.begun != round.called)
        throw Violation("a handler was not called");
    std::string held_by;
    auto const all_are_free = [&] {
        held_by.clear();
        for (auto const& key : witness.async_inspect(round.pool(witness).range(), asio::use_future).get())
            if (key.kind != KeyState::Kind::free)
                held_by = key.owner;
        return held_by.empty();
    };
    // All releases were over before the context ran out of work; a thread of the store's own goes on a
    // while
    bool const are_free = round.plan().own_thread ? test::eventually(all_are_free, longest_closing) : all_are_free();
    if (!are_free)
        throw Violation("a key is held by " + held_by + ", who has gone");
}

template <class Context, class Threads>
void play_in(Round& round)
{
    Context context(static_cast<Threads>(round.plan().threads));
    play(context, round);
    // objects of a stopped context, which no longer runs: they are objects of Asio and must be destroyed first
    static_cast<void>(round.take_kept());
}

Plan plan_of(std::uint64_t seed, std::string const& url)
{
    Random random{seed};
    Plan plan;
    plan.url = url;
    plan.seed = random.next();
    plan.prefix = "teardown-" + std::to_string(seed) + ":";
    plan.threads = random.below(2) == 0 ? 1 : 2 + static_cast<unsigned>(random.below(3));
    plan.thread_pool = random.below(3) == 0;
    plan.actors = 2 + static_cast<unsigned>(random.below(6));
    plan.end_at = 1 + random.below(plan.actors * 5);
    switch (random.below(4)) {
    case 0:
        plan.end = End::let_go;
        break;
    case 1:
        plan.end = plan.thread_pool ? End::stop : End::throw_out;
        break;
    case 2:
        plan.end = plan.thread_pool || plan.threads > 1 ? End::let_go : End::fork_off;
        break;
    default:
        plan.end = End::stop;
    }
    plan.own_thread = random.below(2) == 0;
    return plan;
}

struct Totals {
    std::array<std::uint64_t, 4> ends{};
    std::uint64_t threaded = 0;
    std::uint64_t own_thread = 0;
    std::uint64_t grants = 0;
    std::uint64_t cancelled = 0;
};

void play_round(std::uint64_t seed, std::string const& url, Store const& witness, Totals& totals)
{
    seed_of_round = seed;
    ::alarm(longest_round_s);
    Round round{plan_of(seed, url)};
    if (round.plan().thread_pool)
        play_in<asio::thread_pool, std::size_t>(round);
    else
        play_in<asio::io_context, int>(round);
    check(round, witness);
    ++totals.ends.at(static_cast<std::size_t>(round.plan().end));
    totals.threaded += round.plan().threads > 1 ? 1U : 0U;
    totals.own_thread += round.plan().own_thread ? 1U : 0U;
    totals.grants += round.grants;
    totals.cancelled += round.cancelled;
}

/** Sees, with a context of its own, what the rounds have left behind. */
class Witness : test::Immovable
{
public:
    explicit Witness(std::string const& url)
        : store_(open_store(context_.get_executor(), url, quiet()))
        , thread_([this] { context_.run(); })
    {
    }
    ~Witness()
    {
        context_.stop();
        thread_.join();
    }
    [[nodiscard]] Store const& store() const noexcept { return store_; }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    Store store_;
    std::thread thread_;
};

void play_all(std::uint64_t rounds, std::uint64_t first_seed, std::string const& url)
{
    Witness const witness{url};
    Totals totals;
    for (auto seed = first_seed; seed < first_seed + rounds; ++seed)
        play_round(seed, url, witness.store(), totals);
    std::cout << rounds << " rounds ended well: " << totals.ends[0] << " let go, " << totals.ends[1] << " stopped, "
              << totals.ends[2] << " threw, " << totals.ends[3] << " forked; " << totals.threaded
              << " on several threads, " << totals.own_thread << " with stores' own threads; " << totals.grants
              << " grants, " << totals.cancelled << " cancelled" << std::endl;
    if (rounds >= 100 && (totals.grants < rounds || totals.cancelled == 0 || totals.ends[3] == 0))
        throw Violation("the rounds show nothing: too little has happened in them");
}

} // namespace

int main_program(std::vector<std::string> const& arguments)
{
    std::uint64_t rounds = 100;
    std::uint64_t seed = 1;
    std::string store = "memory";
    for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
        if (arguments[i] == "--rounds")
            rounds = std::stoull(arguments[i + 1]);
        else if (arguments[i] == "--seed")
            seed = std::stoull(arguments[i + 1]);
        else if (arguments[i] == "--store")
            store = arguments[i + 1];
        else
            throw std::invalid_argument(
                "usage: tenure_teardown [--rounds N] [--seed S] [--store memory|redis|redlock|etcd|zookeeper]");
    }
    ::signal(SIGALRM, &hangs);
    try {
        auto const stage = set_stage(store);
        if (!stage) {
            std::cerr << "no servers for " << store << " on this machine\n";
            return 4;
        }
        play_all(rounds, seed, stage->url);
        return 0;
    } catch (std::exception const& error) {
        std::cerr << "seed " << seed_of_round << ": " << error.what() << "\n";
        return 1;
    }
}

} // namespace tenure::teardown

int main(int count, char** arguments)
{
    return tenure::teardown::main_program({arguments + 1, arguments + count});
}
