// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: holds requests until it is connected, and reports the cause while it is not.
#include "session.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/** A server accepted the connection and closed it: it allows no more, or has no leader. Which words of the C client say
 *  so depends on whether the close arrives before or after its first packet has left. */
bool was_closed_at_once(std::string_view words)
{
    constexpr std::array signs{
        "failed while receiving a server response", "failed to send a handshake packet",
        "failed while flushing send queue", "(Broken pipe): server refused to accept the client"};
    return std::ranges::any_of(
        signs, [words](std::string_view sign) { return words.find(sign) != std::string_view::npos; });
}

} // namespace

void Session::when_connected(Deadline not_after, ConnectedHandler handler)
{
    last_used_ = runtime_->now();
    waiting_.add(std::move(not_after), std::move(handler));
    if (closed_ || connected()) {
        runtime_->post([self = shared_from_this()] { self->answer_waiting(); });
        return;
    }
    open();
    set_waiting_timer();
}

void Session::answer_waiting()
{
    if (closed_) {
        fail_all_waiting(Failure::not_sent(errc::closed, settings_.name + ": the store was closed"));
        return;
    }
    if (connected()) {
        fail(
            waiting_.take_if([now = runtime_->now()](Deadline const& deadline) { return deadline.over(now); }),
            Failure::dropped());
        for (auto& handler : waiting_.take_if([](Deadline const&) { return true; }))
            handler(nullptr);
    }
    set_waiting_timer();
}

void Session::set_waiting_timer()
{
    // a timer that fires early sets the next one
    auto const first = waiting_.earliest();
    if (first == Instant::max()) {
        waiting_timer_.cancel();
        return;
    }
    waiting_timer_.by(first, weak_from_this(), [](Session& self) {
        auto late = self.waiting_.take_late(self.runtime_->now());
        self.set_waiting_timer();
        fail(std::move(late), self.connected() ? Failure::dropped() : self.why_not_connected());
    });
}

void Session::drop_abandoned()
{
    fail(waiting_.take_if([](Deadline const& deadline) { return deadline.abandoned(); }), Failure::dropped());
    claims_->drop_abandoned();
}

void Session::on_no_server()
{
    if (auto const repeated = failed_rounds_.happened(runtime_->now()))
        runtime_->log(LogLevel::warning, settings_.name + ": not connected: " + last_message() + how_often(*repeated));
    fail(waiting_.take_if([](Deadline const& deadline) { return deadline.one_attempt(); }), why_not_connected());
}

void Session::fail(std::vector<ConnectedHandler> waiting, Failure const& why)
{
    for (auto& handler : waiting)
        handler(&why);
}

void Session::fail_all_waiting(Failure const& why)
{
    claims_->fail_all(why);
    fail(waiting_.take_if([](Deadline const&) { return true; }), why);
    set_waiting_timer();
}

Failure Session::why_not_connected() const
{
    return Failure::not_sent(errc::store_unavailable, settings_.name + ": not connected: " + last_message());
}

std::string Session::last_message() const
{
    auto words = client_ == nullptr ? search_error_ : client_->last_message();
    if (words.empty())
        words = "no server has answered yet";
    if (was_closed_at_once(words))
        words +=
            "; if the server serves others, it allows no more connections from this address: raise its maxClientCnxns "
            "(60 unless it is set)";
    return words;
}

} // namespace tenure::zookeeper
