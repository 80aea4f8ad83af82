// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: lost connections, switches to another endpoint, silence, and the timer.
#include "client.hpp"

#include "messages.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// no reply comes after this time: the server itself gives up after seven seconds
constexpr auto longest_wait = 10s;
constexpr auto longest_patience = 1s;
constexpr auto shortest_patience = 100ms;
/// after all endpoints have redirected the client
constexpr auto longest_pause = 1s;
constexpr auto shortest_pause = 100ms;
/// no pool or lock uses this key; an answer that denies it is an answer
constexpr std::string_view probe_key = "tenure/ready";

} // namespace

// -- endpoints --

std::optional<Client::Link> Client::take_out(Connection const* connection)
{
    auto const found = std::ranges::find(links_, connection, [](Link const& link) { return link.connection.get(); });
    if (found == links_.end())
        return std::nullopt;
    auto link = std::move(*found);
    links_.erase(found);
    return link;
}

void Client::lost(Connection const* connection, net::StreamError const& error)
{
    auto const link = closed_ ? std::nullopt : take_out(connection);
    if (!link)
        return;
    bool const proven = link->connection->proven();
    if (link->epoch == endpoint_epoch_ && has_connection()) {
        // the working connections suffice for a while
        if (!proven)
            more_after_ = runtime_->now() + backoff_.after_short_life();
    } else if (link->epoch == endpoint_epoch_) {
        // held leases must be renewed as soon as the endpoint is back
        wants_connection_ = wants_connection_ || shortest_ttl_ > 0ms;
        if (!proven) {
            connect_failed(link->endpoint, error);
        } else {
            reached_ = false;
            last_error_ = {make_error_code(errc::store_unavailable), error.text(), false};
            open_after_ = runtime_->now() + backoff_.after_loss();
        }
        fail_renewals();
    }
    pump_soon();
}

void Client::connect_failed(std::size_t endpoint, net::StreamError const& error)
{
    reached_ = false;
    auto text = config_.endpoints.size() == 1 ? error.text() : name_of(endpoint) + ": " + error.text();
    bool const is_public = error.code.category() == tenure_category();
    last_error_ = {is_public ? error.code : make_error_code(errc::store_unavailable), std::move(text), error.fatal};
    ++failed_in_a_row_;
    fatal_in_a_row_ = error.fatal ? fatal_in_a_row_ + 1 : 0;
    bool const all_failed = failed_in_a_row_ % config_.endpoints.size() == 0;
    if (all_failed) {
        open_after_ = runtime_->now() + backoff_.after_failure();
        answer_unsent(
            queue_.take_if([](HttpRequest const& request) { return request.not_after.one_attempt(); }), not_sent());
    }
    // while another endpoint is left to try, a person need not act
    last_error_.fatal = error.fatal && fatal_in_a_row_ >= config_.endpoints.size();
    if (last_error_.fatal)
        fail_queue();
    if (auto const repeated = failed_attempts_.happened(last_error_.text(), runtime_->now()))
        runtime_->log(LogLevel::warning, name_ + ": " + last_error_.text() + how_often(*repeated));
    switch_endpoint(endpoint_epoch_);
}

void Client::log_end_of_outage()
{
    if (!failed_attempts_.lasts())
        return;
    if (auto const outage = failed_attempts_.end(runtime_->now()))
        runtime_->log(
            LogLevel::warning, name_ + ": reachable again after " + elapsed_text(outage->lasting) +
                                   "; failed attempts to connect: " + std::to_string(outage->total));
}

void Client::switch_on_request(std::uint64_t epoch)
{
    // Without a leader every member says so at once, and waiting requests would be sent again on each new connection.
    if (epoch == endpoint_epoch_ && ++switch_requests_in_a_row_ % config_.endpoints.size() == 0) {
        auto const longest =
            shortest_ttl_ > 0ms ? std::max<Clock::duration>(shortest_pause, shortest_ttl_ / 12) : longest_pause;
        open_after_ = runtime_->now() + std::min<Clock::duration>(backoff_.after_failure(), longest);
    }
    switch_endpoint(epoch);
}

