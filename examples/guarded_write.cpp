// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A write and the proof of its lease in one transaction of PostgreSQL: withdraws from an account, from any number of
// processes. The guard lets the transaction go on only under the lease, and no other process gets the key before the
// commit. So a process that was paused in the middle withdraws nothing late.
//   guarded_write postgresql://USER@HOST:PORT/DATABASE [TIMES]     the schema of tenure is there: tenure init URL
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <libpq-fe.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** A database session that blocks; a program with a pool of connections uses one of these. */
class Database
{
public:
    explicit Database(std::string const& url)
        : connection_(PQconnectdb(url.c_str()), &PQfinish)
    {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection_.get()));
        run("CREATE TABLE IF NOT EXISTS account (id int PRIMARY KEY, balance int NOT NULL)");
        run("INSERT INTO account VALUES (7, 100) ON CONFLICT DO NOTHING");
    }

    /** The first value of the answer. @throws std::runtime_error */
    std::string run(char const* text, std::string const& key = {}, std::string const& token = {})
    {
        char const* const values[] = {key.c_str(), token.c_str()};
        int const count = key.empty() ? 0 : 2;
        std::unique_ptr<PGresult, void (*)(PGresult*)> const result(
            PQexecParams(connection_.get(), text, count, nullptr, values, nullptr, nullptr, 0), &PQclear);
        auto const status = PQresultStatus(result.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw std::runtime_error(PQresultErrorMessage(result.get()));
        return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
    }

    /** Withdraws 10 under the lease with this key and token, if the balance suffices. */
    std::string withdraw(std::string const& key, std::string const& token)
    {
        run("BEGIN");
        try {
            // first, so that what follows is protected: it fails if the lease is over
            run("SELECT tenure.guard($1, $2)", key, token);
            auto const balance =
                run("UPDATE account SET balance = balance - 10 WHERE id = 7 AND balance >= 10 RETURNING balance");
            run("COMMIT");
            return balance.empty() ? "not enough" : "balance " + balance;
        } catch (...) {
            run("ROLLBACK");
            throw;
        }
    }

private:
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

asio::awaitable<void> withdraw(tenure::Store store, std::string url, int times)
{
    // what blocks runs on a thread of its own
    asio::thread_pool thread(1);
    Database database(url.substr(0, url.find('?')));
    tenure::Lock const account(store, {.key = "account:7", .ttl = 5s});
    for (int i = 0; i < times; ++i) {
        auto lease = co_await account.async_acquire(30s, asio::deferred);
        auto const key = lease.key();
        auto const token = std::to_string(lease.fencing_token());
        std::string outcome;
        co_await asio::co_spawn(
            thread,
            [&]() -> asio::awaitable<void> {
                outcome = database.withdraw(key, token);
                co_return;
            },
            asio::use_awaitable);
        std::cout << "token " << token << ": " << outcome << std::endl;
        co_await lease.async_release(asio::deferred);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 2)
        throw std::runtime_error("usage: guarded_write postgresql://USER@HOST:PORT/DATABASE [TIMES]");
    std::string const url = argv[1];
    asio::io_context context;
    auto const store = tenure::open_store(context, url);
    std::exception_ptr failure;
    asio::co_spawn(context, withdraw(store, url, argc > 2 ? std::atoi(argv[2]) : 3), [&](std::exception_ptr error) {
        failure = error;
        store.async_close(1s, [](tenure::error_code) {});
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return EXIT_SUCCESS;
} catch (std::exception const& error) {
    std::cerr << "guarded_write: " << error.what() << "\n";
    return EXIT_FAILURE;
}
