// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <utility>

#include <unistd.h>

namespace own_store
{

namespace asio = boost::asio;

/** A thread for calls that block, which hands their results back to the strand. All of the engine runs on the strand:
 * one call that blocks it would delay each renewal.
 *
 *  @par Thread safety  On the strand only.
 */
class FileThread
{
public:
    explicit FileThread(std::shared_ptr<tenure::backend::Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }
    FileThread(FileThread const&) = delete;
    FileThread& operator=(FileThread const&) = delete;
    ~FileThread()
    {
        // A fork of the process has this object, and no such thread: it would wait for it forever.
        if (::getpid() != process_)
            (void)pool_.release();
    }

    /** Calls `then` on the strand with what `call` returns; calls leave in the order in which they came. */
    template <class Call, class Then>
    void run(Call call, Then then)
    {
        if (ended_) {
            runtime_->post([reply = call(), then = std::move(then)]() mutable { then(std::move(reply)); });
            return;
        }
        // The user's io_context must not run out of work while a call is under way. What `then` holds returns to the
        // strand with it: here, it might be the last that keeps the store, and the thread cannot join itself.
        auto job = [runtime = runtime_, work = asio::make_work_guard(runtime_->io_executor()), call = std::move(call),
                    then = std::move(then)]() mutable {
            runtime->post([reply = call(), then = std::move(then)]() mutable { then(std::move(reply)); });
        };
        asio::post(*pool_, std::move(job));
    }

    /** Waits for what was begun, which the caller has made short. What is run later is called here and now. */
    void end() noexcept
    {
        if (!std::exchange(ended_, true) && ::getpid() == process_)
            pool_->join();
    }

private:
    std::shared_ptr<tenure::backend::Runtime> runtime_;
    std::unique_ptr<asio::thread_pool> pool_ = std::make_unique<asio::thread_pool>(1);
    ::pid_t process_ = ::getpid();
    bool ended_ = false;
};

} // namespace own_store
