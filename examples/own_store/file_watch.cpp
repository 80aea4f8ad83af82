// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "file_watch.hpp"

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <array>
#include <utility>

#include <sys/inotify.h>
#include <unistd.h>

namespace own_store
{

namespace asio = boost::asio;
using tenure::backend::WatchEvent;
using tenure::backend::WatchHandler;

namespace
{

/** Lives for as long as the watch, and until the last thing that it set going has ended. */
class Subscription : public std::enable_shared_from_this<Subscription>
{
public:
    Subscription(std::shared_ptr<tenure::backend::Runtime> const& runtime, WatchHandler handler)
        : runtime_(runtime)
        , handler_(std::move(handler))
        , inotify_(runtime->strand())
    {
    }

    void begin(std::filesystem::path const& file)
    {
        int const descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (descriptor >= 0)
            inotify_.assign(descriptor);
        bool const works = descriptor >= 0 && ::inotify_add_watch(descriptor, file.c_str(), IN_MODIFY | IN_ATTRIB) >= 0;
        // In force: from here on the kernel queues what happens, and nothing is missed. Unavailable: a user may have a
        // limited number of these, and the engine polls. Never inside the call that makes the watch.
        runtime_->post(
            [self = shared_from_this(), works] { self->tell(works ? WatchEvent::in_force : WatchEvent::unavailable); });
        if (works)
            wait();
    }

    void end()
    {
        handler_ = nullptr;
        boost::system::error_code ignored;
        inotify_.close(ignored);
    }

private:
    void tell(WatchEvent event) const
    {
        // a copy: the handler may end the watch that it belongs to
        if (auto const handler = handler_)
            handler(event);
    }

    void wait()
    {
        inotify_.async_wait(asio::posix::descriptor_base::wait_read, [self = shared_from_this()](auto const& error) {
            if (error || !self->handler_)
                return;
            // one hint for all events: their kind does not matter
            std::array<char, 4096> events;
            while (::read(self->inotify_.native_handle(), events.data(), events.size()) > 0) {
            }
            self->tell(WatchEvent::hint);
            if (self->handler_)
                self->wait();
        });
    }

    std::shared_ptr<tenure::backend::Runtime> runtime_;
    /// null once the watch is gone
    WatchHandler handler_;
    /// its handlers run on the strand
    asio::posix::basic_stream_descriptor<tenure::backend::Strand> inotify_;
};

class FileWatch final : public tenure::backend::Watch
{
public:
    explicit FileWatch(std::shared_ptr<Subscription> subscription)
        : subscription_(std::move(subscription))
    {
    }
    FileWatch(FileWatch const&) = delete;
    FileWatch& operator=(FileWatch const&) = delete;
    ~FileWatch() override { subscription_->end(); }

private:
    std::shared_ptr<Subscription> subscription_;
};

} // namespace

std::unique_ptr<tenure::backend::Watch> watch_file(
    std::shared_ptr<tenure::backend::Runtime> const& runtime, std::filesystem::path const& file, WatchHandler handler)
{
    auto subscription = std::make_shared<Subscription>(runtime, std::move(handler));
    subscription->begin(file);
    return std::make_unique<FileWatch>(std::move(subscription));
}

} // namespace own_store
