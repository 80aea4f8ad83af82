// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Fencing in SQL: orders of several articles, from several processes on one SQLite database. A customer pays between
// the look at the shelf and the booking, so an order locks its articles meanwhile. Each row has the fencing token of
// its last user, and a process that was stopped in a payment books nothing late.
//   stock STORE_URL DATABASE [TTL_MS]     takes random orders until SIGINT or SIGTERM
//
// A counter that changes in one step, such as DECRBY in a Redis script, needs no lock and is faster without one.
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <sqlite3.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

constexpr unsigned articles = 40;

struct Line {
    std::string sku;
    /// how many pieces are sold; a negative number is returned goods
    std::int64_t pieces;
    /// the fencing token of the lock on the article
    std::int64_t fence = 0;
};
using Order = std::vector<Line>;

class Database
{
public:
    explicit Database(char const* file)
    {
        sqlite3* opened = nullptr;
        auto const result = sqlite3_open(file, &opened);
        connection_.reset(opened);
        check(result);
        // a process that is killed in a transaction holds nothing; one that is stopped does, until it continues
        check(sqlite3_busy_timeout(opened, 30'000));
        run("CREATE TABLE IF NOT EXISTS stock (sku TEXT PRIMARY KEY, pieces INTEGER, fence INTEGER)");
        run("CREATE TABLE IF NOT EXISTS sale (id INTEGER PRIMARY KEY, sku TEXT, pieces INTEGER, fence INTEGER)");
        run("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
            "INSERT OR IGNORE INTO stock SELECT printf('sku-%02d', i), 5, 0 FROM n");
    }

    /** Runs a statement with ?1 token, ?2 article, ?3 pieces; the first value of its row, if there is one. */
    std::optional<std::int64_t> run(char const* text, Line const& line = {})
    {
        sqlite3_stmt* prepared = nullptr;
        check(sqlite3_prepare_v2(connection_.get(), text, -1, &prepared, nullptr));
        std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> const statement(prepared, sqlite3_finalize);
        // a statement without these parameters refuses them, which is no failure
        sqlite3_bind_int64(prepared, 1, line.fence);
        sqlite3_bind_text(prepared, 2, line.sku.c_str(), -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(prepared, 3, line.pieces);
        std::optional<std::int64_t> first;
        int result = SQLITE_OK;
        while ((result = sqlite3_step(prepared)) == SQLITE_ROW)
            first = first.value_or(sqlite3_column_int64(prepared, 0));
        check(result == SQLITE_DONE ? SQLITE_OK : result);
        return first;
    }

    /** Runs the steps so that all take effect, or none: if `steps` returns false or throws. */
    template <class Steps>
    bool transact(Steps steps)
    {
        run("BEGIN IMMEDIATE");
        std::unique_ptr<sqlite3, void (*)(sqlite3*)> roll_back(connection_.get(), [](sqlite3* connection) {
            sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr);
        });
        if (!steps())
            return false;
        run("COMMIT");
        (void)roll_back.release();
        return true;
    }

private:
    void check(int result)
    {
        if (result != SQLITE_OK)
            throw std::runtime_error(std::string("database: ") + sqlite3_errmsg(connection_.get()));
    }

    std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection_{nullptr, sqlite3_close};
};

/** Marks the rows with the order's tokens, so that no earlier order can write them from now on, and reads them. */
char const* look(Database& database, Order const& order)
{
    char const* result = "pays";
    database.transact([&] {
        for (auto const& line : order) {
            auto const pieces =
                database.run("UPDATE stock SET fence = ?1 WHERE sku = ?2 AND fence <= ?1 RETURNING pieces", line);
            if (!pieces || *pieces < line.pieces)
                result = pieces ? "sold out" : "too late, nothing booked";
        }
        return result == std::string("pays");
    });
    return result;
}

/** Books all lines; none, if a later order has marked a row. */
bool book(Database& database, Order const& order)
{
    return database.transact([&] {
        for (auto const& line : order) {
            if (!database.run(
                    "UPDATE stock SET pieces = pieces - ?3 WHERE sku = ?2 AND fence <= ?1 RETURNING pieces", line))
                return false;
            database.run("INSERT INTO sale (fence, sku, pieces) VALUES (?1, ?2, ?3)", line);
        }
        return true;
    });
}

void print(char const* what, Order const& order)
{
    std::cout << what;
    for (auto const& line : order)
        std::cout << ' ' << line.sku << ' ' << std::showpos << -line.pieces;
    std::cout << std::endl;
}

/** One order, from its locks to its booking. */
asio::awaitable<void> sell(Database& database, tenure::SegmentedLock const& stock, Order order)
{
    std::vector<tenure::SegmentItem> items;
    for (auto const& line : order)
        items.emplace_back(line.sku);
    // all segments or none: orders with the same articles never wait for each other in a circle
    auto held = co_await stock.for_items(items).async_acquire(10s);
    // of the article's own segment; articles of one segment share its key and its token
    for (auto& line : order)
        line.fence = static_cast<std::int64_t>(held.fencing_token(stock.key_of(line.sku)));
    std::string result = look(database, order);
    if (result == "pays") {
        print("pays", order);
        asio::steady_timer payment(co_await asio::this_coro::executor, 20ms);
        co_await payment.async_wait(asio::deferred);
        // This process may have been stopped since, even after a check of held.token() here: the rows decide.
        result = book(database, order) ? "booked" : "too late, nothing booked";
    }
    co_await held.async_release();
    print(result.c_str(), order);
}

/** Two or three articles, of which a half comes back. */
Order random_order(std::mt19937& random)
{
    Order order;
    auto const count = 2 + random() % 2;
    for (auto number = random() % articles; order.size() < count; number += 1 + random() % (articles / 3)) {
        auto const digits = std::to_string(100 + number % articles + 1).substr(1);
        order.push_back({.sku = "sku-" + digits, .pieces = random() % 2 == 0 ? 1 : -1});
    }
    return order;
}

asio::awaitable<void> take_orders(tenure::Store store, Database& database, std::chrono::milliseconds ttl)
{
    // a wrong login fails here, at the start
    co_await store.async_ready(10s);
    tenure::SegmentedLock const stock(
        store, {.prefix = "stock:", .segments = tenure::Segments::hashed(32), .ttl = ttl});
    std::mt19937 random{std::random_device{}()};
    for (;;) {
        try {
            co_await sell(database, stock, random_order(random));
        } catch (boost::system::system_error const& error) {
            if (error.code() != tenure::condition::try_later)
                throw;
            std::cout << "not now: " << error.what() << std::endl;
        }
    }
}

/** Takes orders until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, Database& database, std::chrono::milliseconds ttl)
{
    co_await tenure::async_serve(store, {.close_within = 1s}, take_orders(store, database, ttl));
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
    if (argc < 3) {
        std::cerr << "usage: stock STORE_URL DATABASE [TTL_MS]\n";
        return 1;
    }
    std::chrono::milliseconds const ttl(argc > 3 ? std::atol(argv[3]) : 5000);
    Database database(argv[2]);
    asio::io_context context(1);
    // SQLite blocks the loop while it waits for another process; the store renews on its own thread meanwhile
    auto const store = tenure::open_store(context, argv[1], {.own_thread = true});
    asio::co_spawn(context, serve(store, database, ttl), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
