// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ForkClosed: the descriptors, and the handlers of fork.
#include "fork_closed.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace tenure::file
{

namespace
{

struct Registry {
    std::mutex mutex;
    std::vector<int> numbers;
    int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);

    Registry() { ::pthread_atfork(&before, &in_parent, &in_child); }

    static void before();
    static void in_parent();
    static void in_child();
};

Registry& registry()
{
    // never destroyed, because a thread may fork while the program ends
    static auto* const all = new Registry;
    return *all;
}

void Registry::before()
{
    registry().mutex.lock();
}

void Registry::in_parent()
{
    registry().mutex.unlock();
}

void Registry::in_child()
{
    auto& all = registry();
    for (auto const number : all.numbers)
        static_cast<void>(::dup3(all.nothing, number, O_CLOEXEC));
    all.numbers.clear();
    // not unlocked, because its owner has another thread ID here
    std::construct_at(&all.mutex);
}

} // namespace

ForkClosed::ForkClosed(int number)
    : number_(number)
{
    std::lock_guard const lock(registry().mutex);
    registry().numbers.push_back(number);
}

ForkClosed::~ForkClosed()
{
    std::lock_guard const lock(registry().mutex);
    std::erase(registry().numbers, number_);
}

std::vector<int> fork_closed_descriptors()
{
    std::lock_guard const lock(registry().mutex);
    return registry().numbers;
}

} // namespace tenure::file
