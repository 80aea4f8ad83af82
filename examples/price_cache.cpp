// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A cache file that many programs read and some rewrite: readers share a read lock, and a writer is alone. Readers that
// come later wait behind a waiting writer, so prices do not stay old while there are readers.
//   price_cache [STORE_URL FILE]     five readers and a writer, for ten new versions; start several of them
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

constexpr int versions = 10;
constexpr int prices = 5;

/** The file, and the lock that all its users share. */
class PriceCache
{
public:
    PriceCache(tenure::Store const& store, std::filesystem::path file)
        : file_(std::move(file))
        , lock_(store, {.key = "prices", .ttl = 5s})
    {
    }

    /** All prices of one version. */
    asio::awaitable<std::string> read() const
    {
        auto lease = co_await lock_.read_lock().async_acquire(10s);
        auto const work = [this](tenure::Lease&) { return read_file(); };
        auto version = co_await tenure::async_with_lease(std::move(lease), work);
        co_return version;
    }

    asio::awaitable<void> write(int price) const
    {
        auto lease = co_await lock_.write_lock().async_acquire(10s);
        auto const work = [this, price](tenure::Lease& held) { return write_file(price, held.fencing_token()); };
        co_await tenure::async_with_lease(std::move(lease), work);
    }

private:
    asio::awaitable<std::string> read_file() const
    {
        std::set<std::string> seen;
        std::ifstream in(file_);
        for (std::string line; std::getline(in, line);) {
            seen.insert(line);
            co_await pause(1ms);
        }
        if (seen.size() != 1)
            throw std::runtime_error("the prices are of " + std::to_string(seen.size()) + " versions");
        co_return *seen.begin();
    }

    /** In place and slowly, so that a reader without the lock would see a half of it. The token of a writer is greater
     *  than that of every earlier one: a file server could refuse a late one by it. */
    asio::awaitable<void> write_file(int price, std::uint64_t token) const
    {
        std::ofstream out(file_);
        for (int line = 0; line < prices; ++line) {
            out << price << " of writer " << token << std::endl;
            co_await pause(1ms);
        }
    }

    static asio::awaitable<void> pause(std::chrono::milliseconds time)
    {
        asio::steady_timer timer(co_await asio::this_coro::executor, time);
        co_await timer.async_wait(asio::deferred);
    }

    std::filesystem::path file_;
    tenure::ReadWriteLock lock_;
};

asio::awaitable<void> read_all(PriceCache const& cache, bool const& ends)
{
    std::set<std::string> seen;
    while (!ends) {
        auto version = co_await cache.read();
        seen.insert(std::move(version));
    }
    std::cout << "a reader has seen " + std::to_string(seen.size()) + " whole versions\n";
}

asio::awaitable<void> write_all(PriceCache const& cache, bool& ends)
{
    for (int version = 1; version <= versions; ++version)
        co_await cache.write(version);
    ends = true;
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argc > 2 ? argv[1] : "memory://");
    auto const own = std::filesystem::temp_directory_path() / "tenure-prices.txt";
    PriceCache const cache(store, argc > 2 ? std::filesystem::path(argv[2]) : own);
    bool ends = false;
    // the writer comes first, so there is a version to read
    asio::co_spawn(context, write_all(cache, ends), report);
    for (int reader = 0; reader < 5; ++reader)
        asio::co_spawn(context, read_all(cache, ends), report);
    context.run();
    if (argc <= 2)
        std::filesystem::remove(own);
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
