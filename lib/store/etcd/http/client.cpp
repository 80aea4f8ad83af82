// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: its queue, its connections, and what becomes of a request.
#include "client.hpp"

#include "exchange.hpp"
#include "messages.hpp"

#include <net/endpoint.hpp>
#include <runtime/if_alive.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// interval at which queued steps of claims are told that the endpoint answers
constexpr auto telling_interval = 10ms;

/** True if a majority takes part in the answer. A leader that was cut off answers other requests alone. */
bool needs_majority(std::string_view path) noexcept
{
    return path.starts_with("kv/") || path == "lease/grant" || path == "lease/revoke";
}

} // namespace

Client::Client(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams, std::string name)
    : runtime_(std::move(runtime))
    , config_(std::move(config))
    , streams_(std::move(streams))
    , name_(std::move(name))
    , backoff_(config_.reconnect_backoff, [runtime = runtime_] { return runtime->random(); })
    // a random one, so that programs that start together do not all use the first endpoint
    , endpoint_(runtime_->random() % config_.endpoints.size())
    , window_(std::make_shared<store::ClaimWindow>(runtime_, config_.connections))
    , timer_(*runtime_)
{
}

Client::~Client()
{
    close();
}

void Client::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    timer_.cancel();
    reachable_ = nullptr;
    endpoint_switched_ = nullptr;
    for (auto const& link : std::exchange(links_, {}))
        link.connection->close();
    last_error_ = {make_error_code(errc::closed), "the store was closed", false};
    fail_queue();
}

std::string Client::where() const
{
    return config_.endpoints.size() == 1 ? name_ : name_ + " at " + name_of(endpoint_);
}

std::string Client::name_of(std::size_t endpoint) const
{
    return to_string(config_.endpoints[endpoint]);
}

// -- unsent requests --

Outcome Client::not_sent() const
{
    auto detail = last_error_.code ? name_ + ": " + last_error_.text() : std::string();
    return {{.error = last_error_.code, .detail = std::move(detail), .fatal = last_error_.fatal}};
}

Outcome Client::not_connected() const
{
    auto outcome = not_sent();
    if (!outcome.error) {
        outcome.error = errc::store_unavailable;
        outcome.detail = where() + ": not connected";
    }
    return outcome;
}

void Client::answer_later(OutcomeHandler handler, Outcome outcome)
{
    owes_notice_ = owes_notice_ || outcome.error;
    runtime_->post([handler = std::move(handler), outcome = std::move(outcome)]() mutable {
        std::move(handler)(std::move(outcome));
    });
}

void Client::answer_unsent(std::vector<Pending> all, Outcome const& outcome)
{
    for (auto& pending : all)
        answer_later(std::move(pending.handler), outcome);
}

void Client::drop_abandoned()
{
    window_->drop_abandoned();
    answer_unsent(queue_.take_abandoned(), {});
    pump();
}

void Client::drop_unsent(OwnerTag owner)
{
    answer_unsent(queue_.take_of(owner), {});
}

void Client::fail_renewals()
{
    answer_unsent(
        queue_.take_if([](HttpRequest const& request) { return request.only_if_connected; }), not_connected());
}

void Client::fail_queue()
{
    answer_unsent(queue_.take_all(), not_sent());
    auto outcome = not_connected();
    window_->fail_all(Failure::not_sent(outcome.error, std::move(outcome.detail), outcome.fatal));
}

// -- from the queue to a connection --

void Client::send(HttpRequest request, OutcomeHandler handler)
{
    if (closed_ || (request.only_if_connected && !has_connection())) {
        answer_later(std::move(handler), not_connected());
        wants_connection_ = true;
        pump_soon();
        return;
    }
    queue_.add({std::move(request), std::move(handler)});
    pump();
}

bool Client::has_connection() const noexcept
{
    return std::ranges::any_of(links_, [this](Link const& link) {
        return is(link, Connection::State::idle) || is(link, Connection::State::busy);
    });
}

void Client::pump_soon()
{
    pump_.post(*runtime_, weak_from_this(), &Client::pump);
}

void Client::pump()
{
    if (closed_)
        return;
    answer_unsent(queue_.take_overdue(runtime_->now()), not_sent());
    while (!queue_.empty()) {
        auto* const link = idle_link();
        if (link == nullptr) {
            open_more();
            break;
        }
        if (needs_token()) {
            if (login_epoch_ != endpoint_epoch_)
                authenticate(*link->connection);
            break;
        }
        auto pending = *queue_.take_next();
        if (complete(pending))
            dispatch(*link, std::move(pending));
    }
    if (queue_.empty() && wants_connection_)
        open_more();
    arm();
}

Client::Link* Client::idle_link() noexcept
{
    auto const found =
        std::ranges::find_if(links_, [this](Link const& link) { return is(link, Connection::State::idle); });
    return found != links_.end() ? &*found : nullptr;
}

void Client::open_more()
{
    // the first connection shows whether the endpoint is reachable
    bool const reached = has_connection() && !doubtful_;
    if (auto const now = runtime_->now(); now < open_after_ || (reached && now < more_after_))
        return;
    auto const count = [this](auto which) { return static_cast<std::size_t>(std::ranges::count_if(links_, which)); };
    auto const most = doubtful_ ? std::size_t{1} : std::size_t{config_.connections};
    auto present = count([this](Link const& link) { return link.epoch == endpoint_epoch_; });
    auto connecting = count([this](Link const& link) { return is(link, Connection::State::connecting); });
    for (; connecting < (reached ? queue_.size() : 1) && present < most &&
           links_.size() < std::size_t{2} * config_.connections;
         ++connecting, ++present)
        open_one();
}

