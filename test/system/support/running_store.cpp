// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/running_store.hpp"

#include "harness/auditor.hpp"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace tenure::test
{

RunningStore::RunningStore(std::string const& url)
{
    StoreOptions options;
    options.log = [this](LogLevel level, std::string_view line) {
        std::lock_guard const lock{mutex_};
        log_.append(to_string(level)).append(" ").append(line).append("\n");
    };
    options.log_level = LogLevel::trace;
    store_.emplace(open_store(context_.get_executor(), url, std::move(options)));
    thread_ = std::thread([this] {
        context_.run();
        ended_.set_value();
    });
}

RunningStore::~RunningStore()
{
    store_.reset();
    work_.reset();
    if (ended_.get_future().wait_for(std::chrono::seconds{30}) != std::future_status::ready) {
        std::cerr << "the store's work did not end by itself; its log:\n" << log();
        context_.stop();
    }
    thread_.join();
    if (!flush_log(std::chrono::seconds{30}))
        std::cerr << "the log thread does not end\n";
}

std::string RunningStore::log() const
{
    if (!flush_log(std::chrono::seconds{10}))
        throw std::runtime_error("the log thread hangs");
    std::lock_guard const lock{mutex_};
    return log_;
}

FiredAt::FiredAt(CancellationToken const& token)
{
    auto promise = std::make_shared<std::promise<std::pair<error_code, std::int64_t>>>();
    told_ = promise->get_future();
    token.async_wait([promise](error_code error) { promise->set_value({error, boottime_ns()}); });
}

std::optional<std::int64_t> FiredAt::wait(std::chrono::milliseconds limit)
{
    if (told_.wait_for(limit) != std::future_status::ready)
        return std::nullopt;
    auto const [error, instant] = told_.get();
    return error ? std::nullopt : std::optional{instant};
}

std::int64_t wall_clock_offset()
{
    // The closest of a few looks: between the two clocks the thread may lose the processor.
    std::int64_t best = 0;
    std::int64_t narrowest = INT64_MAX;
    for (int look = 0; look < 20; ++look) {
        auto const before = boottime_ns();
        timespec wall{};
        ::clock_gettime(CLOCK_REALTIME, &wall);
        auto const after = boottime_ns();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - before - narrowest / 2;
        }
    }
    return best;
}

std::chrono::seconds soak_time(std::chrono::seconds usual)
{
    char const* const seconds = std::getenv("TENURE_SOAK_SECONDS");
    return seconds != nullptr ? std::chrono::seconds{std::atoi(seconds)} : usual;
}

bool long_form()
{
    return std::getenv("TENURE_SOAK_SECONDS") != nullptr;
}

} // namespace tenure::test
