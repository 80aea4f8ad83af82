// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watcher: LISTEN, the probe of a connection, and marks of ranges.
#include "watcher.hpp"

#include "operations.hpp"

#include <tenure/errc.hpp>

#include <chrono>

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
    , watched_(client_->runtime())
    , backoff_(client_->config()->reconnect_backoff, [runtime = client_->runtime()] { return runtime->random(); })
    , probe_limit_(*client_->runtime())
    , pause_(*client_->runtime())
    , refresh_(*client_->runtime())
{
}

void Watcher::start()
{
    if (client_->config()->listen || !client_->config()->notifications)
        return;
    client_->listen([weak = weak_from_this()](std::string const* channel) {
        auto const self = weak.lock();
        if (self != nullptr && channel != nullptr)
            self->notified(*channel);
        else if (self != nullptr)
            self->use(self->client_->connection());
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
        begin_.post(*client_->runtime(), weak_from_this(), &Watcher::begin);
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
        if (auto const names = names_if([](Watched const& watched) { return !watched.asked; }); !names.empty())
            listen(names);
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
    own_ = std::make_shared<Connection>(client_->runtime(), client_->config(), client_->config()->listen);
    own_->open(weak_from_this());
}

void Watcher::on_lost(Connection&, net::StreamError const& error)
{
    if (line_ == nullptr)
        client_->runtime()->log(LogLevel::info, client_->where() + ": no connection for wake-ups: " + error.text());
    own_ = nullptr;
    pause_.after(backoff_.after_failure(), weak_from_this(), &Watcher::begin_soon);
    use(nullptr);
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
    probe_channel_ = "tenure_probe_" + std::to_string(client_->runtime()->random());
    probe_limit_.after(
        probe_takes, weak_from_this(), [](Watcher& self) { self.cannot_hear("a probe did not come back"); });
    line_->send({{"LISTEN " + probe_channel_}}, [weak = weak_from_this(), channel = probe_channel_](auto&& reply) {
        auto const self = weak.lock();
        if (self == nullptr || self->probe_channel_ != channel || reply.results.empty())
            return;
        auto query =
            self->client_->query("SELECT pg_notify($1, '')", {channel}, self->client_->runtime()->now() + probe_takes);
        query.alone = true;
        self->client_->send(std::move(query), [](Outcome const&) {});
    });
}

void Watcher::cannot_hear(std::string const& why)
{
    hears_ = Hears::no;
    probe_limit_.cancel();
    client_->runtime()->log(
        LogLevel::info, client_->where() + ": no wake-ups, so waiters poll: " + why +
                            "; name the server itself in the URL: listen=HOST:PORT");
    for (auto const& name : names_if([](Watched const&) { return true; }))
        watched_.notify(name, WatchEvent::unavailable);
}

// -- ranges --

Watcher::Names Watcher::names_if(bool (*wanted)(Watched const&))
{
    Names names;
    for (auto const& [name, entry] : watched_.entries())
        if (wanted(entry.state))
            names.push_back(name);
    return names;
}

void Watcher::listen(Names const& names)
{
    for (auto const& name : names)
        watched_.find(name)->asked = true;
    Statement statement{client_->sql("SELECT unnest(tenure.listen($1))"), {array_of(names)}};
    line_->send({std::move(statement)}, [weak = weak_from_this(), line = line_, names](auto&& reply) {
        auto const self = weak.lock();
        if (self == nullptr || self->line_ != line)
            return;
        if (reply.results.empty()) {
            self->retry(names);
            return;
        }
        for (int row = 0; row < reply.results[0].rows(); ++row)
            self->channels_[std::string(reply.results[0].text(0, row))] = names[static_cast<std::size_t>(row)];
        self->mark(names);
    });
}

void Watcher::mark(Names const& names)
{
    auto query = client_->query(
        "SELECT tenure.wait($1, $2)", {array_of(names), std::to_string(std::chrono::milliseconds(mark_lasts).count())},
        client_->runtime()->now() + mark_period);
    query.alone = true;
    client_->send(std::move(query), [weak = weak_from_this(), line = line_, names](Outcome&& outcome) {
        auto const self = weak.lock();
        if (self == nullptr || self->closed_ || self->line_ != line)
            return;
        if (!std::holds_alternative<Answer>(outcome)) {
            self->retry(names);
            return;
        }
        for (auto const& name : names)
            if (auto* const watched = self->watched_.find(name); watched && !std::exchange(watched->in_force, true))
                self->watched_.notify(name, WatchEvent::in_force);
    });
}

/** Listens again in a moment. */
void Watcher::retry(Names const& names)
{
    pause_.after(retry_after, weak_from_this(), &Watcher::begin_soon);
    for (auto const& name : names)
        interrupt(name);
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
    auto const now = client_->runtime()->now();
    std::erase_if(watched_.entries(), [now](auto const& entry) { return entry.second.idle(now); });
    std::vector<Statement> forgetting;
    std::erase_if(channels_, [&](auto const& entry) {
        bool const gone = watched_.find(entry.second) == nullptr;
        if (gone)
            forgetting.push_back({"UNLISTEN " + entry.first});
        return gone;
    });
    if (line_ != nullptr && !forgetting.empty())
        line_->send(std::move(forgetting), [](TransactionReply const&) {});
    if (auto const names = names_if([](Watched const& watched) { return watched.in_force; }); !names.empty())
        mark(names);
    if (!watched_.entries().empty())
        refresh_.after(mark_period, weak_from_this(), &Watcher::refresh);
}

} // namespace tenure::postgresql
