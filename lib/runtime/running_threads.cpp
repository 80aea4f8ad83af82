// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "running_threads.hpp"

#include "own_thread.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace tenure::engine
{

namespace
{

/// the longest time in which a store without users closes, plus a reserve
constexpr std::chrono::milliseconds wait_for_closing{1250};
/// limit for a thread in a blocking call
constexpr std::chrono::seconds wait_for_standstill{1};

constinit std::atomic<RunningThreads*> current{nullptr};

bool is_ending(std::weak_ptr<OwnThread> const& one) noexcept
{
    auto const thread = one.lock();
    return thread == nullptr || thread->is_ending();
}

/** Halts the threads at exit. Created before the first thread, and so destroyed before most objects that a thread may
 *  use. */
struct AtExit {
    // OpenSSL registers its cleanup when it is first used. Using it here registers that earlier, so it runs later.
    AtExit() { static_cast<void>(::OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_DIGESTS, nullptr)); }
    AtExit(AtExit const&) = delete;
    AtExit& operator=(AtExit const&) = delete;
    ~AtExit()
    {
        if (auto* const threads = RunningThreads::existing())
            threads->end();
    }
};

} // namespace

RunningThreads* RunningThreads::existing() noexcept
{
    auto* const threads = current.load(std::memory_order_acquire);
    return threads != nullptr && threads->fork_generation_ == fork_generation() ? threads : nullptr;
}

RunningThreads& RunningThreads::instance()
{
    if (auto* const threads = existing())
        return *threads;
    static AtExit const at_exit;
    auto fresh = std::make_unique<RunningThreads>();
    auto* seen = current.load(std::memory_order_acquire);
    while (seen == nullptr || seen->fork_generation_ != fresh->fork_generation_)
        if (current.compare_exchange_weak(seen, fresh.get(), std::memory_order_acq_rel))
            return *fresh.release();
    return *seen;
}

RunningThreads::Number RunningThreads::add(std::weak_ptr<OwnThread> thread)
{
    std::lock_guard const lock(mutex_);
    threads_.emplace(++last_, std::move(thread));
    return last_;
}

void RunningThreads::remove(Number number) noexcept
{
    std::lock_guard const lock(mutex_);
    threads_.erase(number);
    ++removed_;
    ended_.notify_all();
}

std::vector<std::weak_ptr<OwnThread>> RunningThreads::all() const
{
    std::lock_guard const lock(mutex_);
    std::vector<std::weak_ptr<OwnThread>> all;
    for (auto const& [number, thread] : threads_)
        all.push_back(thread);
    return all;
}

void RunningThreads::end() noexcept
try {
    auto const end = std::chrono::steady_clock::now() + wait_for_closing;
    for (;;) {
        std::unique_lock lock(mutex_);
        auto const seen = removed_;
        lock.unlock();
        // without the mutex: the threads have one of their own, under which they call this
        if (std::ranges::none_of(all(), &is_ending))
            break;
        lock.lock();
        if (!ended_.wait_until(lock, end, [&] { return removed_ != seen; }))
            break;
    }
    auto const deadline = std::chrono::steady_clock::now() + wait_for_standstill;
    for (auto const& one : all())
        if (auto const thread = one.lock())
            thread->freeze(deadline);
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the program ends with threads that run
}

} // namespace tenure::engine
