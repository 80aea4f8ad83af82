// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: drives a handle of the C client on the strand.
#include "client.hpp"

#include <boost/asio/post.hpp>

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

Client::Client(
    std::shared_ptr<Runtime> runtime, ClientHandle::Settings const& settings, std::chrono::milliseconds connect_timeout,
    LinkListener& listener)
    : runtime_(std::move(runtime))
    , handle_(*runtime_, settings)
    , connect_limit_(std::min<Clock::duration>(connect_timeout, std::max<Clock::duration>(settings.timeout / 6, 500ms)))
    , silence_limit_(std::clamp<Clock::duration>(settings.timeout / 6, 200ms, 1s))
    , patience_(silence_limit_)
    , listener_(&listener)
    , descriptor_(runtime_->io_executor())
{
}

void Client::start()
{
    pump_soon();
}

void Client::ask(Request request, ResponseHandler handler)
{
    handle_.ask(std::move(request), std::move(handler));
    pump_soon();
}

void Client::drop_connection()
{
    handle_.drop_connection();
    pump_soon();
}

void Client::set_servers(std::string const& servers)
{
    // the client is connecting to a server that was removed
    handle_.drop_connection();
    handle_.set_servers(servers);
    pump_soon();
}

void Client::close(bool end_session) noexcept
{
    if (std::exchange(closed_, true))
        return;
    listener_ = nullptr;
    timer_.cancel();
    if (end_session)
        handle_.end_session();
    error_code ignored;
    descriptor_.close(ignored);
    handle_.drop_connection();
    handle_.fail_pending();
    // not kept in the object, because the handlers may own it
    std::vector<ClientHandle::Event> last;
    handle_.take(last);
    runtime_->post([events = std::move(last)]() mutable {
        for (auto& one : events)
            if (auto* const finished = std::get_if<ClientHandle::Finished>(&one))
                std::exchange(finished->handler, nullptr)(finished->response);
    });
}

void Client::pump_soon()
{
    if (std::exchange(pump_posted_, true))
        return;
    // outside the strand, because requests of a user's handler before it would have to wait for it
    asio::post(runtime_->io_executor(), [self = shared_from_this()] {
        self->runtime_->strand().execute([self] {
            self->pump_posted_ = false;
            self->pump();
        });
    });
}

void Client::pump()
{
    if (!closed_)
        wait_for_news();
    deliver();
}

void Client::wait_for_news()
{
    auto const now = runtime_->now();
    check_silence(now);
    auto const interest = handle_.interest();
    if (!interest.over) {
        // After one wait for writing Asio reports a descriptor on each later wait: it is nearly always writable, and
        // each report costs a turn of the loop.
        if (interest.identity != identity_ || (waited_for_writing_ && !interest.write))
            adopt(interest);
        wait_for(interest);
        set_timer(now, interest);
    }
}

void Client::adopt(ClientHandle::Interest const& interest)
{
    error_code ignored;
    descriptor_.close(ignored);
    ++adoption_;
    identity_ = 0;
    reading_ = writing_ = waited_for_writing_ = false;
    if (interest.descriptor < 0)
        return;
    if (std::exchange(begun_identity_, interest.identity) != interest.identity)
        begun_ = last_received_ = runtime_->now();
    int const duplicate = ::fcntl(interest.descriptor, F_DUPFD_CLOEXEC, 0);
    error_code error;
    if (duplicate >= 0)
        descriptor_.assign(duplicate, error);
    if (duplicate < 0 || error) {
        if (duplicate >= 0)
            ::close(duplicate);
        return; // out of descriptors: the timer tries again
    }
    identity_ = interest.identity;
}

void Client::wait_for(ClientHandle::Interest const& interest)
{
    if (identity_ == 0)
        return;
    if (!std::exchange(reading_, true))
        wait(true);
    if (interest.write && !std::exchange(writing_, true)) {
        waited_for_writing_ = true;
        wait(false);
    }
}

void Client::wait(bool readable)
{
    using Descriptor = asio::posix::stream_descriptor;
    descriptor_.async_wait(
        readable ? Descriptor::wait_read : Descriptor::wait_write,
        [self = shared_from_this(), adoption = adoption_, readable](error_code error) {
            self->runtime_->strand().execute(
                [self, adoption, readable, error] { self->ready(adoption, readable, error); });
        });
}

void Client::ready(std::uint64_t adoption, bool readable, error_code error)
{
    if (closed_ || adoption != adoption_ || error)
        return;
    (readable ? reading_ : writing_) = false;
    if (readable)
        last_received_ = runtime_->now();
    handle_.process(readable, !readable);
    // pending requests get their responses first, and new requests of their handlers leave before the pump runs
    deliver();
    pump_soon();
}

void Client::check_silence(Instant now)
{
    if (identity_ == 0)
        return;
    bool const connected = handle_.connected();
    auto const since = connected ? std::max(handle_.oldest_unanswered(), last_received_) : begun_;
    if (since == Instant::max() || now - since < (connected ? patience_ : connect_limit_))
        return;
    if (connected)
        patience_ = std::min<Clock::duration>(patience_ * 2, handle_.timeout() / 2);
    handle_.drop_connection();
}

void Client::set_timer(Instant now, ClientHandle::Interest const& interest)
{
    Clock::duration wait = interest.timeout;
    if (identity_ == 0) {
        // jitter for the pause after all servers failed, so that clients do not retry in step
        auto const least = std::max<Clock::duration>(wait, 20ms);
        wait = least + least / 1024 * static_cast<Clock::rep>(runtime_->random() % 1024);
        report_no_server();
    } else if (!handle_.connected()) {
        wait = std::min<Clock::duration>(wait, begun_ + connect_limit_ - now);
    } else if (handle_.oldest_unanswered() != Instant::max()) {
        wait = std::min<Clock::duration>(wait, std::max(handle_.oldest_unanswered(), last_received_) + patience_ - now);
    }
    // A timer that fires early sets the next one, which is far rarer than calls of this function. But the pause between
    // two rounds of the servers ends with the next call of the C client.
    auto const due = now + std::max<Clock::duration>(wait, 1ms);
    if (identity_ == 0)
        timer_.cancel();
    timer_.by(due, weak_from_this(), &Client::pump);
}

void Client::report_no_server()
{
    runtime_->post([weak = weak_from_this()] {
        if (auto const self = weak.lock(); self && self->listener_ != nullptr)
            self->listener_->on_no_server();
    });
}

void Client::deliver()
{
    auto const self = shared_from_this();
    try {
        for (;;) {
            while (delivered_ < events_.size())
                notify(events_[delivered_++]);
            delivered_ = 0;
            handle_.take(events_);
            if (events_.empty())
                return;
        }
    } catch (...) {
        pump_soon(); // which delivers the rest
        throw;
    }
}

void Client::notify(ClientHandle::Event& one)
{
    if (auto* const finished = std::get_if<ClientHandle::Finished>(&one)) {
        if (finished->response.code >= ZOK && finished->response.answered - finished->response.sent < silence_limit_)
            patience_ = silence_limit_;
        std::exchange(finished->handler, nullptr)(finished->response);
    } else if (listener_ != nullptr) {
        listener_->on_session_event(std::get<SessionEvent>(one));
    }
}

} // namespace tenure::zookeeper
