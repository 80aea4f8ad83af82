// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// HedgedLink: replaces a silent connection.
#include "hedged_link.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Minimum time between reconnects to a server that says it is the wrong one, and between two hedges.
constexpr auto reconnect_pause = 1s;
// Answers that arrive together with the login of the second connection may be read after it.
constexpr auto time_to_read = 20ms;

} // namespace

HedgedLink::HedgedLink(std::shared_ptr<Runtime> runtime, ConnectionFactory connect)
    : runtime_(std::move(runtime))
    , connect_(std::move(connect))
    , claims_(std::make_shared<store::ClaimWindow>(runtime_, most_claims))
    , timer_(*runtime_)
{
}

HedgedLink::~HedgedLink()
{
    close();
}

void HedgedLink::execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler)
{
    if (closed_) {
        runtime_->post([handler = std::move(handler)]() mutable {
            Outcome outcome;
            outcome.error = errc::closed;
            std::move(handler)(std::move(outcome));
        });
        return;
    }
    if (current_ == nullptr)
        current_ = make_connection("");
    use_other_if_it_works();
    if (!timer_.pending())
        arm(runtime_->now() + patience());
    current_->execute(std::move(command), std::move(not_after), std::move(handler));
}

bool HedgedLink::ready()
{
    if (closed_)
        return false;
    if (current_ == nullptr)
        current_ = make_connection("");
    use_other_if_it_works();
    if (current_->ready())
        return true;
    // A store that only renews sends nothing before this returns true, so a refused connection must start its next
    // attempt here.
    current_->open();
    return false;
}

bool HedgedLink::connected()
{
    return ready() || (other_ != nullptr && other_usable_ && other_->ready());
}

std::string HedgedLink::last_error() const
{
    if (current_ == nullptr)
        return {};
    auto const error = current_->last_error();
    return error.empty() && !current_->ready() ? "still connecting" : error;
}

void HedgedLink::shortest_ttl(std::chrono::milliseconds ttl)
{
    shortest_ttl_ = ttl;
    for (auto const& connection : {current_, other_})
        if (connection != nullptr)
            connection->shortest_ttl(ttl);
    // A shorter ttl also shortens the patience with pending requests.
    if (timer_.pending())
        timer_.by(runtime_->now() + patience(), weak_from_this(), &HedgedLink::tick);
}

void HedgedLink::drop_abandoned()
{
    claims_->drop_abandoned();
    for (auto const& connection : {current_, other_})
        if (connection != nullptr)
            connection->drop_abandoned();
}

void HedgedLink::note_ttl(std::chrono::milliseconds ttl) noexcept
{
    longest_ttl_ = std::min(std::max(longest_ttl_, ttl), std::chrono::milliseconds(1min));
}

void HedgedLink::reconnect()
{
    auto const now = runtime_->now();
    if (closed_ || current_ == nullptr ||
        (last_reconnect_ != Instant::min() && now < last_reconnect_ + reconnect_pause))
        return;
    last_reconnect_ = now;
    replace_current("", false);
    current_->open();
}

void HedgedLink::invalidate(std::string_view what)
{
    // the reply may have come from either of the two
    retire_other();
    if (current_ != nullptr)
        current_->invalidate(what);
}

void HedgedLink::close() noexcept
{
    // the destructor runs on any thread, and must have nothing left to do or write
    if (closed_)
        return;
    closed_ = true;
    timer_.cancel();
    on_reachable_ = nullptr;
    refuse_claims(make_error_code(errc::closed), "the connection was closed");
    if (other_ != nullptr)
        std::exchange(other_, nullptr)->close();
    if (current_ != nullptr)
        std::exchange(current_, nullptr)->close();
}

void HedgedLink::give_up() noexcept
{
    if (closed_)
        return;
    refuse_claims(make_error_code(errc::store_unavailable), "another server took its place");
    if (other_ != nullptr)
        std::exchange(other_, nullptr)->give_up();
    if (current_ != nullptr)
        std::exchange(current_, nullptr)->give_up();
    close();
}

void HedgedLink::refuse_claims(error_code error, char const* why) noexcept
try {
    claims_->fail_all(Failure::not_sent(error, why));
} catch (...) { // NOLINT(bugprone-empty-catch): out of memory: the claims that wait get no answer
}

Instant HedgedLink::oldest_unanswered() const noexcept
{
    auto const first = current_ == nullptr ? Instant::max() : current_->oldest_unanswered();
    return other_ == nullptr ? first : std::min(first, other_->oldest_unanswered());
}

std::shared_ptr<Connection> HedgedLink::make_connection(std::string_view purpose)
{
    auto connection = connect_(purpose);
    connection->shortest_ttl(shortest_ttl_);
    connection->expect_delay(delay_);
    connection->on_state([weak = weak_from_this(), raw = connection.get()](ConnectionState state) {
        if (auto const self = weak.lock())
            self->state_changed(raw, state);
    });
    return connection;
}

