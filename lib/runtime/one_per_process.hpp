// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fork_guard.hpp"

#include <atomic>
#include <memory>

namespace tenure
{

/** The one object of a class in this process; a child of fork makes another. Never deleted, because threads may use it
 *  until the process has ended. `end()` is called when the program ends. Thread-safe. */
template <class Object>
class OnePerProcess
{
public:
    /** Null if this process has none yet. */
    [[nodiscard]] static Object* existing() noexcept
    {
        auto* const made = current.load(std::memory_order_acquire);
        return made != nullptr && !made->fork_mark.forked() ? &made->object : nullptr;
    }

    [[nodiscard]] static Object& instance()
    {
        if (auto* const object = existing())
            return *object;
        auto fresh = std::make_unique<Made>();
        // created with the first object, and so destroyed before most objects that the threads may use
        static AtExit const at_exit;
        auto* seen = current.load(std::memory_order_acquire);
        while (seen == nullptr || seen->fork_mark.forked())
            if (current.compare_exchange_weak(seen, fresh.get(), std::memory_order_acq_rel))
                return fresh.release()->object;
        return seen->object;
    }

private:
    struct Made {
        Object object;
        ForkMark fork_mark;
    };
    struct AtExit {
        AtExit() = default;
        AtExit(AtExit const&) = delete;
        AtExit& operator=(AtExit const&) = delete;
        ~AtExit()
        {
            if (auto* const object = existing())
                object->end();
        }
    };

    constinit inline static std::atomic<Made*> current{nullptr};
};

} // namespace tenure
