// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/client.hpp"

#include <pthread.h>

#include <cstdlib>
#include <ctime>

namespace tenure::fleet
{

namespace
{

constexpr std::size_t shown_lines = 12;

} // namespace

void CountedLog::add(std::string_view line)
{
    std::lock_guard const lock{mutex_};
    // the library says how many lines a sink did not get
    auto const dropped = line.find(" messages dropped") != std::string_view::npos
                             ? std::strtoull(std::string{line}.c_str(), nullptr, 10)
                             : 0;
    lines_ += 1 + dropped;
    if (first_.size() < shown_lines)
        first_.emplace_back(line);
}

std::uint64_t CountedLog::lines() const
{
    std::lock_guard const lock{mutex_};
    return lines_;
}

std::vector<std::string> CountedLog::first() const
{
    std::lock_guard const lock{mutex_};
    return first_;
}

Client::Client(std::string const& url)
{
    StoreOptions options;
    options.log = [log = log_](LogLevel, std::string_view line) { log->add(line); };
    store_.emplace(open_store(context_.get_executor(), url, std::move(options)));
}

Client::~Client()
{
    die();
}

void Client::die()
{
    context_.stop();
    if (thread_.joinable())
        thread_.join();
}

std::chrono::nanoseconds Client::cpu()
{
    clockid_t clock{};
    timespec used{};
    if (::pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 || ::clock_gettime(clock, &used) != 0)
        return {};
    return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

} // namespace tenure::fleet
