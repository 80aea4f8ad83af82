// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/eventually.hpp"
#include "harness/immovable.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure::fleet
{

namespace asio = boost::asio;

/** The lines that a store has logged. Safe from any thread. */
class CountedLog
{
public:
    void add(std::string_view line);
    [[nodiscard]] std::uint64_t lines() const;
    /** The first few. */
    [[nodiscard]] std::vector<std::string> first() const;

private:
    mutable std::mutex mutex_;
    // under the mutex
    std::uint64_t lines_ = 0;
    std::vector<std::string> first_;
};

/** The client of a row: one store, whose handlers and I/O run on one thread of its own. */
class Client : test::Immovable
{
public:
    explicit Client(std::string const& url);
    ~Client();

    /** Its thread ends, as if the process were killed: nothing that is held is released, and no handler is called
     * afterwards. The members below cannot be used afterwards. */
    void die();

    [[nodiscard]] Store const& store() const noexcept { return *store_; }
    [[nodiscard]] asio::io_context& context() noexcept { return context_; }

    /** Runs it on the client's thread, and waits for the result. Leases are only touched there. */
    template <class Function>
    std::invoke_result_t<Function> call(Function function)
    {
        std::packaged_task<std::invoke_result_t<Function>()> task{std::move(function)};
        auto result = task.get_future();
        asio::post(context_, std::move(task));
        return result.get();
    }
    /** Whether the condition, asked on the client's thread every 20 ms, holds before the limit. */
    template <class Condition>
    [[nodiscard]] bool wait_until(Condition condition, std::chrono::milliseconds limit)
    {
        return test::eventually(
            [&] { return call([&] { return condition(); }); }, limit, std::chrono::milliseconds{20});
    }

    /** The processor time that the client's thread has used so far. */
    [[nodiscard]] std::chrono::nanoseconds cpu();
    [[nodiscard]] CountedLog const& log() const noexcept { return *log_; }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    /// shared with the sink, which may get lines after the store is gone
    std::shared_ptr<CountedLog> log_ = std::make_shared<CountedLog>();
    std::optional<Store> store_;
    std::thread thread_{[this] { context_.run(); }};
};

} // namespace tenure::fleet
