// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <thread>

namespace tenure::test
{

/** Looks every `every` whether the condition holds, for `limit` at most; tells whether it did. For what cannot be
 * waited for otherwise: the state of another process or of a server. */
template <class Condition>
[[nodiscard]] bool eventually(
    Condition condition, std::chrono::milliseconds limit = std::chrono::seconds{10},
    std::chrono::milliseconds every = std::chrono::milliseconds{2})
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(every);
    }
    return true;
}

} // namespace tenure::test
