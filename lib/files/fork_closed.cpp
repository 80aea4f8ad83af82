// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ForkClosed: the descriptors, and what happens to them in a child.
#include "fork_closed.hpp"

#include "runtime/fork_guard.hpp"

#include <mutex>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace tenure
{

namespace
{

void close_in_child() noexcept;

struct Registry {
    /// locked while no thread forks, so that it is free in a child
    std::mutex mutex;
    std::vector<int> numbers;
    int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);

    Registry() { ::pthread_atfork(nullptr, nullptr, &close_in_child); }
};

Registry& registry()
{
    // never destroyed, because a thread may fork while the program ends
    static auto* const all = new Registry;
    return *all;
}

void close_in_child() noexcept
{
    auto& all = registry();
    for (auto const number : all.numbers)
        static_cast<void>(::dup3(all.nothing, number, O_CLOEXEC));
    all.numbers.clear();
}

} // namespace

ForkClosed::ForkClosed(int number)
    : number_(number)
{
    auto& all = registry();
    auto const no_fork = hold_forks();
    std::lock_guard const lock(all.mutex);
    all.numbers.push_back(number);
}

ForkClosed::~ForkClosed()
{
    auto const no_fork = hold_forks();
    std::lock_guard const lock(registry().mutex);
    std::erase(registry().numbers, number_);
}

std::vector<int> fork_closed_descriptors()
{
    auto const no_fork = hold_forks();
    std::lock_guard const lock(registry().mutex);
    return registry().numbers;
}

} // namespace tenure
