// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: its queue, its connections, endpoints, and the login.
#include "client.hpp"

#include "exchange.hpp"
#include "messages.hpp"

#include <net/endpoint.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <exception>
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

} // namespace

Client::Client(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams, std::string name)
    : runtime_(std::move(runtime))
    , config_(std::move(config))
    , streams_(std::move(streams))
    , name_(std::move(name))
    , backoff_(config_.reconnect_backoff, [runtime = runtime_] { return runtime->random(); })
    // a random one, so that programs that start together do not all use the first endpoint
    , endpoint_(runtime_->random() % config_.endpoints.size())
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

Outcome Client::not_sent() const
{
    auto detail = last_error_.code ? name_ + ": " + last_error_.text() : std::string();
    return {.error = last_error_.code, .detail = std::move(detail), .fatal = last_error_.fatal};
}

void Client::answer_later(OutcomeHandler handler, Outcome outcome)
{
    runtime_->post([handler = std::move(handler), outcome = std::move(outcome)]() mutable {
        std::move(handler)(std::move(outcome));
    });
}

void Client::send(HttpRequest request, OutcomeHandler handler)
{
    if (closed_ || (request.only_if_connected && !has_connection())) {
        auto outcome = not_sent();
        if (!outcome.error) {
            outcome.error = errc::store_unavailable;
            outcome.detail = where() + ": not connected";
        }
        answer_later(std::move(handler), std::move(outcome));
        wants_connection_ = true;
        pump_soon();
        return;
    }
    auto const place = request.urgent ? queue_.begin() : queue_.end();
    queue_.insert(place, {std::move(request), std::move(handler)});
    pump();
}

bool Client::has_connection() const noexcept
{
    return std::ranges::any_of(links_, [this](Link const& link) {
        return is(link, Connection::State::idle) || is(link, Connection::State::busy);
    });
}

// -- from the queue to a connection --

void Client::pump_soon()
{
    pump_.post(*runtime_, weak_from_this(), &Client::pump);
}

void Client::pump()
{
    if (closed_)
        return;
    drop_overdue();
    while (!queue_.empty()) {
        auto* const connection = idle_connection();
        if (connection == nullptr) {
            open_more();
            break;
        }
        if (needs_token()) {
            if (login_epoch_ != endpoint_epoch_)
                authenticate(*connection);
            break;
        }
        auto pending = std::move(queue_.front());
        queue_.pop_front();
        dispatch(*connection, std::move(pending));
    }
    if (queue_.empty() && wants_connection_)
        open_more();
    arm();
}

void Client::drop_overdue()
{
    auto const now = runtime_->now();
    std::erase_if(queue_, [&](Pending& pending) {
        bool const ended = pending.request.unless_ended != nullptr &&
                           pending.request.unless_ended->mark.ended.load(std::memory_order_acquire);
        if (!ended && !pending.request.not_after.over(now))
            return false;
        auto outcome = not_sent();
        if (ended)
            outcome = {.error = make_error_code(errc::released), .detail = "the lease is over"};
        answer_later(std::move(pending.handler), std::move(outcome));
        return true;
    });
}

Connection* Client::idle_connection() const noexcept
{
    auto const found =
        std::ranges::find_if(links_, [this](Link const& link) { return is(link, Connection::State::idle); });
    return found != links_.end() ? found->connection.get() : nullptr;
}

