// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// FailoverListener: a subscription at one of the sentinels.
#include "failover_listener.hpp"

#include "store/redis/wire/server_error.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::redis
{

namespace
{

constexpr auto channel = "+switch-master";
constexpr std::chrono::seconds patience{10};

} // namespace

FailoverListener::FailoverListener(
    std::shared_ptr<Runtime> runtime, SentinelConnect connect, std::string master_name, std::string store_name,
    Handlers handlers)
    : runtime_(std::move(runtime))
    , connect_(std::move(connect))
    , master_name_(std::move(master_name))
    , store_name_(std::move(store_name))
    , handlers_(std::move(handlers))
{
}

FailoverListener::~FailoverListener()
{
    close();
}

void FailoverListener::listen(
    std::vector<ServerAddress> answered, std::vector<ServerAddress> const& silent,
    std::optional<ServerAddress> const& master)
{
    if (closed_)
        return;
    std::erase_if(answered, [this](ServerAddress const& sentinel) {
        return std::ranges::find(refused_by_, sentinel) != refused_by_.end();
    });
    auto const elsewhere = [&master](ServerAddress const& sentinel) {
        return !master || sentinel.host != master->host;
    };
    bool const has_choice = std::ranges::any_of(answered, elsewhere);
    if (has_choice)
        std::erase_if(answered, [&](ServerAddress const& sentinel) { return !elsewhere(sentinel); });
    bool const does_well = connection_ != nullptr && connection_->state() != ConnectionState::backing_off &&
                           std::ranges::find(silent, sentinel_) == silent.end() &&
                           (elsewhere(sentinel_) || !has_choice);
    if (does_well || answered.empty())
        return;
    drop();
    // a random one, so that not all programs listen to the same sentinel
    open(answered[runtime_->random() % answered.size()]);
}

void FailoverListener::close() noexcept
{
    // the destructor runs on any thread, and must have nothing left to do
    if (closed_)
        return;
    closed_ = true;
    drop();
    handlers_ = {};
}

void FailoverListener::open(ServerAddress const& sentinel)
{
    sentinel_ = sentinel;
    loss_reported_ = false;
    auto const number = ++connection_number_;
    connection_ = connect_(sentinel);
    connection_->on_state([weak = weak_from_this(), number](ConnectionState state) {
        if (auto const self = weak.lock(); self && number == self->connection_number_)
            self->state_changed(state);
    });
    connection_->on_push([weak = weak_from_this(), number](resp::Value const& push) {
        if (auto const self = weak.lock(); self && number == self->connection_number_)
            self->pushed(push);
    });
    connection_->open();
}

void FailoverListener::state_changed(ConnectionState state)
{
    in_force_ = false;
    if (state == ConnectionState::ready) {
        loss_reported_ = false;
        subscribe();
    } else if (state == ConnectionState::failed) {
        drop();
    }
    // further failed attempts of this connection are no news
    bool const lost = state == ConnectionState::failed || state == ConnectionState::backing_off;
    if (lost && !std::exchange(loss_reported_, true) && handlers_.lost)
        handlers_.lost();
}

void FailoverListener::pushed(resp::Value const& push)
{
    auto const parts = push.elements();
    if (parts.size() != 3 || parts[0].as_string() != "message")
        return;
    auto const switched = read_switched_master(parts[2].as_string());
    if (switched && switched->name == master_name_ && handlers_.switched)
        handlers_.switched(switched->to);
}

void FailoverListener::subscribe()
{
    connection_->execute(
        resp::Command("SUBSCRIBE", channel), runtime_->now() + patience,
        [weak = weak_from_this(), number = connection_number_](Outcome const& outcome) {
            if (auto const self = weak.lock(); self && number == self->connection_number_)
                self->subscribed(outcome);
        });
}

void FailoverListener::subscribed(Outcome const& outcome)
{
    if (outcome.delivery != Delivery::answered)
        return; // the next connection subscribes again
    if (!outcome.reply.is_error()) {
        in_force_ = true;
        if (auto const handler = handlers_.in_force)
            handler();
        return;
    }
    refused_by_.push_back(sentinel_);
    if (!std::exchange(refusal_logged_, true))
        runtime_->log(
            LogLevel::warning, store_name_ + ": sentinel " + to_string(sentinel_) + " refuses subscriptions to " +
                                   channel +
                                   ", so a new master is noticed later; grant the sentinels' user +subscribe and &" +
                                   channel + " (" + classify(outcome.reply.as_string()).words + ")");
    drop();
    if (auto const handler = handlers_.lost)
        handler();
}

void FailoverListener::drop() noexcept
{
    ++connection_number_;
    in_force_ = false;
    if (auto const connection = std::exchange(connection_, nullptr))
        connection->close();
}

} // namespace tenure::redis
