// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Consumers of a stream in 16 shards, which any number of processes share. Each shard has its offset in a SQLite
// database, and moves on together with the result, in one transaction that a former owner of the shard cannot commit:
// nothing is lost, and nothing is counted twice.
//   shard_consumer STORE_URL DATABASE [TTL_MS]     consumes until SIGINT or SIGTERM
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

class Database
{
public:
    explicit Database(char const* file)
    {
        sqlite3* opened = nullptr;
        auto const result = sqlite3_open(file, &opened);
        connection_.reset(opened);
        check(result);
        check(sqlite3_busy_timeout(opened, 30'000));
        run("CREATE TABLE IF NOT EXISTS progress (shard INTEGER PRIMARY KEY, position INTEGER, fence INTEGER)");
        run("CREATE TABLE IF NOT EXISTS result (shard INTEGER, position INTEGER, fence INTEGER)");
    }

    /** Runs a statement with ?1 shard, ?2 position, ?3 fencing token; the first value of its row, if there is one. */
    std::optional<std::int64_t>
    run(char const* text, std::int64_t shard = 0, std::int64_t position = 0, std::int64_t fence = 0)
    {
        sqlite3_stmt* prepared = nullptr;
        check(sqlite3_prepare_v2(connection_.get(), text, -1, &prepared, nullptr));
        std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> const statement(prepared, sqlite3_finalize);
        // a statement without these parameters refuses them, which is no failure
        sqlite3_bind_int64(prepared, 1, shard);
        sqlite3_bind_int64(prepared, 2, position);
        sqlite3_bind_int64(prepared, 3, fence);
        std::optional<std::int64_t> first;
        int result = SQLITE_OK;
        while ((result = sqlite3_step(prepared)) == SQLITE_ROW)
            first = first.value_or(sqlite3_column_int64(prepared, 0));
        check(result == SQLITE_DONE ? SQLITE_OK : result);
        return first;
    }

    /** Marks the shard with this token, so that no former owner can move it on, and tells where it stands. Unset: a
     * later owner has marked it. */
    std::optional<std::int64_t> take_over(std::int64_t shard, std::int64_t fence)
    {
        run("INSERT OR IGNORE INTO progress VALUES (?1, 0, 0)", shard);
        return run(
            "UPDATE progress SET fence = ?3 WHERE shard = ?1 AND fence <= ?3 RETURNING position", shard, 0, fence);
    }

    /** Writes the result of this position, and moves the shard on to the next. False: a later owner has marked it. */
    bool complete(std::int64_t shard, std::int64_t position, std::int64_t fence)
    {
        run("BEGIN IMMEDIATE");
        bool const ours =
            run("UPDATE progress SET position = ?2 + 1 WHERE shard = ?1 AND position = ?2 AND fence = ?3 RETURNING 1",
                shard, position, fence)
                .has_value();
        if (ours)
            run("INSERT INTO result VALUES (?1, ?2, ?3)", shard, position, fence);
        run(ours ? "COMMIT" : "ROLLBACK");
        return ours;
    }

private:
    void check(int result)
    {
        if (result != SQLITE_OK)
            throw std::runtime_error(std::string("database: ") + sqlite3_errmsg(connection_.get()));
    }

    std::unique_ptr<sqlite3, int (*)(sqlite3*)> connection_{nullptr, sqlite3_close};
};

/** Consumes one shard until it is given up or lost. */
asio::awaitable<void> consume(tenure::Shard& shard, Database& database)
{
    auto const number = static_cast<std::int64_t>(shard.number());
    auto const fence = static_cast<std::int64_t>(shard.fencing_token());
    auto position = database.take_over(number, fence);
    std::cout << "shard " << number << " from " << position.value_or(-1) << std::endl;
    asio::steady_timer processing(co_await asio::this_coro::executor);
    // asked between two positions: a shard that is given up is still held, so the present one is completed first
    while (position && !shard.token().cancelled()) {
        processing.expires_after(5ms);
        co_await processing.async_wait(asio::deferred);
        if (!database.complete(number, *position, fence)) {
            std::cout << "shard " << number << ": too late, nothing written" << std::endl;
            co_return;
        }
        ++*position;
    }
    std::cout << "shard " << number << " until " << position.value_or(-1) << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: shard_consumer STORE_URL DATABASE [TTL_MS]\n";
        return 1;
    }
    std::chrono::milliseconds const ttl(argc > 3 ? std::atol(argv[3]) : 5000);
    Database database(argv[2]);
    asio::io_context context(1);
    // SQLite blocks the loop while it waits for another process; the store renews on its own thread meanwhile
    auto const store = tenure::open_store(context, argv[1], {.own_thread = true});
    tenure::ShardGroup const stream(store, {.name = "stream", .shards = 16, .ttl = ttl, .drain = 1s});
    auto const work = [&database](tenure::Shard& shard) { return consume(shard, database); };
    std::exception_ptr failure;
    tenure::async_serve(store, {.drain = 2s}, tenure::async_run(stream, work), [&](std::exception_ptr thrown) {
        failure = std::move(thrown);
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
