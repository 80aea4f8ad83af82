// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/stock.cpp: four processes take orders on one database. One after the other is killed in the middle of an
// order and replaced, another one is stopped for longer than the ttl. At the end every piece is accounted for.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto stock_ttl = 800ms;

/** The number that a query results in. */
std::int64_t ask_database(std::string const& file, std::string const& query)
{
    sqlite3* opened = nullptr;
    auto const result = sqlite3_open(file.c_str(), &opened);
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> const database(opened, sqlite3_close);
    sqlite3_stmt* prepared = nullptr;
    if (result != SQLITE_OK || sqlite3_prepare_v2(opened, query.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(opened));
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> const statement(prepared, sqlite3_finalize);
    if (sqlite3_step(prepared) != SQLITE_ROW)
        throw std::runtime_error(sqlite3_errmsg(opened));
    return sqlite3_column_int64(prepared, 0);
}

/** Articles of which a piece is missing, or which have one too many; each had five. */
constexpr auto wrong_articles =
    "SELECT COUNT(*) FROM stock WHERE pieces != 5 - (SELECT TOTAL(pieces) FROM sale WHERE sale.sku = stock.sku)";
/** Sales of what was not there, after those before. */
constexpr auto sold_too_often = "SELECT COUNT(*) FROM (SELECT 5 - SUM(pieces) OVER (PARTITION BY sku ORDER BY id) AS "
                                "rest FROM sale) WHERE rest < 0";
/** Sales by an order whose lock was older than that of the sale before. */
constexpr auto sold_too_late = "SELECT COUNT(*) FROM (SELECT fence, LAG(fence) OVER (PARTITION BY sku ORDER BY id) AS "
                               "previous FROM sale) WHERE fence < previous";

using StockProcesses = std::vector<std::unique_ptr<ServiceProcess>>;

/** Stops the last process in the middle of a payment, and meanwhile kills and replaces the others, one after the other,
 * until one of them has the locks of the stopped order. */
void stop_in_a_payment(StockProcesses const& processes, std::size_t& kills)
{
    auto& stopped = *processes.back();
    auto const payments = stopped.count("pays");
    REQUIRE(eventually([&] { return stopped.count("pays") > payments; }, 20s));
    stopped.pause();
    auto const order = stopped.lines().back();
    auto const sku = order.substr(order.find(" sku-"), 7);
    std::vector<std::size_t> seen;
    for (auto const& process : processes)
        seen.push_back(process->lines().size());
    auto const others_have_it = [&] {
        for (std::size_t i = 0; i + 1 < processes.size(); ++i) {
            auto const lines = processes[i]->lines();
            if (std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(seen[i]), lines.end(), [&](auto const& line) {
                    return line.starts_with("pays") && line.find(sku) != std::string::npos;
                }))
                return true;
        }
        return false;
    };
    for (auto const limit = Clock::now() + 10s; !others_have_it() && Clock::now() < limit;) {
        auto& victim = *processes[kills++ % (processes.size() - 1)];
        victim.kill();
        victim.start();
        std::this_thread::sleep_for(300ms);
    }
    stopped.resume();
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "orders of killed and stopped processes lose no piece, and a stopped one books nothing late",
    "[redis][stock]")
{
    ScratchDirectory const directory(ScratchDirectory::Place::memory);
    auto const database = directory.file("stock.db");
    StockProcesses processes;
    for (std::size_t i = 0; i < 4; ++i)
        processes.push_back(std::make_unique<ServiceProcess>(
            std::vector<std::string>{
                std::string(TENURE_EXAMPLES) + "/stock", server.url(), database, std::to_string(stock_ttl.count())},
            directory.file(std::to_string(i) + ".log")));
    for (auto const& process : processes)
        REQUIRE(eventually([&] { return process->count("booked") > 0; }, 20s));

    auto const& stopped = *processes.back();
    std::size_t kills = 0;
    std::size_t stops = 0;
    // a stop that comes just after the booking shows nothing
    auto const end = Clock::now() + soak_time(4s);
    for (; Clock::now() < end || (stopped.count("too late") == 0 && stops < 20); ++stops)
        stop_in_a_payment(processes, kills);
    std::size_t booked = 0;
    std::size_t late = 0;
    for (auto const& process : processes) {
        CHECK(process->end(SIGTERM, 10s) == ExitStatus{0, 0});
        booked += process->count("booked");
        late += process->count("too late");
    }
    auto const own = stopped.count("too late");
    std::cout << booked << " orders booked, " << kills << " kills, " << stops << " stops, " << late
              << " bookings too late, " << own << " of them of the stopped process\n";
    CHECK(own > 0);
    // the locks keep the others from paying for what they cannot book, unless a busy machine stops them, too
    CHECK((late - own) * 20 < booked);
    CHECK(ask_database(database, wrong_articles) == 0);
    CHECK(ask_database(database, sold_too_often) == 0);
    CHECK(ask_database(database, sold_too_late) == 0);
    // each killed process may have booked one order more than it could tell of
    auto const lines = static_cast<std::size_t>(ask_database(database, "SELECT COUNT(*) FROM sale"));
    CHECK(lines >= booked * 2);
    auto redis = server.client();
    CHECK(eventually([&] { return redis.keys("stock:*").empty(); }, stock_ttl + 5s));
}
