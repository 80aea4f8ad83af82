// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process of the fault runs on PostgreSQL: acquires one of two locks, writes under tenure.guard, and releases, until
// SIGTERM. In a quarter of its turns it stalls past the ttl before the guard, in half of them between guard and commit;
// its event loop does not turn meanwhile, so the lease expires. Prints the SQLSTATE of each write that failed.
//   guarded_writer URL DATABASE TTL_MS SEED
#include "faults/random.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <libpq-fe.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using tenure::faults::Random;

/** Blocks. */
class Database
{
public:
    explicit Database(std::string parameters)
        : parameters_(std::move(parameters))
    {
    }

    /** Its SQLSTATE; empty: it succeeded. */
    std::string run(char const* sql, std::vector<std::string> const& values = {})
    {
        std::vector<char const*> pointers;
        for (auto const& value : values)
            pointers.push_back(value.c_str());
        std::unique_ptr<PGresult, void (*)(PGresult*)> const result(
            PQexecParams(
                connection_.get(), sql, static_cast<int>(values.size()), nullptr, pointers.data(), nullptr, nullptr, 0),
            &PQclear);
        auto const status = PQresultStatus(result.get());
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
            return {};
        char const* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        return code == nullptr ? "disconnected" : code;
    }

    bool connected()
    {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            connect();
        return PQstatus(connection_.get()) == CONNECTION_OK;
    }

private:
    void connect()
    {
        connection_.reset(PQconnectdb(parameters_.c_str()));
        // its own way is to print them
        PQsetNoticeProcessor(connection_.get(), [](void*, char const*) {}, nullptr);
    }

    std::string parameters_;
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{nullptr, &PQfinish};
};

class Writer
{
public:
    Writer(
        asio::io_context& context, tenure::Store const& store, std::string database, std::chrono::milliseconds ttl,
        std::uint64_t seed)
        : random_(seed)
        , ttl_(ttl)
        , database_(std::move(database))
        , signals_(context, SIGTERM)
    {
        for (auto const* const key : {"guarded:0", "guarded:1"})
            locks_.emplace_back(store, tenure::LockConfig{.key = key, .ttl = ttl});
        signals_.async_wait([this](boost::system::error_code, int) { ended_ = true; });
        acquire();
    }

private:
    void acquire()
    {
        if (ended_) {
            locks_.clear();
            return;
        }
        locks_[random_.below(locks_.size())].async_acquire(1s, [this](tenure::error_code, tenure::Lease lease) {
            if (!lease.empty())
                write(lease);
            else
                std::this_thread::sleep_for(20ms);
            lease.async_release([this](tenure::error_code, tenure::ReleaseOutcome) { acquire(); });
        });
    }

    void stall() { std::this_thread::sleep_for(random_.between(ttl_ * 11 / 10, ttl_ * 16 / 10)); }

    void write(tenure::Lease const& lease)
    {
        auto const kind = random_.below(4);
        if (kind == 0)
            stall();
        auto const token = std::to_string(lease.fencing_token());
        bool const stalls = kind > 1;
        std::string code = database_.connected() ? database_.run("BEGIN") : "no-connection";
        if (code.empty())
            code = database_.run("SELECT tenure.guard($1, $2)", {lease.key(), token});
        if (code.empty() && stalls)
            stall();
        if (code.empty())
            code = database_.run(
                "INSERT INTO guarded.write VALUES ($1, $2, $3)", {lease.key(), token, stalls ? "true" : "false"});
        if (code.empty())
            code = database_.run("COMMIT");
        if (code.empty())
            return;
        database_.run("ROLLBACK");
        std::printf("%s\n", code.c_str());
        std::fflush(stdout);
    }

    Random random_;
    std::chrono::milliseconds ttl_;
    Database database_;
    std::vector<tenure::Lock> locks_;
    asio::signal_set signals_;
    bool ended_ = false;
};

} // namespace

int main(int count, char** argument)
try {
    if (count != 5)
        throw std::runtime_error("usage: guarded_writer URL DATABASE TTL_MS SEED");
    asio::io_context context{1};
    std::optional<tenure::Store> store(
        tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()}));
    Writer const writer(
        context, *store, argument[2], std::chrono::milliseconds{std::stoll(argument[3])}, std::stoull(argument[4]));
    store.reset();
    context.run();
} catch (std::exception const& error) {
    std::fprintf(stderr, "guarded_writer: %s\n", error.what());
    return 1;
}
