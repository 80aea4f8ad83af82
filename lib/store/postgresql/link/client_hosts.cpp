// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: its connections, silence, and the timer.
#include "client.hpp"

#include <net/endpoint.hpp>
#include <tenure/errc.hpp>

#include <algorithm>

namespace tenure::postgresql
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t most_left_behind = 2;
/// after this time no answer is expected
constexpr auto longest_wait = 10s;
constexpr std::size_t most_lost_sessions = 16;

} // namespace

void Client::connect()
{
    auto const& hosts = config_->endpoints;
    current_ = std::make_shared<Connection>(
        runtime_, config_, hosts.empty() ? std::nullopt : std::optional(hosts[host_]));
    ready_ = false;
    under_way_ = 0;
    auto const* const raw = current_.get();
    Connection::Events events;
    events.ready = [weak = weak_from_this(), raw] {
        if (auto const self = weak.lock())
            self->ready(raw);
    };
    events.lost = [weak = weak_from_this(), raw](net::StreamError const& error) {
        if (auto const self = weak.lock())
            self->lost(raw, error);
    };
    events.notified = [weak = weak_from_this(), raw](std::string const& channel, std::string const& payload) {
        if (auto const self = weak.lock(); self && self->current_.get() == raw && self->notified_)
            self->notified_(channel, payload);
    };
    current_->open(std::move(events));
}

void Client::ready(Connection const* connection)
{
    if (connection != current_.get() || closed_)
        return;
    ready_ = true;
    wanted_ = false;
    failed_in_a_row_ = fatal_in_a_row_ = 0;
    last_error_ = {};
    backoff_.worked();
    if (config_->create) {
        auto next = *config_;
        next.create = false;
        config_ = std::make_shared<PostgresqlConfig const>(std::move(next));
    }
    if (auto const outage = failed_attempts_.lasts() ? failed_attempts_.end(runtime_->now()) : std::nullopt)
        runtime_->log(
            LogLevel::warning, name_ + ": reachable again after " + elapsed_text(outage->lasting) +
                                   "; failed attempts to connect: " + std::to_string(outage->total));
    end_lost_sessions();
    runtime_->post([weak = weak_from_this()] {
        if (auto const self = weak.lock(); self && self->reachable_)
            self->reachable_();
    });
    if (changed_)
        changed_();
    pump();
}

/** Then nothing of their requests can take effect later. Behind a pooler they are not found, which is harmless. */
void Client::end_lost_sessions()
{
    for (auto const& [pid, started, application] : std::exchange(lost_sessions_, {}))
        send_aside(
            {"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND "
             "extract(epoch FROM backend_start)::text = $2 AND application_name = $3",
             {pid, started, application}});
}

void Client::lost(Connection const* connection, net::StreamError const& error)
{
    auto const note_session = [this](Connection const& of) {
        if (of.busy() && !of.session().pid.empty() && lost_sessions_.size() < most_lost_sessions)
            lost_sessions_.push_back(of.session());
    };
    for (auto const& [left, since] : left_behind_)
        if (left.get() == connection)
            note_session(*left);
    std::erase_if(left_behind_, [connection](auto const& one) { return one.first.get() == connection; });
    if (connection != current_.get() || closed_)
        return;
    note_session(*current_);
    current_ = nullptr;
    wanted_ = wanted_ || shortest_ttl_ > 0ms;
    if (std::exchange(ready_, false)) {
        last_error_ = {make_error_code(errc::store_unavailable), error.text(), false};
        open_after_ = runtime_->now() + backoff_.after_loss();
        if (changed_)
            changed_();
    } else {
        connect_failed(error);
    }
    answer_if([](Query const& query) { return query.line == Query::Line::renewals; }, not_connected());
    pump_soon();
}

void Client::connect_failed(net::StreamError const& error)
{
    auto const hosts = std::max<std::size_t>(config_->endpoints.size(), 1);
    auto text = hosts == 1 ? error.text() : to_string(config_->endpoints[host_]) + ": " + error.text();
    bool const is_public = error.code.category() == tenure_category();
    ++failed_in_a_row_;
    fatal_in_a_row_ = error.fatal ? fatal_in_a_row_ + 1 : 0;
    // while another host is left to try, a person need not act
    bool const fatal = error.fatal && fatal_in_a_row_ >= hosts;
    last_error_ = {is_public ? error.code : make_error_code(errc::store_unavailable), std::move(text), fatal};
    host_ = (host_ + 1) % hosts;
    if (failed_in_a_row_ % hosts == 0) {
        open_after_ = runtime_->now() + (fatal ? backoff_.after_refusal() : backoff_.after_failure());
        answer_if([](Query const& query) { return query.not_after.one_attempt(); }, not_connected());
    }
    if (fatal) {
        wanted_ = shortest_ttl_ > 0ms;
        answer_if([](Query const&) { return true; }, not_connected());
        window_->fail_all(not_connected());
    }
    if (auto const repeated = failed_attempts_.happened(last_error_.text(), runtime_->now()))
        runtime_->log(LogLevel::warning, name_ + ": " + last_error_.text() + how_often(*repeated));
}

void Client::leave_host(Connection const* connection)
{
    auto const current = current_;
    host_ = (host_ + 1) % std::max<std::size_t>(config_->endpoints.size(), 1);
    net::StreamError const why{errc::store_unavailable, "the server became a standby, or read-only"};
    lost(connection, why);
    current->close(why);
}

// -- silence --

Clock::duration Client::patience() const noexcept
{
    auto const base =
        shortest_ttl_ > 0ms ? std::clamp<Clock::duration>(shortest_ttl_ / 6, 500ms, 5s) : Clock::duration(5s);
    // a server that was left twice is slow, and would become slower
    return base * (1 + static_cast<int>(left_behind_.size()));
}

void Client::leave_silent()
{
    while (left_behind_.size() >= most_left_behind)
        give_up(left_behind_.front().first);
    left_behind_.emplace_back(std::exchange(current_, nullptr), runtime_->now());
    ready_ = false;
    last_error_ = {make_error_code(errc::store_unavailable), "the server does not answer", false};
    // others may begin while these claims stay unanswered
    window_->begin_anew();
    answer_if([](Query const& query) { return query.line == Query::Line::renewals; }, not_connected());
    wanted_ = true;
    host_ = (host_ + 1) % std::max<std::size_t>(config_->endpoints.size(), 1);
    if (changed_)
        changed_();
}

/** Its requests are unknown from now on. */
void Client::give_up(ConnectionPtr const& connection)
{
    auto const alive = connection;
    net::StreamError const why{errc::store_unavailable, "the server does not answer"};
    lost(alive.get(), why);
    alive->close(why);
}

void Client::tick()
{
    if (closed_)
        return;
    auto const now = runtime_->now();
    answer_if([this](Query const& query) { return over(query); }, last_error_ ? not_connected() : Failure::dropped());
    auto when = Instant::max();
    for (auto const& line : queue_)
        for (auto const& entry : line)
            when = std::min(when, entry.query.not_after.at());
    auto const left = left_behind_;
    for (auto const& [connection, since] : left)
        if (now >= since + longest_wait)
            give_up(connection);
        else
            when = std::min(when, since + longest_wait);
    if (ready_ && under_way_ > 0) {
        auto const silent_at = current_->last_progress() + patience();
        if (now >= silent_at)
            leave_silent();
        else
            when = std::min(when, silent_at);
    }
    if (when != Instant::max())
        timer_.by(when, weak_from_this(), &Client::tick);
    pump();
}

} // namespace tenure::postgresql
