// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Workers of this library share keys with an older version of it, with redis-py and with redsync (S1, S10).
//
// The older version and redsync take part where TENURE_OLD_WORKER and TENURE_REDSYNC_WORKER name their programs, which
// the script neighbours/build builds.
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "system/support/audited_workers.hpp"
#include "system/support/redis_py.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace
{

constexpr auto this_library = "this library";
constexpr auto older_version = "version 1";
constexpr auto redis_py = "redis-py";
constexpr auto redsync = "redsync";

/** The program that an environment variable names; empty if it is not set. @throws if the program is not there */
std::string named_program(char const* variable)
{
    char const* const path = std::getenv(variable);
    if (path == nullptr)
        return {};
    if (find_program(path).empty())
        FAIL(variable << " names " << path << ", which is no program");
    return path;
}

std::vector<std::string> python_worker_program()
{
    return {require_redis_py(), source_path("test/system/redis/python_worker.py")};
}

/** The grants of each key, as tokens and clients report them. */
struct TokenOrder {
    /// a line for each token that is not greater than all before it on its key, and for each that is missing
    std::vector<std::string> faults;
    /// how often a key went from one version of the library to the other: the former's token, then the latter's
    std::map<std::pair<std::string, std::string>, int> successions;
};

TokenOrder token_order(std::vector<Grant> const& grants)
{
    TokenOrder result;
    std::map<std::uint32_t, Grant const*> greatest;
    for (auto const& grant : grants) {
        if (grant.client != this_library && grant.client != older_version)
            continue;
        auto const& [holding, client] = grant;
        auto*& before = greatest[holding.cell];
        std::ostringstream line;
        line << "key " << holding.cell << ", granted at " << holding.entered << " ns: token " << holding.fencing_token
             << " of " << client;
        if (holding.fencing_token == 0)
            result.faults.push_back(line.str() + " is none");
        else if (before != nullptr && holding.fencing_token <= before->holding.fencing_token) {
            line << " after " << before->holding.fencing_token << " of " << before->client;
            result.faults.push_back(line.str());
        } else {
            if (before != nullptr)
                ++result.successions[{before->client, client}];
            before = &grant;
        }
    }
    return result;
}

void share_keys_with_neighbours(std::uint32_t keys, bool lock)
{
    require_redis();
    auto const time = soak_time(8s);
    AuditedWorkers workers{
        {.slots = keys, .lock = lock, .ttl = 400ms, .hold = "0-200", .rest = "100-300", .time = time}};
    auto const old_worker = named_program("TENURE_OLD_WORKER");
    auto const redsync_worker = named_program("TENURE_REDSYNC_WORKER");
    auto const python = python_worker_program();
    // with a rest of twice the hold no two of a kind can keep a key between them
    for (int i = 0; i < (lock ? 2 : 3); ++i) {
        workers.start_tenure(this_library, test_program("patient_worker"));
        workers.start_polling(redis_py, python);
        if (!old_worker.empty())
            workers.start_tenure(older_version, old_worker);
        if (!redsync_worker.empty())
            workers.start_polling(redsync, {redsync_worker});
    }
    workers.finish();

    for (auto const& overlap : workers.double_holdings())
        FAIL_CHECK(overlap);
    auto const grants = workers.grants();
    auto const order = token_order(grants);
    for (auto const& fault : order.faults)
        FAIL_CHECK(fault);

    std::map<std::string, int> had{{this_library, 0}, {redis_py, 0}};
    if (!old_worker.empty())
        had[older_version] = 0;
    if (!redsync_worker.empty())
        had[redsync] = 0;
    for (auto const& grant : grants)
        ++had[grant.client];
    std::ostringstream report;
    for (auto const& [client, count] : had) {
        INFO(client << " had " << count << " grants");
        CHECK(count >= 3);
        report << count << " to " << client << ", ";
    }
    if (!old_worker.empty()) {
        auto const to_old = order.successions.contains({this_library, older_version})
                                ? order.successions.at({this_library, older_version})
                                : 0;
        auto const to_this = order.successions.contains({older_version, this_library})
                                 ? order.successions.at({older_version, this_library})
                                 : 0;
        CHECK(to_old >= 1);
        CHECK(to_this >= 1);
        report << "tokens from this library to version 1 " << to_old << " times and back " << to_this << " times, ";
    }
    WARN("grants: " << report.str() << order.faults.size() << " tokens out of order");
}

int grants_of(AuditedWorkers const& workers, std::string const& client)
{
    return static_cast<int>(
        std::ranges::count(workers.grants(), client, [](Grant const& grant) { return grant.client; }));
}

/** Starts one process of `next` for each of `before` and then kills that one, while all of them take turns. */
void replace_one_by_one(
    AuditedWorkers& workers, int processes, std::string const& before, std::string const& next,
    std::string const& program)
{
    auto const wait_for_more = [&workers](std::string const& client, int more) {
        auto const enough = grants_of(workers, client) + more;
        INFO("waiting for grants to " << client);
        REQUIRE(eventually([&] { return grants_of(workers, client) >= enough; }, 20s, 20ms));
    };
    for (int i = 0; i < processes; ++i) {
        workers.start_tenure(next, program);
        // both versions run side by side, and neither is kept from the keys
        wait_for_more(next, 3);
        wait_for_more(before, 3);
        workers.kill_one(before);
    }
    wait_for_more(next, 10);
}

} // namespace

