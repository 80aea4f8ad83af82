// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/bounded_worker.hpp"

#include "harness/eventually.hpp"
#include "harness/paths.hpp"

#include <signal.h>

#include <fstream>

namespace tenure::test
{

namespace
{

/// ten times what it should ever need, and far less than what servers claim to send
constexpr auto megabytes = memory_is_measured ? "24" : "0";

} // namespace

BoundedWorker::BoundedWorker(std::string const& url, std::chrono::milliseconds ttl, std::chrono::milliseconds wait)
    : process_(
          {{test_program("bounded_worker"), url, "wanted", std::to_string(ttl.count()), std::to_string(wait.count()),
            megabytes},
           {},
           directory_.file("output")})
{
}

std::string BoundedWorker::output() const
{
    return directory_.text_of("output");
}

std::optional<std::string> BoundedWorker::says(std::string const& word, std::chrono::milliseconds limit)
{
    std::optional<std::string> found;
    auto const look = [&] {
        auto const text = output();
        for (auto end = text.find('\n', read_); end != std::string::npos; end = text.find('\n', read_)) {
            auto const line = text.substr(read_, end - read_);
            read_ = end + 1;
            if (line.starts_with(word + " ")) {
                found = line.substr(word.size() + 1);
                return true;
            }
        }
        return !process_.running();
    };
    static_cast<void>(eventually(look, limit));
    return found;
}

std::size_t BoundedWorker::peak() const
{
    std::ifstream status{"/proc/" + std::to_string(process_.pid()) + "/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            return std::stoul(line.substr(6));
    return 0;
}

std::optional<ExitStatus> BoundedWorker::end()
{
    process_.signal(SIGTERM);
    return process_.wait_for(std::chrono::seconds{20});
}

} // namespace tenure::test