void Client::open_more()
{
    // the first connection shows whether the endpoint is reachable
    bool const reached = has_connection();
    if (auto const now = runtime_->now(); now < open_after_ || (reached && now < more_after_))
        return;
    auto const count = [this](auto which) { return static_cast<std::size_t>(std::ranges::count_if(links_, which)); };
    auto present = count([this](Link const& link) { return link.epoch == endpoint_epoch_; });
    auto connecting = count([this](Link const& link) { return is(link, Connection::State::connecting); });
    for (; connecting < (reached ? queue_.size() : 1) && present < config_.connections &&
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
    events.ready = [weak = weak_from_this(), raw = connection.get(), epoch = endpoint_epoch_] {
        auto const self = weak.lock();
        if (!self)
            return;
        if (epoch != self->endpoint_epoch_) {
            // the reply for which the old connection was kept has arrived
            if (auto const link = self->take_out(raw))
                link->connection->close();
            return;
        }
        if (!std::exchange(self->reached_, true) && self->reachable_)
            self->runtime_->post([weak] {
                if (auto const alive = weak.lock(); alive && alive->reachable_)
                    alive->reachable_();
            });
        self->log_end_of_outage();
        self->wants_connection_ = false;
        self->has_worked_ = true;
        self->failed_in_a_row_ = self->fatal_in_a_row_ = 0;
        if (!self->needs_token())
            self->last_error_ = {};
        self->pump();
    };
    events.lost = [weak = weak_from_this(), raw = connection.get()](net::StreamError const& error) {
        if (auto const self = weak.lock())
            self->lost(raw, error);
    };
    connection->open(deadline, std::move(events));
}

void Client::dispatch(Connection& connection, Pending pending)
{
    // a separate statement, because the call below moves from the request
    auto request = connection.request_text(pending.request, token_);
    auto const reply_bytes = pending.request.reply_bytes;
    connection.start(
        std::move(request), reply_bytes,
        [weak = weak_from_this(), epoch = endpoint_epoch_, sent_token = token_,
         pending = std::move(pending)](Outcome outcome) mutable {
            auto const self = weak.lock();
            if (!self) {
                std::move(pending.handler)(std::move(outcome));
                return;
            }
            if (outcome.delivery == Delivery::unknown)
                outcome.detail = self->where() + ": no reply: " + outcome.detail;
            if (outcome.good() && std::exchange(self->switch_requests_in_a_row_, 0) != 0)
                self->backoff_.worked();
            if (outcome.delivery == Delivery::answered && outcome.status != 200) {
                auto const error = classify(outcome.status, outcome.body);
                if (error.wants_token && self->logs_in() && !self->closed_) {
                    if (self->token_ == sent_token)
                        self->token_.clear();
                    if (!std::exchange(pending.again, true)) {
                        self->queue_.push_front(std::move(pending));
                        self->pump_soon();
                        return;
                    }
                }
                if (error.another_member)
                    self->switch_on_request(epoch);
                if (error.error == errc::store_unavailable && error.executed == GatewayError::Executed::no) {
                    outcome.delivery = Delivery::not_sent;
                    outcome.error = error.error;
                    outcome.detail = self->where() + ": " + error.text();
                }
            }
            std::move(pending.handler)(std::move(outcome));
        });
}

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
        fail_single_attempts();
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
    more_after_ = {};
    wants_connection_ = wants_connection_ || shortest_ttl_ > 0ms;
    for (auto const& link : std::vector(links_))
        if (link.connection->state() != Connection::State::busy)
            link.connection->close();
    std::erase_if(links_, [](Link const& link) { return link.connection->state() == Connection::State::closed; });
    give_up_the_oldest();
    if (endpoint_switched_)
        endpoint_switched_();
    pump_soon();
}

void Client::give_up_the_oldest()
{
    // A single endpoint is only slow. If two members have not answered, a connection to a third must be possible.
    if (config_.endpoints.size() == 1 || links_.size() <= config_.connections)
        return;
    auto const surplus = static_cast<std::ptrdiff_t>(links_.size() - config_.connections);
    for (auto const& link : std::vector(links_.begin(), links_.begin() + surplus))
        link.connection->give_up(
            {make_error_code(errc::store_unavailable), name_of(link.endpoint) + " does not answer", false});
}

void Client::look_for_silence()
{
    auto const now = runtime_->now();
    auto const patience = shortest_ttl_ > 0ms
                              ? std::clamp<Clock::duration>(shortest_ttl_ / 6, shortest_patience, longest_patience)
                              : Clock::duration(longest_patience);
    bool silent = false;
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
        auto const age = now - link.connection->busy_since();
        silent = silent || (link.epoch == endpoint_epoch_ && age >= patience);
        if (age >= longest_wait)
            link.connection->give_up({make_error_code(errc::store_unavailable), "silent for ten seconds", false});
    }
    if (!silent)
        return;
    last_error_ = {make_error_code(errc::store_unavailable), name_of(endpoint_) + " does not answer", false};
    switch_endpoint(endpoint_epoch_);
}