TEST_CASE("an update of one process after the other, and its rollback, keep every key to one holder", "[redis]")
{
    require_redis();
    auto const old_worker = named_program("TENURE_OLD_WORKER");
    auto const this_worker = test_program("patient_worker");
    constexpr int processes = 3;
    AuditedWorkers workers{{.slots = 2, .ttl = 400ms, .hold = "0-50", .rest = "0-50", .time = 120s}};
    for (int i = 0; i < processes; ++i)
        workers.start_tenure(older_version, old_worker.empty() ? this_worker : old_worker);
    replace_one_by_one(workers, processes, older_version, this_library, this_worker);
    replace_one_by_one(workers, processes, this_library, older_version, old_worker.empty() ? this_worker : old_worker);

    for (auto const& overlap : workers.double_holdings())
        FAIL_CHECK(overlap);
    auto const order = token_order(workers.grants());
    for (auto const& fault : order.faults)
        FAIL_CHECK(fault);
    CHECK(order.successions.contains({older_version, this_library}));
    CHECK(order.successions.contains({this_library, older_version}));
    std::ostringstream report;
    for (auto const& [versions, count] : order.successions)
        report << versions.first << " to " << versions.second << " " << count << " times, ";
    WARN(
        (old_worker.empty() ? "this version in both roles: " : "version 1 and this version: ")
        << grants_of(workers, older_version) + grants_of(workers, this_library) << " grants, " << report.str()
        << order.faults.size() << " tokens out of order");
}

TEST_CASE("processes of an older version and of this one share keys in equal parts", "[redis]")
{
    require_redis();
    auto const old_worker = named_program("TENURE_OLD_WORKER");
    auto const this_worker = test_program("patient_worker");
    bool const lock = GENERATE(true, false);
    AuditedWorkers workers{
        {.slots = lock ? 1U : 2U, .lock = lock, .ttl = 1s, .hold = "0-20", .rest = "0-5", .time = soak_time(8s)}};
    for (int i = 0; i < 4; ++i) {
        workers.start_tenure(this_library, this_worker);
        workers.start_tenure(older_version, old_worker.empty() ? this_worker : old_worker);
    }
    workers.finish();

    for (auto const& overlap : workers.double_holdings())
        FAIL_CHECK(overlap);
    auto const grants = workers.grants();
    for (auto const& fault : token_order(grants).faults)
        FAIL_CHECK(fault);
    std::map<std::pair<std::string, pid_t>, double> had;
    for (auto const& grant : grants)
        ++had[{grant.client, grant.holding.pid}];
    CHECK(had.size() == 8);
    auto const mean = static_cast<double>(grants.size()) / 8;
    std::ostringstream report;
    for (auto const& [process, count] : had) {
        INFO(process.first << " had " << count << " grants, of " << mean << " in the mean");
        CHECK(count >= mean / 2);
        CHECK(count <= mean * 2);
        report << count << " to " << process.first << ", ";
    }
    WARN((lock ? "a lock: " : "two slots: ") << grants.size() << " grants: " << report.str() << "mean " << mean);
}

TEST_CASE("clients of several kinds never hold a lock at once, and tokens increase through versions", "[redis]")
{
    share_keys_with_neighbours(1, true);
}

TEST_CASE("clients of several kinds never hold a slot at once, and tokens increase through versions", "[redis]")
{
    share_keys_with_neighbours(3, false);
}

TEST_CASE("the auditor catches a worker that ignores the answer to SET", "[redis]")
{
    require_redis();
    AuditedWorkers workers{{.slots = 1, .lock = true, .ttl = 1s, .hold = "50-150", .time = 3s}};
    workers.start_tenure(this_library, test_program("patient_worker"));
    workers.start_polling(redis_py, python_worker_program(), {"ignore-answer"});
    workers.finish();
    CHECK_FALSE(workers.double_holdings().empty());
}

TEST_CASE("a token that goes back is found", "[redis]")
{
    require_redis();
    AuditedWorkers workers{{.slots = 1, .lock = true, .ttl = 1s, .hold = "0-20", .time = 60s}};
    auto redis = workers.server().client();
    workers.start_tenure(this_library, test_program("patient_worker"));
    workers.start_tenure(this_library, test_program("patient_worker"));
    auto const last_token = [&] {
        auto const grants = workers.grants();
        return grants.empty() ? 0 : grants.back().holding.fencing_token;
    };
    REQUIRE(eventually([&] { return last_token() != 0; }));
    CHECK(token_order(workers.grants()).faults.empty());

    // a fence ahead of the clock, and then its loss: the counters of both versions, whichever this library uses
    std::vector<std::string> const fences{"{thread_id_lock:0}:fence", "tenure:fence"};
    auto const ahead = 2 * last_token();
    for (auto const& fence : fences)
        redis.call("SET", fence, ahead);
    REQUIRE(eventually([&] { return last_token() > ahead; }));
    CHECK(token_order(workers.grants()).faults.empty());
    for (auto const& fence : fences)
        redis.call("DEL", fence);
    REQUIRE(eventually([&] { return last_token() < ahead; }));
    CHECK_FALSE(token_order(workers.grants()).faults.empty());
}

} // namespace tenure::test
