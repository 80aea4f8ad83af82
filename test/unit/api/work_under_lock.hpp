// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/tenure.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace tenure::test
{

namespace asio = boost::asio;

/** Runs everything there is, for 10 s at most. */
inline void run_to_end(asio::io_context& context)
{
    context.restart();
    context.run_for(std::chrono::seconds{10});
    CHECK(context.stopped());
}

/** Work under one lock of a store in memory, which must end without an exception. */
struct WorkUnderLock {
    asio::io_context context;
    Store store = open_store(context.get_executor(), MemoryConfig{});
    Lock lock{store, {.key = "job", .ttl = std::chrono::seconds{5}}};
    std::optional<std::exception_ptr> result;
    /// set by work that goes on after its lease
    bool went_on = false;

    /** Keeps the result. */
    auto done()
    {
        return asio::bind_executor(context.get_executor(), [this](std::exception_ptr failure) { result = failure; });
    }
    /** The work of `async_with_lease`. */
    template <class Work>
    void async_with_lease(Work const& work)
    {
        lock.async_acquire([&](error_code, Lease lease) { tenure::async_with_lease(std::move(lease), work, done()); });
        check_end();
    }
    /** The work of `async_run`. */
    template <class Work>
    void run(Work const& work)
    {
        async_run(lock, work, done());
        check_end();
    }

private:
    void check_end()
    {
        run_to_end(context);
        REQUIRE(result);
        CHECK(*result == nullptr);
    }
};

} // namespace tenure::test