void Client::switch_endpoint(std::uint64_t epoch)
{
    if (epoch != endpoint_epoch_ || closed_)
        return;
    ++endpoint_epoch_;
    endpoint_ = (endpoint_ + 1) % config_.endpoints.size();
    reached_ = false;
    owes_notice_ = true;
    more_after_ = {};
    last_answer_ = runtime_->now();
    latest_answered_ = {};
    wants_connection_ = wants_connection_ || shortest_ttl_ > 0ms;
    for (auto const& link : std::vector(links_))
        if (link.connection->state() != Connection::State::busy)
            link.connection->close();
    std::erase_if(links_, [](Link const& link) { return link.connection->state() == Connection::State::closed; });
    give_up_the_oldest();
    fail_renewals();
    if (endpoint_switched_)
        endpoint_switched_();
    pump_soon();
}

void Client::give_up_the_oldest()
{
    // A single endpoint may only be slow, so its connections are kept while there is room for another one. If two
    // members have not answered, a connection to a third must be possible.
    auto const connections = std::size_t{config_.connections};
    auto const most = config_.endpoints.size() == 1 ? 2 * connections - 1 : connections;
    if (links_.size() <= most)
        return;
    auto const surplus = static_cast<std::ptrdiff_t>(links_.size() - most);
    for (auto const& link : std::vector(links_.begin(), links_.begin() + surplus))
        link.connection->give_up(
            {make_error_code(errc::store_unavailable), name_of(link.endpoint) + " does not answer", false});
}

// -- silence --

Clock::duration Client::patience() const noexcept
{
    return shortest_ttl_ > 0ms ? std::clamp<Clock::duration>(shortest_ttl_ / 6, shortest_patience, longest_patience)
                               : Clock::duration(longest_patience);
}

// An endpoint that answers other requests is slow, and would become slower if they were repeated. It is left only when
// a majority has answered nothing for a while. A single request that stays unanswered while later ones are answered has
// lost its connection.
void Client::check_silence()
{
    auto const now = runtime_->now();
    auto const longest = patience();
    bool unanswered = false;
    for (auto const& link : std::vector(links_)) {
        if (link.connection->state() == Connection::State::connecting && now >= link.connect_by) {
            auto why = link.connection->overdue();
            // if TLS has worked before, silence is an outage
            if (has_worked_)
                why.code = make_error_code(errc::store_unavailable);
            link.connection->give_up(why);
        }
        if (link.connection->state() != Connection::State::busy)
            continue;
        auto const since = link.connection->busy_since();
        bool const old = link.epoch == endpoint_epoch_ && now - since >= longest;
        if (now - since >= longest_wait)
            link.connection->give_up({make_error_code(errc::store_unavailable), "silent for ten seconds", false});
        else if (old && latest_answered_ >= since + longest / 2)
            link.connection->give_up({make_error_code(errc::store_unavailable), "later requests were answered", false});
        else if (old)
            unanswered = true;
    }
    if (unanswered && now - last_answer_ >= longest)
        fall_silent();
}

void Client::fall_silent()
{
    // claims that may stay unanswered for long must not keep others from beginning
    for (auto const& link : links_)
        if (is(link, Connection::State::busy))
            if (auto const place = link.place.lock())
                *place = {};
    last_error_ = {make_error_code(errc::store_unavailable), name_of(endpoint_) + " does not answer", false};
    wants_connection_ = doubtful_ = true;
    switch_endpoint(endpoint_epoch_);
}

void Client::reachable()
{
    if (std::exchange(reached_, true) || !std::exchange(owes_notice_, false))
        return;
    runtime_->post([weak = weak_from_this()] {
        if (auto const self = weak.lock(); self && self->reachable_)
            self->reachable_();
    });
}

void Client::probe()
{
    HttpRequest http_request{
        "kv/range", range_body({std::string(probe_key), {}}, {1, true}), runtime_->now() + longest_wait};
    queue_.add({std::move(http_request), [](Outcome const&) {}});
}

// -- time --

void Client::arm()
{
    auto when = queue_.next_deadline();
    auto const now = runtime_->now();
    if ((!queue_.empty() || wants_connection_) && open_after_ > now)
        when = std::min(when, open_after_);
    if (!queue_.empty() && more_after_ > now)
        when = std::min(when, more_after_);
    for (auto const& link : links_)
        if (link.connection->state() == Connection::State::busy)
            when = std::min(when, now + shortest_patience);
        else if (link.connection->state() == Connection::State::connecting)
            when = std::min(when, link.connect_by);
    if (when != Instant::max())
        timer_.by(when, weak_from_this(), &Client::tick);
}

void Client::tick()
{
    check_silence();
    pump();
}

} // namespace tenure::etcd
