// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that acquires two to five of some keys together, named in random order, holds and releases them, over and
// over, and enters the auditor's cell of each. It waits for each set until the end.
//   multi_worker URL AUDIT_FILE PREFIX KEYS TTL_MS LONGEST_HOLD_MS END
// The keys are PREFIX0 and so on, as many as KEYS says. END is in ns of CLOCK_BOOTTIME. An error of the store ends it.
#include "harness/auditor.hpp"
#include "harness/program.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

namespace asio = boost::asio;
using std::chrono::milliseconds;
using tenure::test::Auditor;
using tenure::test::boottime_ns;

struct Plan {
    std::string prefix;
    std::uint32_t keys;
    milliseconds ttl;
    std::int64_t longest_hold_ms;
    std::int64_t end;
};

/** Two to five of the keys, in random order. */
std::vector<std::uint32_t> choose(std::uint32_t keys, std::mt19937_64& random)
{
    std::vector<std::uint32_t> all(keys);
    std::iota(all.begin(), all.end(), 0U);
    std::ranges::shuffle(all, random);
    all.resize(2 + random() % 4);
    return all;
}

/** Is in the cells of the set's keys until that instant, or until its token is cancelled.
 *  @param mark  the same for all keys of a set, another one for each set of the process */
asio::awaitable<void> hold(
    tenure::LeaseSet const& set, std::uint64_t mark, std::vector<std::uint32_t> const& cells, Auditor& auditor,
    std::int64_t until, asio::steady_timer& timer)
{
    auto const valid_until = [&](std::size_t index) { return set[index].valid_until().time_since_epoch().count(); };
    std::vector<Auditor::Entry> entries;
    for (std::size_t index = 0; index < cells.size(); ++index)
        entries.push_back(auditor.enter(cells[index], valid_until(index), set[index].fencing_token(), mark));
    while (boottime_ns() < until) {
        std::vector<std::int64_t> known(cells.size());
        for (std::size_t index = 0; index < cells.size(); ++index)
            known[index] = valid_until(index);
        // a validity that was read after the token was cancelled would not count
        if (set.token().cancelled())
            break;
        for (std::size_t index = 0; index < cells.size(); ++index)
            auditor.extend(entries[index], known[index]);
        timer.expires_after(milliseconds{2});
        co_await timer.async_wait(asio::use_awaitable);
    }
    for (auto const entry : entries)
        auditor.leave(entry);
}

asio::awaitable<void> take_turns(tenure::Store store, Auditor& auditor, Plan plan)
{
    std::mt19937_64 random{static_cast<std::uint64_t>(boottime_ns()) ^ static_cast<std::uint64_t>(::getpid())};
    asio::steady_timer timer{co_await asio::this_coro::executor};
    for (std::uint64_t number = 1;; ++number) {
        // whole milliseconds, and no less than is left
        auto const left = (plan.end - boottime_ns() + 999'999) / 1'000'000;
        if (left <= 0)
            co_return;
        auto const cells = choose(plan.keys, random);
        std::vector<std::string> names;
        for (auto const cell : cells)
            names.push_back(plan.prefix + std::to_string(cell));
        tenure::MultiLock const locks(store, {.keys = names, .ttl = plan.ttl});
        auto result = co_await locks.async_acquire(
            tenure::AcquireOptions{milliseconds{left}}, asio::as_tuple(asio::use_awaitable));
        auto& [error, set] = result;
        // a wait of the last few milliseconds may end before the store has answered at all
        if (error && boottime_ns() >= plan.end)
            co_return;
        if (error)
            throw std::runtime_error(error.message() + ": " + store.diagnostics().last_detail);
        auto const time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(plan.longest_hold_ms + 1));
        co_await hold(set, number, cells, auditor, boottime_ns() + time * 1'000'000, timer);
        co_await set.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

void run(char** argument)
{
    auto auditor = Auditor::open(argument[2]);
    asio::io_context context{1};
    auto store = tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()});
    Plan const plan{
        argument[3], static_cast<std::uint32_t>(std::stoul(argument[4])), milliseconds{std::stoll(argument[5])},
        std::stoll(argument[6]), std::stoll(argument[7])};
    // the store closes at the end, when what was given back is released
    asio::co_spawn(context, take_turns(std::move(store), auditor, plan), tenure::test::rethrow);
    context.run();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program(
        "multi_worker URL AUDIT_FILE PREFIX KEYS TTL_MS LONGEST_HOLD_MS END", count, argument, run);
}