// -- logging in --

void Client::authenticate(Connection& connection)
{
    login_epoch_ = endpoint_epoch_;
    try {
        if (config_.credentials) {
            auto now = config_.credentials();
            config_.username = std::move(now.username);
            config_.password = std::move(now.password);
        }
    } catch (std::exception const& thrown) {
        login_epoch_.reset();
        last_error_ = {
            make_error_code(errc::authentication_failed),
            std::string("the credentials callback of the config failed: ") + thrown.what(), false};
        open_after_ = runtime_->now() + backoff_.after_failure();
        // the caller iterates over the connections, which this changes
        runtime_->post([weak = weak_from_this(), epoch = endpoint_epoch_] {
            if (auto const self = weak.lock())
                self->switch_endpoint(epoch);
        });
        return;
    }
    HttpRequest const http_request{"auth/authenticate", authenticate_body(config_.username, config_.password), {}};
    connection.start(
        connection.request_text(http_request, {}), http_request.reply_bytes,
        [weak = weak_from_this(), epoch = endpoint_epoch_](Outcome outcome) {
            if (auto const self = weak.lock())
                self->authenticated(epoch, std::move(outcome));
        });
}

void Client::authenticated(std::uint64_t epoch, Outcome outcome)
{
    if (login_epoch_ == epoch)
        login_epoch_.reset();
    if (closed_)
        return;
    if (outcome.good()) {
        if (auto token = parse_token(outcome.body)) {
            token_ = std::move(*token);
            last_error_ = {};
            pump_soon();
            return;
        }
    }
    if (epoch != endpoint_epoch_)
        return; // the client has switched to another member
    net::StreamError why{outcome.error, outcome.detail, false};
    if (outcome.delivery == Delivery::answered) {
        auto const error = classify(outcome.status, outcome.body);
        why = {error.error, "logging in as " + config_.username + ": " + error.text(), error.fatal};
        if (outcome.status == 200)
            why = {make_error_code(errc::protocol_error), "logging in: malformed reply", false};
    }
    last_error_ = std::move(why);
    // requests are not tried without a token; the next login waits for its pause
    open_after_ = runtime_->now() + backoff_.after_failure();
    if (last_error_.fatal)
        fail_queue();
    switch_endpoint(endpoint_epoch_);
}

void Client::fail_single_attempts()
{
    std::erase_if(queue_, [this](Pending& pending) {
        if (!pending.request.not_after.one_attempt())
            return false;
        answer_later(std::move(pending.handler), not_sent());
        return true;
    });
}

void Client::fail_queue()
{
    for (auto& pending : std::exchange(queue_, {}))
        answer_later(std::move(pending.handler), not_sent());
}

// -- time --

void Client::arm()
{
    auto when = Instant::max();
    auto const now = runtime_->now();
    for (auto const& pending : queue_)
        when = std::min(when, pending.request.not_after.at());
    if ((!queue_.empty() || wants_connection_) && open_after_ > now)
        when = std::min(when, open_after_);
    if (!queue_.empty() && more_after_ > now)
        when = std::min(when, more_after_);
    for (auto const& link : links_)
        if (link.connection->state() == Connection::State::busy)
            when = std::min(when, now + shortest_patience);
        else if (link.connection->state() == Connection::State::connecting)
            when = std::min(when, link.connect_by);
    if (when == Instant::max() || (timer_.pending() && timer_at_ <= when))
        return;
    timer_at_ = when;
    timer_.at(when, weak_from_this(), &Client::tick);
}

void Client::tick()
{
    look_for_silence();
    pump();
}

store::Step<Outcome> send(ClientPtr client, HttpRequest request)
{
    return store::Step<Outcome>(
        [client = std::move(client), request = std::move(request)](OutcomeHandler handler) mutable {
            client->send(std::move(request), std::move(handler));
        });
}

} // namespace tenure::etcd
