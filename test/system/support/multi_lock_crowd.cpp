// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/multi_lock_crowd.hpp"

#include "harness/eventually.hpp"
#include "harness/paths.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

namespace tenure::test
{

using namespace std::chrono_literals;

MultiLockCrowd::MultiLockCrowd(std::string url)
    : url_(std::move(url))
{
}

MultiLockCrowd::Worker MultiLockCrowd::start(std::int64_t end) const
{
    auto const begin = boottime_ns();
    return {
        ChildProcess{Command{
            {test_program("multi_worker"), url_, audit_, "crowd:", std::to_string(keys), std::to_string(ttl.count()),
             std::to_string(longest_hold.count()), std::to_string(end)}}},
        begin};
}

void MultiLockCrowd::run(std::chrono::seconds time)
{
    auto const end = boottime_ns() + std::chrono::nanoseconds{time}.count();
    std::vector<Worker> workers;
    for (std::size_t number = 0; number < processes; ++number)
        workers.push_back(start(end));
    std::mt19937_64 random{42};
    auto next = std::chrono::steady_clock::now() + 1s;
    for (; boottime_ns() + 1'000'000'000 < end; next += 1s) {
        std::this_thread::sleep_until(next);
        auto& victim = workers[random() % workers.size()];
        auto const pid = victim.process.pid();
        // a worker that has ended by itself is found here
        if (victim.process.kill() != ExitStatus{-1, 9})
            FAIL_CHECK("process " << pid << " had ended before it was killed");
        lives_.push_back({pid, victim.begin, boottime_ns()});
        ++kills_;
        victim = start(end);
    }
    for (auto& worker : workers) {
        CHECK(worker.process.wait_for(30s).value_or(ExitStatus{}) == ExitStatus{0, 0});
        lives_.push_back({worker.process.pid(), worker.begin, end});
    }
}

std::chrono::nanoseconds MultiLockCrowd::longest_gap() const
{
    std::map<pid_t, std::set<std::int64_t>> entered;
    for (auto const& holding : auditor_.holdings())
        entered[holding.pid].insert(holding.entered);
    std::int64_t longest = 0;
    for (auto const& life : lives_) {
        auto last = life.begin;
        for (auto const instant : entered[life.pid])
            if (instant >= life.begin && instant <= life.end)
                longest = std::max(longest, instant - std::exchange(last, instant));
        longest = std::max(longest, life.end - last);
    }
    return std::chrono::nanoseconds(longest);
}

void MultiLockCrowd::check(std::function<bool(std::string const&)> const& held)
{
    std::this_thread::sleep_for(ttl);
    for (std::uint32_t number = 0; number < keys; ++number) {
        CAPTURE(key(number));
        // a claim of a process that was killed may have come to a busy server a moment later
        CHECK(eventually([&] { return !held(key(number)); }, 500ms));
    }
    for (auto const& violation : auditor_.violations())
        FAIL_CHECK(violation.describe());
    CHECK(auditor_.tokens_out_of_order() == 0);
    auto const holdings = auditor_.holdings();
    std::set<std::tuple<pid_t, std::uint64_t, std::uint64_t>> sets;
    for (auto const& holding : holdings)
        sets.emplace(holding.pid, holding.process_started, holding.mark);
    auto const gap = longest_gap();
    WARN(
        sets.size() << " sets of " << holdings.size() << " keys granted, " << kills_ << " kills, at most "
                    << std::chrono::round<std::chrono::milliseconds>(gap).count()
                    << " ms without a new set for a living process");
    CHECK(gap <= period);
}

} // namespace tenure::test
