// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fork_watch.hpp"
#include "runtime/names.hpp"
#include "stream.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::net
{

namespace asio = boost::asio;

/** Reads and writes for all streams over an Asio object. A derived class connects, and states whether its bytes are
 *  the socket's own (`is_plain`), so that the number of sent bytes is known. The stream owns the buffers, because a
 *  closed operation may still use them. */
template <class Derived>
class SocketStream : public Stream, public std::enable_shared_from_this<Derived>
{
public:
    void read() final
    {
        reading_ = true;
        derived().layer().async_read_some(asio::buffer(input_), on_strand<&SocketStream::have_read>());
    }

    std::size_t write_now(std::string_view bytes) final
    {
        if constexpr (Derived::is_plain) {
            auto const sent =
                ::send(derived().layer().native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            return sent > 0 ? static_cast<std::size_t>(sent) : 0;
        } else {
            return Stream::write_now(bytes);
        }
    }

    void write(std::string bytes) final
    {
        output_ = std::move(bytes);
        sent_ = 0;
        write_rest();
    }

    void close() noexcept final
    {
        events_ = nullptr;
        derived().close_socket();
    }

    /** Hidden by a derived class that knows more. */
    [[nodiscard]] static StreamError explain_failure(error_code error) { return {error, {}, false}; }

protected:
    [[nodiscard]] StreamEvents* events() const noexcept { return events_; }
    void notify_to(StreamEvents& events) noexcept { events_ = &events; }

    std::shared_ptr<Runtime> runtime_;

private:
    friend Derived;

    explicit SocketStream(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
        , fork_watch_(*runtime_, *this)
    {
    }

    [[nodiscard]] Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    [[nodiscard]] StreamError explain(error_code error)
    {
        if (!error)
            return {};
        if (error == asio::error::eof)
            return {error, "the server closed the connection", false};
        return derived().explain_failure(error);
    }

    void write_rest()
    {
        derived().layer().async_write_some(
            asio::buffer(output_.data() + sent_, output_.size() - sent_), on_strand<&SocketStream::have_written>());
    }

    void have_read(error_code error, std::size_t size)
    {
        reading_ = false;
        if (events_ != nullptr)
            events_->on_read(explain(error), std::string_view(input_.data(), size));
        if (auto const failed = std::exchange(write_failure_, {}); failed && events_ != nullptr)
            notify_written(failed);
    }

    void have_written(error_code error, std::size_t size)
    {
        if (events_ == nullptr)
            return;
        sent_ += size;
        if (!error && sent_ < output_.size())
            write_rest();
        else if (!Derived::is_plain && reading_ && is_reset(error))
            // the pending read finds the server's earlier reason
            write_failure_ = error;
        else
            notify_written(error);
    }

    void notify_written(error_code error)
    {
        events_->on_written(explain(error), Derived::is_plain ? sent_ : output_.size(), std::move(output_));
    }

    [[nodiscard]] static bool is_reset(error_code error) noexcept
    {
        return error == asio::error::connection_reset || error == asio::error::broken_pipe;
    }

    /** The handler of an operation of the layer, which runs on the strand. */
    template <void (SocketStream::*ended)(error_code, std::size_t)>
    [[nodiscard]] auto on_strand()
    {
        return asio::bind_executor(
            runtime_->strand(), [self = this->shared_from_this()](error_code error, std::size_t size) {
                (self.get()->*ended)(error, size);
            });
    }

    /// null after `close`
    StreamEvents* events_ = nullptr;
    std::array<char, std::size_t{16} * 1024> input_;
    std::string output_;
    std::size_t sent_ = 0;
    bool reading_ = false;
    /// of a write that failed during a read, which reports its error first
    error_code write_failure_;
    ForkWatch fork_watch_;
};

} // namespace tenure::net