std::chrono::nanoseconds HedgedLink::patience() const noexcept
{
    if (shortest_ttl_ <= 0ms)
        return 1s + delay_;
    return std::min<std::chrono::nanoseconds>(1s, std::chrono::nanoseconds(shortest_ttl_) / 6) + delay_;
}

void HedgedLink::state_changed(Connection const* connection, ConnectionState state)
{
    if (closed_ || state != ConnectionState::ready || (connection != current_.get() && connection != other_.get()))
        return;
    server_ = connection->server();
    ++generation_;
    refusals_.logged_in();
    if (!timer_.pending())
        arm(runtime_->now() + patience());
    // requests on a connection that was silent may be answered after all
    reachable_due_ = connection == current_.get() && other_ != nullptr && other_usable_ &&
                     other_->oldest_unanswered() != Instant::max();
    if (reachable_due_)
        arm(runtime_->now() + time_to_read);
    else
        notify_reachable();
}

void HedgedLink::notify_reachable()
{
    reachable_due_ = false;
    // a copy, because the handler may close this link
    if (auto const handler = on_reachable_)
        handler();
}

void HedgedLink::notify_reachable_if_silent()
{
    if (!reachable_due_ || !current_->ready())
        return;
    if (other_ == nullptr || runtime_->now() - patience() >= other_->silent_since())
        notify_reachable();
}

void HedgedLink::replace_current(std::string_view purpose, bool keep_old_usable)
{
    retire_other();
    other_usable_ = keep_old_usable;
    other_ = std::exchange(current_, make_connection(purpose));
    other_until_ = runtime_->now() + longest_ttl_;
    reachable_due_ = false;
    if (other_ != nullptr)
        other_->hand_over(*current_);
    claims_->begin_anew();
    arm(runtime_->now() + patience());
}

void HedgedLink::swap_connections()
{
    std::swap(current_, other_);
    other_until_ = runtime_->now() + longest_ttl_;
    other_->hand_over(*current_);
}

void HedgedLink::use_other_if_it_works()
{
    if (other_ != nullptr && other_usable_ && !current_->ready() && other_->ready() &&
        other_->oldest_unanswered() == Instant::max())
        swap_connections();
}

void HedgedLink::watch_silence()
{
    auto const silent_since = current_->silent_since();
    auto const now = runtime_->now();
    if (silent_since == Instant::max() || now < silent_since + patience())
        return;
    if (other_ != nullptr) {
        // At most two connections: switch if the other one answers, and drop it if it is silent too.
        auto const other_since = other_->silent_since();
        if (other_usable_ && other_->ready() && other_since == Instant::max()) {
            swap_connections();
            // what the silent one has not answered can be repeated
            reachable_due_ = true;
        }
        bool const both_silent = other_since != Instant::max() && now >= other_since + patience();
        if (!both_silent || now < last_silence_ + reconnect_pause)
            return;
    }
    last_silence_ = now;
    if (auto const repeated = logged_silences_.happened(now)) {
        auto const silence = elapsed_text(now - silent_since) + how_often(*repeated);
        runtime_->log(
            LogLevel::warning,
            "redis: no answer for " + silence + "; opening a second connection beside the silent one");
    }
    replace_current("second", true);
    current_->open();
}

void HedgedLink::arm(Instant when)
{
    timer_.at(when, weak_from_this(), &HedgedLink::tick);
}

void HedgedLink::tick()
{
    if (closed_ || current_ == nullptr)
        return;
    auto const now = runtime_->now();
    // If this thread was delayed, replies may be waiting to be read, so the server may not be silent.
    if (now > timer_.due() + patience() / 2 && !std::exchange(postponed_, true)) {
        arm(now + patience() / 4);
        return;
    }
    postponed_ = false;
    use_other_if_it_works();
    watch_silence();
    // the first connection has answered after all
    if (other_ != nullptr && other_->oldest_unanswered() == Instant::max())
        reachable_due_ = false;
    // A connection that is not ready may still hold requests, which reach the server once it connects.
    if (other_ != nullptr && (now >= other_until_ ||
                              (current_->ready() && other_->ready() && other_->oldest_unanswered() == Instant::max())))
        retire_other();
    notify_reachable_if_silent();
    if (closed_ || timer_.pending())
        return;
    auto const silent_since = current_->silent_since();
    if (silent_since != Instant::max() && silent_since + patience() > now)
        arm(silent_since + patience());
    else if (silent_since != Instant::max() || other_ != nullptr)
        arm(now + patience() / 2);
}

void HedgedLink::retire_other()
{
    if (other_ != nullptr)
        std::exchange(other_, nullptr)->give_up();
}

} // namespace tenure::redis