std::shared_ptr<Connection> Client::make_connection()
{
    auto const& endpoint = config_.endpoints[endpoint_];
    return std::make_shared<Connection>(
        runtime_, streams_(runtime_, config_, endpoint), name_of(endpoint_), config_.tls.enabled);
}

Instant Client::connect_deadline() const
{
    return runtime_->now() + config_.connect_timeout;
}

void Client::open_one()
{
    auto connection = make_connection();
    auto const deadline = connect_deadline();
    links_.push_back({connection, endpoint_, endpoint_epoch_, deadline});
    Connection::Events events;
    events.ready = if_alive(weak_from_this(), &Client::ready, connection.get(), endpoint_epoch_);
    events.lost = if_alive(weak_from_this(), &Client::lost, connection.get());
    connection->open(deadline, std::move(events));
}

void Client::ready(Connection const* connection, std::uint64_t epoch)
{
    if (epoch != endpoint_epoch_) {
        // the reply for which the old connection was kept has arrived
        if (auto const link = take_out(connection))
            link->connection->close();
        return;
    }
    log_end_of_outage();
    wants_connection_ = false;
    has_worked_ = true;
    failed_in_a_row_ = fatal_in_a_row_ = 0;
    if (!needs_token())
        last_error_ = {};
    if (!doubtful_)
        reachable();
    else if (queue_.empty())
        probe();
    pump();
}

// -- one request --

bool Client::complete(Pending& pending)
{
    auto& request = pending.request;
    if (request.unless_ended != nullptr && request.unless_ended->mark.ended.load(std::memory_order_acquire)) {
        answer_later(
            std::move(pending.handler), {{.error = make_error_code(errc::released), .detail = "the lease is over"}});
        return false;
    }
    if (request.not_after.over(runtime_->now())) {
        answer_later(std::move(pending.handler), not_sent());
        return false;
    }
    auto const complete = std::exchange(request.complete, nullptr);
    if (complete == nullptr || complete(request))
        return true;
    answer_later(std::move(pending.handler), {});
    return false;
}

void Client::dispatch(Link& link, Pending pending)
{
    auto& connection = *link.connection;
    link.place = pending.request.sender.place;
    pending.request.not_after.progressed(runtime_->now());
    // a separate statement, because the call below moves from the request
    auto request = connection.request_text(pending.request, token_);
    auto const reply_bytes = pending.request.reply_bytes;
    connection.start(
        std::move(request), reply_bytes,
        [weak = weak_from_this(), epoch = endpoint_epoch_, sent_token = token_,
         pending = std::move(pending)](Outcome outcome) mutable {
            if (auto const self = weak.lock())
                self->answered(std::move(pending), std::move(outcome), epoch, sent_token);
            else
                std::move(pending.handler)(std::move(outcome));
        });
}

void Client::answered(Pending pending, Outcome outcome, std::uint64_t epoch, std::string const& sent_token)
{
    if (outcome.delivery == Delivery::answered) {
        pending.request.not_after.progressed(runtime_->now());
        if (outcome.status != 200 && refused(pending, outcome, epoch, sent_token))
            return;
        note_answer(pending.request.path, outcome, epoch);
    } else {
        owes_notice_ = true;
        if (outcome.delivery == Delivery::unknown)
            outcome.detail = where() + ": no reply: " + outcome.detail;
    }
    std::move(pending.handler)(std::move(outcome));
}

bool Client::refused(Pending& pending, Outcome& outcome, std::uint64_t epoch, std::string const& sent_token)
{
    auto const error = classify(outcome.status, outcome.body);
    if (error.wants_token && logs_in() && !closed_) {
        if (token_ == sent_token)
            token_.clear();
        if (!std::exchange(pending.again, true)) {
            queue_.put_back(std::move(pending));
            pump_soon();
            return true;
        }
    }
    if (error.another_member)
        switch_on_request(epoch);
    if (error.error == errc::store_unavailable && error.executed == GatewayError::Executed::no) {
        owes_notice_ = true;
        outcome.delivery = Delivery::not_sent;
        outcome.error = error.error;
        outcome.detail = where() + ": " + error.text();
    }
    return false;
}

void Client::note_answer(std::string_view path, Outcome const& outcome, std::uint64_t epoch)
{
    if (outcome.good() && std::exchange(switch_requests_in_a_row_, 0) != 0)
        backoff_.worked();
    if (epoch != endpoint_epoch_ || closed_)
        return;
    auto const now = runtime_->now();
    if (outcome.good() && needs_majority(path)) {
        last_answer_ = now;
        latest_answered_ = std::max(latest_answered_, outcome.since);
        if (now - told_claims_ >= telling_interval) {
            told_claims_ = now;
            queue_.note_progress(now);
        }
    }
    if (std::exchange(doubtful_, false))
        reachable();
}

store::Step<Outcome> send(ClientPtr client, HttpRequest request)
{
    return store::Step<Outcome>(
        [client = std::move(client), request = std::move(request)](OutcomeHandler handler) mutable {
            client->send(std::move(request), std::move(handler));
        });
}

} // namespace tenure::etcd
