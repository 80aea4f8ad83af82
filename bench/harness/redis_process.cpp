// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/redis_process.hpp"

#include "harness/child.hpp"
#include "harness/free_port.hpp"
#include "raw/client.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace bench
{

RedisProcess::RedisProcess(std::string program)
    : program_(std::move(program))
{
    auto pattern = (std::filesystem::temp_directory_path() / "tenure-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "mkdtemp");
    directory_ = pattern;
    // another process may take the port between the query and the start of the server
    for (int attempt = 0; attempt < 5; ++attempt)
        if (start())
            return;
    stop();
    throw std::runtime_error(program_ + " does not start");
}

RedisProcess::~RedisProcess()
{
    stop();
}

bool RedisProcess::start()
{
    port_ = free_port();
    auto const port = std::to_string(port_);
    auto const directory = directory_.string();
    auto const log = (directory_ / "log").string();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(Place::same);
        ::execlp(
            program_.c_str(), program_.c_str(), "--port", port.c_str(), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "no", "--dir", directory.c_str(), "--logfile", log.c_str(), nullptr);
        ::_exit(127);
    }
    for (auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
         std::chrono::steady_clock::now() < limit; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            return false;
        }
        try {
            raw::Client client(port_);
            return client.ask({"PING"}).text == "PONG";
        } catch (std::system_error const&) {
            // it does not listen yet
        }
    }
    stop();
    return false;
}

void RedisProcess::stop() noexcept
{
    if (pid_ > 0) {
        ::kill(pid_, SIGTERM);
        for (int wait = 0; wait < 400 && pid_ > 0; ++wait) {
            if (::waitpid(pid_, nullptr, WNOHANG) == pid_)
                pid_ = -1;
            else
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = -1;
        }
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

std::string RedisProcess::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port_);
}

std::string RedisProcess::version() const
{
    raw::Client client(port_);
    std::string const information(client.ask({"INFO", "server"}).text);
    auto const name = std::string("redis_version:");
    auto const begin = information.find(name);
    if (begin == std::string::npos)
        return "unknown";
    auto const end = information.find('\r', begin);
    return information.substr(begin + name.size(), end - begin - name.size());
}

void RedisProcess::flush() const
{
    raw::Client client(port_);
    client.ask({"FLUSHALL"});
}

} // namespace bench
