// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ForkWatch: closes streams in a child process.
#include "fork_watch.hpp"

#include "runtime/fork_guard.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <mutex>

namespace tenure::net
{

namespace asio = boost::asio;

struct ForkWatch::Streams {
    std::mutex mutex;
    std::list<Stream*> all;
};

class ForkWatch::Service final : public asio::execution_context::service
{
public:
    using key_type = Service;
    static asio::execution_context::id id;

    explicit Service(asio::execution_context& context)
        : service(context)
    {
    }

    [[nodiscard]] std::shared_ptr<Streams> const& streams() const noexcept { return streams_; }

private:
    void shutdown() override {}

    void notify_fork(asio::execution_context::fork_event event) override
    {
        if (event != asio::execution_context::fork_child)
            return;
        // a thread that does not exist in the child may own the mutex: it made or ended a stream during the fork
        std::unique_lock const lock(streams_->mutex, std::try_to_lock);
        if (lock.owns_lock())
            for (auto* const stream : streams_->all)
                stream->close();
    }

    /// streams may outlive the service
    std::shared_ptr<Streams> streams_ = std::make_shared<Streams>();
};

asio::execution_context::id ForkWatch::Service::id;

ForkWatch::ForkWatch(Runtime const& runtime, Stream& stream)
    : streams_(asio::use_service<Service>(asio::query(runtime.io_executor(), asio::execution::context)).streams())
    , fork_generation_(fork_generation())
{
    std::lock_guard const lock(streams_->mutex);
    position_ = streams_->all.insert(streams_->all.end(), &stream);
}

ForkWatch::~ForkWatch()
{
    std::unique_lock lock(streams_->mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        if (fork_generation_ != fork_generation())
            return; // as above
        lock.lock();
    }
    streams_->all.erase(position_);
}

} // namespace tenure::net
