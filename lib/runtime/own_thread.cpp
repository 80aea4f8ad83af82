// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// OwnThread: start, halt and end of a store's thread.
#include "own_thread.hpp"

#include "library_thread.hpp"
#include "no_executor.hpp"
#include "one_per_process.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace tenure
{

namespace
{

/// limit at the end of the program for a thread in a blocking call
constexpr std::chrono::seconds wait_while_ending{1};

} // namespace

std::shared_ptr<OwnThread> OwnThread::make(asio::any_io_executor user_executor)
{
    auto made = std::make_shared<OwnThread>(std::move(user_executor));
    made->strand_.emplace(made);
    return made;
}

OwnThread::OwnThread(asio::any_io_executor user_executor)
    : io_executor_(loop_.get_executor())
    , user_executor_(std::move(user_executor))
{
}

asio::any_io_executor const& OwnThread::user_executor() const noexcept
{
    return users_gone_.load(std::memory_order_acquire) ? no_executor() : user_executor_;
}

void OwnThread::serve(std::weak_ptr<Tenant> tenant)
{
    std::lock_guard const lock(mutex_);
    tenant_ = std::move(tenant);
    work_.emplace(loop_.get_executor());
    try {
        start();
    } catch (...) {
        work_.reset();
        throw;
    }
}

void OwnThread::let_go() noexcept
{
    std::lock_guard const lock(mutex_);
    let_go_.store(true, std::memory_order_release);
    work_.reset();
}

OwnThread::Handover::Handover(OwnThread& thread)
{
    // pending work keeps the loop running
    if (!thread.runs_here()) {
        lock_ = std::unique_lock(thread.mutex_);
        if (!thread.dead_)
            thread.start();
        ++thread.handed_over_;
    }
    accepted_ = !thread.dead_;
}

void OwnThread::start()
{
    if (running_ || halts_ || frozen_)
        return;
    loop_.restart();
    auto& threads = OnePerProcess<RunningThreads>::instance();
    auto const number = threads.add(weak_from_this());
    try {
        start_library_thread("tenure-store", [self = shared_from_this(), &threads, number]() mutable {
            run(std::move(self));
            // otherwise it would happen at the end of the thread, possibly while OpenSSL cleans up at exit
            ::OPENSSL_thread_stop();
            threads.remove(number);
        }).detach();
    } catch (...) {
        threads.remove(number);
        throw;
    }
    running_ = true;
}

std::shared_ptr<OwnThread::Tenant> OwnThread::tenant() const noexcept
{
    std::lock_guard const lock(mutex_);
    return tenant_.lock();
}

void OwnThread::run(std::shared_ptr<OwnThread> self) noexcept
{
    // Owned until the end: the tenant must not be destroyed inside the loop, and never in a fork, where this does not
    // return.
    auto const tenant = self->tenant();
    while (self->turn()) {
    }
}

bool OwnThread::turn() noexcept
{
    std::unique_lock lock(mutex_);
    auto const seen = handed_over_;
    lock.unlock();
    try {
        loop_.run();
    } catch (...) {
        if (auto const tenant = this->tenant())
            tenant->failed(std::current_exception());
    }
    lock.lock();
    if (halts_ || frozen_) {
        still_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !halts_ && !frozen_; });
        still_ = false;
    } else if (loop_.stopped() && handed_over_ == seen) {
        running_ = false;
        return false;
    }
    if (dead_) {
        running_ = false;
        return false;
    }
    // under the mutex, so that it cannot undo a later stop
    loop_.restart();
    return true;
}

bool OwnThread::halt() noexcept
{
    std::unique_lock lock(mutex_);
    halts_ = true;
    handed_over_before_ = handed_over_;
    if (!running_ || still_)
        return true;
    bool const ends = frozen_;
    lock.unlock();
    bool stops = false;
    try {
        // through the strand, so that objects which users have already dropped are noticed
        strand_->post([this] { loop_.stop(); });
        stops = true;
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: at once, below
    }
    lock.lock();
    if (!stops)
        loop_.stop();
    auto const is_still = [this] { return still_ || !running_; };
    if (ends)
        // a thread that hangs must not keep the program from ending
        return changed_.wait_for(lock, wait_while_ending, is_still);
    changed_.wait(lock, is_still);
    return true;
}

void OwnThread::go_on() noexcept
{
    std::lock_guard const lock(mutex_);
    halts_ = false;
    changed_.notify_all();
    try {
        // work that arrived meanwhile
        if (!running_ && !dead_ && handed_over_ != handed_over_before_)
            start();
    } catch (...) { // NOLINT(bugprone-empty-catch): no thread: remaining keys expire by their ttl
    }
}

void OwnThread::context_ends() noexcept
{
    // a thread that does not exist in the child may own the mutex
    if (fork_mark_.forked())
        return;
    if (runs_here()) {
        forget_users();
        if (dead_)
            loop_.stop();
    } else {
        if (halt())
            forget_users();
        go_on();
    }
}

void OwnThread::forget_users() noexcept
{
    auto const tenant = this->tenant();
    if (tenant && (tenant->has_users() || !tenant->forget_callers())) {
        tenant->abandon();
        dead_ = true;
        loop_.discard();
        let_go();
    }
    users_gone_.store(true, std::memory_order_release);
    user_executor_ = {};
}

bool OwnThread::is_ending() const noexcept
{
    auto const tenant = this->tenant();
    return tenant == nullptr || is_let_go() || !tenant->has_users();
}

void OwnThread::freeze(std::chrono::steady_clock::time_point deadline) noexcept
{
    std::unique_lock lock(mutex_);
    frozen_ = true;
    if (!running_ || still_)
        return;
    loop_.stop();
    static_cast<void>(changed_.wait_until(lock, deadline, [this] { return still_ || !running_; }));
}

namespace
{

/// slightly longer than a store without users may take to close
constexpr std::chrono::milliseconds wait_for_closing{1250};
/// limit for a thread in a blocking call
constexpr std::chrono::seconds wait_for_standstill{1};

bool is_ending(std::weak_ptr<OwnThread> const& one) noexcept
{
    auto const thread = one.lock();
    return thread == nullptr || thread->is_ending();
}

} // namespace

RunningThreads::RunningThreads()
{
    // Initializes OpenSSL before `end` is registered, so that its exit handler runs after `end`.
    static_cast<void>(::OPENSSL_init_crypto(OPENSSL_INIT_ADD_ALL_DIGESTS, nullptr));
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
    all.reserve(threads_.size());
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
        // without the mutex, because threads call this class with their own mutex locked
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

} // namespace tenure
