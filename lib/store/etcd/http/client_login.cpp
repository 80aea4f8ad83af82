// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Client: the login.
#include "client.hpp"

#include "messages.hpp"

#include <runtime/if_alive.hpp>
#include <tenure/errc.hpp>

#include <exception>
#include <utility>

namespace tenure::etcd
{

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
        runtime_->post(if_alive(weak_from_this(), &Client::switch_endpoint, endpoint_epoch_));
        return;
    }
    HttpRequest const http_request{"auth/authenticate", authenticate_body(config_.username, config_.password), {}};
    connection.start(
        connection.request_text(http_request, {}), http_request.reply_bytes,
        if_alive(weak_from_this(), &Client::authenticated, endpoint_epoch_));
}

void Client::authenticated(std::uint64_t epoch, Outcome outcome)
{
    if (login_epoch_ == epoch)
        login_epoch_.reset();
    if (closed_)
        return;
    if (outcome.good()) {
        if (epoch == endpoint_epoch_)
            last_answer_ = runtime_->now();
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

} // namespace tenure::etcd
