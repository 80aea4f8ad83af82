// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace bench
{

namespace
{

/** The cores this program may use, in order, as it was started. */
std::vector<int> allowed_cores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0)
        throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(static_cast<std::size_t>(core), &set))
            cores.push_back(core);
    return cores;
}

[[noreturn]] void run_child(int output, Place place, std::function<std::vector<double>()> const& work)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = 1;
    try {
        pin(place);
        auto const values = work();
        auto const bytes = values.size() * sizeof(double);
        // far below PIPE_BUF: written whole or not at all
        if (::write(output, values.data(), bytes) == static_cast<ssize_t>(bytes))
            status = 0;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
    }
    std::fflush(nullptr);
    // the parent's objects are not this process's to destroy
    ::_exit(status);
}

} // namespace

void pin(Place place)
{
    static auto const cores = allowed_cores();
    cpu_set_t set;
    CPU_ZERO(&set);
    for (auto const core : cores)
        if (place == Place::any || core == (place == Place::same ? cores.front() : cores.back()))
            CPU_SET(static_cast<std::size_t>(core), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
}

Child::Child(Place place, std::function<std::vector<double>()> const& work)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    pid_ = ::fork();
    if (pid_ == 0)
        run_child(ends[1], place, work);
    auto const error = errno;
    ::close(ends[1]);
    input_ = ends[0];
    if (pid_ < 0) {
        ::close(input_);
        throw std::system_error(error, std::generic_category(), "fork");
    }
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1))
    , input_(std::exchange(other.input_, -1))
{
}

Child::~Child()
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    if (input_ >= 0)
        ::close(input_);
}

std::vector<double> Child::result(double expected_seconds)
{
    pollfd wait{input_, POLLIN, 0};
    auto const limit = std::chrono::milliseconds(static_cast<long>((expected_seconds + 120) * 1000));
    int ready = 0;
    do
        ready = ::poll(&wait, 1, static_cast<int>(limit.count()));
    while (ready < 0 && errno == EINTR);
    std::array<double, 64> values{};
    ssize_t bytes = 0;
    if (ready == 1)
        bytes = ::read(input_, values.data(), sizeof values);
    else
        ::kill(pid_, SIGKILL);

    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (ready != 1)
        throw std::runtime_error("a measurement did not end in time");
    if (WIFSIGNALED(status))
        throw std::runtime_error("a measurement ended by signal " + std::to_string(WTERMSIG(status)));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes < 0)
        throw std::runtime_error("a measurement failed");
    auto const count = static_cast<std::size_t>(bytes) / sizeof(double);
    return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::vector<double> in_child(Place place, std::function<std::vector<double>()> const& work, double expected_seconds)
{
    return Child(place, work).result(expected_seconds);
}

} // namespace bench
