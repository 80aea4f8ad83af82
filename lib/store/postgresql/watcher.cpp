// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watcher: LISTEN, the probe of a connection, and marks of ranges.
#include "watcher.hpp"

#include "operations.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tenure::postgresql
{

namespace
{

using namespace std::chrono_literals;

constexpr auto mark_lasts = 30s;
constexpr auto mark_period = 10s;
constexpr auto probe_takes = 1s;
constexpr auto retry_after = 1s;

} // namespace

Watcher::Watcher(ClientPtr client)
    : client_(std::move(client))
    , watched_(client_->shared_runtime())
    , backoff_(
          client_->config()->reconnect_backoff, [runtime = client_->shared_runtime()] { return runtime->random(); })
    , probe_limit_(client_->runtime())
    , pause_(client_->runtime())
    , refresh_(client_->runtime())
{
}

void Watcher::start()
{
    if (client_->config()->listen || !client_->config()->notifications)
        return;
    client_->listen(
        [weak = weak_from_this()] {
            if (auto const self = weak.lock())
                self->use(self->client_->connection());
        },
        [weak = weak_from_this()](std::string const& channel, std::string const&) {
            if (auto const self = weak.lock())
                self->notified(channel);
        });
}

std::unique_ptr<Watch> Watcher::watch(KeyRange const& range, WatchHandler handler)
{
    if (closed_ || !client_->config()->notifications)
        return watched_.add_closed(std::move(handler));
    auto name = waited_name(range);
    auto const* const known = watched_.find(name);
    std::optional<WatchEvent> now;
    if (hears_ == Hears::no)
        now = WatchEvent::unavailable;
    else if (known != nullptr && known->in_force)
        now = WatchEvent::in_force;
    auto watch = watched_.add(std::move(name), std::move(handler), now);
    if (!now)
        begin_soon();
    if (!refresh_.pending())
        refresh_.after(mark_period, weak_from_this(), &Watcher::refresh);
    return watch;
}

void Watcher::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    for (auto* const timer : {&probe_limit_, &pause_, &refresh_})
        timer->cancel();
    line_ = nullptr;
    if (auto const own = std::exchange(own_, nullptr))
        own->close({make_error_code(errc::closed), "the store was closed", false});
    watched_.clear();
}

// -- the connection --

void Watcher::begin_soon()
{
    if (!closed_)
        begin_.post(client_->runtime(), weak_from_this(), &Watcher::begin);
}

void Watcher::begin()
{
    if (closed_ || watched_.entries().empty() || pause_.pending())
        return;
    if (line_ == nullptr)
        connect();
    else if (hears_ == Hears::unknown)
        probe();
    else if (hears_ == Hears::yes)
        if (auto names = names_if([](Watched const& watched) { return !watched.asked; }); !names.empty())
            listen(std::move(names));
}

void Watcher::connect()
{
    if (!client_->config()->listen) {
        if (auto const shared = client_->connection())
            use(shared);
        else
            client_->want_connection();
        return;
    }
    if (own_ != nullptr)
        return;
    own_ = std::make_shared<Connection>(client_->shared_runtime(), client_->config(), client_->config()->listen);
    Connection::Events events;
    events.ready = [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->use(self->own_);
    };
    events.lost = [weak = weak_from_this()](net::StreamError const& error) {
        auto const self = weak.lock();
        if (self == nullptr || self->closed_)
            return;
        self->own_ = nullptr;
        if (self->line_ == nullptr)
            self->client_->runtime().log(
                LogLevel::info, self->client_->where() + ": no connection for wake-ups: " + error.text());
        self->pause_.after(self->backoff_.after_failure(), self->weak_from_this(), &Watcher::begin_soon);
        self->use(nullptr);
    };
    events.notified = [weak = weak_from_this()](std::string const& channel, std::string const&) {
        if (auto const self = weak.lock())
            self->notified(channel);
    };
    own_->open(std::move(events));
}

void Watcher::use(ConnectionPtr line)
{
    if (closed_ || line == line_)
        return;
    line_ = std::move(line);
    hears_ = Hears::unknown;
    probe_limit_.cancel();
    channels_.clear();
    for (auto const& name : names_if([](Watched const& watched) { return watched.asked; }))
        interrupt(name);
    begin_soon();
}

void Watcher::probe()
{
    if (line_->pooled()) {
        cannot_hear("a pooler stands between");
        return;
    }
    hears_ = Hears::probing;
    probe_channel_ = "tenure_probe_" + std::to_string(client_->runtime().random());
    probe_limit_.after(probe_takes, weak_from_this(), [](Watcher& self) { self.cannot_hear("a probe did not come back"); });
    Transaction listening;
    listening.statements.push_back({"LISTEN " + probe_channel_});
    listening.handler = [weak = weak_from_this(), channel = probe_channel_](TransactionReply&& reply) {
        auto const self = weak.lock();
        if (self == nullptr || self->probe_channel_ != channel || !reply.results.size())
            return;
        Query query;
        query.statement = {"SELECT pg_notify($1, '')", {channel}};
        query.not_after = self->client_->runtime().now() + probe_takes;
        query.alone = true;
        self->client_->send(std::move(query), [](Outcome const&) {});
    };
    line_->send(std::move(listening));
}

void Watcher::cannot_hear(std::string const& why)
{
    hears_ = Hears::no;
    probe_limit_.cancel();
    client_->runtime().log(
        LogLevel::info,
        client_->where() + ": no wake-ups, so waiters poll: " + why +
            "; name the server itself in the URL: listen=HOST:PORT");
    for (auto const& name : names_if([](Watched const&) { return true; }))
        watched_.notify(name, WatchEvent::unavailable);
}

// -- ranges --

Watcher::Names Watcher::names_if(bool (*wanted)(Watched const&)) const
{
    Names names;
    for (auto const& [name, entry] : watched_.entries())
        if (wanted(entry.state))
            names.push_back(name);
    return names;
}

void Watcher::listen(Names names)
{
    for (auto const& name : names)
        watched_.find(name)->asked = true;
    Transaction listening;
    listening.statements.push_back({client_->sql("SELECT unnest(tenure.listen($1))"), {array_of(names)}});
    listening.handler = [weak = weak_from_this(), line = line_.get(), names](TransactionReply&& reply) mutable {
        auto const self = weak.lock();
        if (self == nullptr || self->line_.get() != line)
            return;
        if (reply.results.empty()) {
            self->pause_.after(retry_after, weak, &Watcher::begin_soon);
            for (auto const& name : names)
                self->interrupt(name);
            return;
        }
        for (int row = 0; row < reply.results[0].rows(); ++row)
            self->channels_[std::string(reply.results[0].text(0, row))] = names[static_cast<std::size_t>(row)];
        self->mark(std::move(names));
    };
    line_->send(std::move(listening));
}

void Watcher::mark(Names names)
{
    Query query;
    query.statement.text = client_->sql("SELECT tenure.wait($1, $2)");
    query.statement.values = {
        array_of(names), std::to_string(std::chrono::milliseconds(mark_lasts).count())};
    query.not_after = client_->runtime().now() + mark_period;
    query.alone = true;
    client_->send(std::move(query), [weak = weak_from_this(), line = line_.get(), names](Outcome&& outcome) {
        auto const self = weak.lock();
        if (self == nullptr || self->closed_ || self->line_.get() != line)
            return;
        bool const marked = std::holds_alternative<Answer>(outcome);
        if (!marked)
            self->pause_.after(retry_after, weak, &Watcher::begin_soon);
        for (auto const& name : names)
            if (auto* const watched = self->watched_.find(name); watched != nullptr && !marked)
                self->interrupt(name);
            else if (watched != nullptr && !std::exchange(watched->in_force, true))
                self->watched_.notify(name, WatchEvent::in_force);
    });
}

void Watcher::interrupt(std::string const& name)
{
    auto* const watched = watched_.find(name);
    if (watched == nullptr)
        return;
    watched->asked = false;
    if (std::exchange(watched->in_force, false))
        watched_.notify(name, WatchEvent::interrupted);
}

void Watcher::notified(std::string const& channel)
{
    if (channel == probe_channel_ && hears_ == Hears::probing) {
        hears_ = Hears::yes;
        probe_limit_.cancel();
        begin_soon();
    } else if (auto const found = channels_.find(channel); found != channels_.end()) {
        watched_.notify(std::string(found->second), WatchEvent::hint);
    }
}

void Watcher::refresh()
{
    auto const now = client_->runtime().now();
    std::erase_if(watched_.entries(), [now](auto const& entry) { return entry.second.idle(now); });
    Transaction forgetting;
    std::erase_if(channels_, [&](auto const& entry) {
        bool const gone = watched_.find(entry.second) == nullptr;
        if (gone)
            forgetting.statements.push_back({"UNLISTEN " + entry.first});
        return gone;
    });
    if (line_ != nullptr && !forgetting.statements.empty()) {
        forgetting.handler = [](TransactionReply&&) {};
        line_->send(std::move(forgetting));
    }
    if (auto names = names_if([](Watched const& watched) { return watched.in_force; }); !names.empty())
        mark(std::move(names));
    if (!watched_.entries().empty())
        refresh_.after(mark_period, weak_from_this(), &Watcher::refresh);
}

} // namespace tenure::postgresql
