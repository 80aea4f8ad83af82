// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watcher: streams of watches, and their restarts.
#include "watcher.hpp"

#include "steps.hpp"
#include "store/etcd/http/exchange.hpp"
#include "store/etcd/http/limits.hpp"

#include <runtime/if_alive.hpp>
#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// with more streams the small ones are joined
constexpr std::size_t most_streams = 8;
/// interval of the removal of ranges without watchers
constexpr auto period = 10s;

/** The longest request that creates this watch. */
std::size_t create_bytes(Keys const& name)
{
    constexpr auto longest = std::numeric_limits<std::int64_t>::max();
    return watch_body(longest, name, static_cast<std::uint64_t>(longest)).size();
}

} // namespace

Watcher::Watcher(ClusterPtr cluster)
    : cluster_(std::move(cluster))
    , backoff_(
          cluster_->client->config().reconnect_backoff,
          [runtime = cluster_->client->shared_runtime()] { return runtime->random(); })
    , watched_(cluster_->client->shared_runtime())
    , pause_(cluster_->runtime())
    , sweep_(cluster_->runtime())
{
}

Watcher::~Watcher()
{
    close();
}

void Watcher::start()
{
    // the previous endpoint may be cut off from the cluster
    cluster_->client->on_endpoint_switch(if_alive(weak_from_this(), &Watcher::join_all));
}

std::unique_ptr<Watch> Watcher::watch(KeyRange const& range, Handler handler)
{
    if (closed_)
        return watched_.add_closed(std::move(handler));
    auto name = whole(range);
    auto const* const known = watched_.find(name);
    std::optional<WatchEvent> now;
    if (known != nullptr && known->in_force)
        now = WatchEvent::in_force;
    else if (known != nullptr && known->refused)
        now = WatchEvent::unavailable;
    else if (known == nullptr || known->stream == 0)
        begin_soon();
    if (range.shares)
        cluster_->lines.watch(name);
    auto watch = watched_.add(std::move(name), std::move(handler), now);
    if (!sweep_.pending())
        sweep_.after(period, weak_from_this(), &Watcher::sweep);
    return watch;
}

void Watcher::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    pause_.cancel();
    sweep_.cancel();
    drop_all();
    watched_.clear();
}

// -- streams --

void Watcher::begin_soon()
{
    if (!closed_ && !pause_.pending())
        begin_.post(cluster_->runtime(), weak_from_this(), &Watcher::begin);
}

void Watcher::begin()
{
    if (closed_)
        return;
    if (streams_.size() >= most_streams)
        drop_small();
    std::vector<Keys> names;
    std::size_t bytes = 0;
    for (auto const& [name, entry] : watched_.entries()) {
        if (entry.state.refused || entry.state.stream != 0)
            continue;
        auto const more = create_bytes(name);
        if (!names.empty() && bytes + more > most_watch_bytes)
            begin_stream(std::exchange(names, {}), std::exchange(bytes, 0));
        names.push_back(name);
        bytes += more;
    }
    if (!names.empty())
        begin_stream(std::move(names), bytes);
}

void Watcher::begin_stream(std::vector<Keys> names, std::size_t bytes)
{
    auto const number = ++last_stream_;
    for (auto const& name : names)
        watched_.find(name)->stream = number;
    streams_.try_emplace(number, cluster_->runtime(), std::move(names), bytes);
    learn_revision(number);
}

void Watcher::drop_small()
{
    std::vector<std::uint64_t> small;
    for (auto const& [number, stream] : streams_)
        if (stream.bytes < most_watch_bytes / 2)
            small.push_back(number);
    for (auto const number : small) {
        for (auto const& name : streams_.at(number).names)
            if (auto* const watched = in_stream(name, number))
                watched->stream = 0;
        drop(number);
    }
}

void Watcher::learn_revision(std::uint64_t number)
{
    auto const& name = streams_.at(number).names.front();
    HttpRequest http_request{"kv/range", range_body(name, {1, true}), cluster_->runtime().now() + 5s};
    cluster_->client->send(std::move(http_request), if_alive(weak_from_this(), &Watcher::revision_learned, number));
}

void Watcher::revision_learned(std::uint64_t number, Outcome outcome)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto const reply = outcome.good() ? parse_range(outcome.body) : std::nullopt;
    if (reply) {
        for (auto const& name : found->second.names)
            if (auto* const watched = watched_.find(name); watched != nullptr && watched->next_revision == 0)
                watched->next_revision = reply->header.revision + 1;
        connect(number);
        return;
    }
    bool const forbidden = outcome.delivery == Delivery::answered &&
                           classify(outcome.status, outcome.body).error == errc::permission_denied;
    auto const why =
        outcome.delivery == Delivery::answered ? classify(outcome.status, outcome.body).text() : outcome.detail;
    if (forbidden)
        refuse(Keys(found->second.names.front()), why);
    broken(number, why);
}

void Watcher::connect(std::uint64_t number)
{
    auto& stream = streams_.at(number);
    auto const deadline = cluster_->client->connect_deadline();
    stream.connection = cluster_->client->make_connection();
    stream.limit.at(deadline, weak_from_this(), [number](Watcher& self) {
        self.broken(number, "no connection within the time limit");
    });
    Connection::Events events;
    events.ready = if_alive(weak_from_this(), &Watcher::connected, number);
    events.lost = if_alive(weak_from_this(), [number](Watcher& self, net::StreamError const& error) {
        self.broken(number, error.text(), error.code == errc::protocol_error ? Fault::useless : Fault::lost);
    });
    auto const connection = stream.connection;
    connection->open(deadline, std::move(events));
}

void Watcher::connected(std::uint64_t number)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto& stream = found->second;
    stream.limit.cancel();
    HttpRequest http_request;
    http_request.path = "watch";
    std::int64_t id = 0;
    for (auto const& name : stream.names) {
        ++id;
        if (auto const* const watched = in_stream(name, number))
            http_request.body += watch_body(id, name, watched->next_revision);
    }
    // a part that the gateway has not read when the first watch is confirmed must not be discarded
    if (http_request.body.size() > certainly_read)
        http_request.body.append(never_discarded, ' ');
    auto const connection = stream.connection;
    connection->start_stream(
        http_request, cluster_->client->token(), if_alive(weak_from_this(), &Watcher::on_line, number));
}

void Watcher::on_line(std::uint64_t number, std::string_view line)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto const reply = parse_watch(line);
    if (!reply || reply->failed) {
        if (reply)
            broken(number, classify(500, line).text());
        else
            broken(number, "malformed line of a watch", Fault::useless);
        return;
    }
    auto const& names = found->second.names;
    if (reply->cancelled && reply->watch_id < 1) {
        // 3.4.23 and newer do not name the refused watch
        look_for_refused(names);
        broken(number, reply->cancel_reason, Fault::useless);
        return;
    }
    if (reply->watch_id < 1 || reply->watch_id > static_cast<std::int64_t>(names.size()))
        return;
    auto const name = names[static_cast<std::size_t>(reply->watch_id - 1)];
    auto* const watched = in_stream(name, number);
    if (watched == nullptr)
        return;
    if (reply->cancelled) {
        cancelled(name, reply->cancel_reason, reply->compacted_before != 0);
        return;
    }
    if (!reply->deleted.empty()) {
        watched->next_revision = std::max(watched->next_revision, reply->header.revision + 1);
        auto event = WatchEvent::hint;
        if (cluster_->lines.watches(name)) {
            bool const ours = cluster_->lines.ended(name, reply->deleted, *cluster_->leases);
            event = ours ? WatchEvent::our_turn : WatchEvent::others_turn;
        }
        watched_.notify(name, event);
    } else if (reply->created && !std::exchange(watched->in_force, true)) {
        watched_.notify(name, WatchEvent::in_force);
    }
}

/** A range that may not be watched may not be read either. */
void Watcher::look_for_refused(std::vector<Keys> const& names)
{
    for (auto const& name : names) {
        HttpRequest http_request{"kv/range", range_body(name, {1, true}), cluster_->runtime().now() + 5s};
        cluster_->client->send(std::move(http_request), [weak = weak_from_this(), name](Outcome const& outcome) {
            auto const self = weak.lock();
            if (self == nullptr || self->closed_ || outcome.delivery != Delivery::answered || outcome.good())
                return;
            if (auto const error = classify(outcome.status, outcome.body); error.error == errc::permission_denied)
                self->refuse(name, error.text());
        });
    }
}

void Watcher::cancelled(Keys const& name, std::string const& reason, bool compacted)
{
    auto& watched = *watched_.find(name);
    if (!compacted && reason.find("permission denied") != std::string::npos) {
        refuse(name, reason);
        return;
    }
    // events since a compacted revision are lost: the watch begins again, and waiters claim when it is in force
    watched.next_revision = compacted ? 0 : watched.next_revision;
    watched.stream = 0;
    if (std::exchange(watched.in_force, false))
        watched_.notify(name, WatchEvent::interrupted);
    begin_soon();
}

void Watcher::broken(std::uint64_t number, std::string const& why, Fault fault)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    bool const worked =
        fault == Fault::lost && found->second.connection != nullptr && found->second.connection->proven();
    auto const names = found->second.names;
    drop(number);
    auto& runtime = cluster_->runtime();
    if (auto const repeated = interruptions_.happened(why, runtime.now()))
        runtime.log(LogLevel::info, cluster_->where() + ": hints are interrupted: " + why + how_often(*repeated));
    if (!pause_.pending())
        pause_.after(worked ? backoff_.after_loss() : backoff_.after_failure(), weak_from_this(), &Watcher::begin_soon);
    for (auto const& name : names)
        if (auto* const watched = in_stream(name, number)) {
            watched->stream = 0;
            // waiters claim when it is in force again
            if (fault == Fault::useless)
                watched->next_revision = 0;
            if (std::exchange(watched->in_force, false))
                watched_.notify(name, WatchEvent::interrupted);
        }
}

void Watcher::drop(std::uint64_t number) noexcept
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto const connection = found->second.connection;
    streams_.erase(found);
    if (connection != nullptr)
        connection->close();
}

void Watcher::drop_all() noexcept
{
    while (!streams_.empty())
        drop(streams_.begin()->first);
}

void Watcher::join_all()
{
    drop_all();
    for (auto& [name, entry] : watched_.entries())
        entry.state.stream = 0;
    begin_soon();
}

void Watcher::refuse(Keys const& name, std::string const& why)
{
    auto* const watched = watched_.find(name);
    if (watched == nullptr)
        return; // its last watcher has gone
    watched->refused = true;
    watched->in_force = false;
    watched->stream = 0;
    if (!std::exchange(refusal_logged_, true))
        cluster_->runtime().log(
            LogLevel::warning, cluster_->where() + ": may not watch " + name.key + ", so waiters poll: " + why);
    watched_.notify(name, WatchEvent::unavailable);
}

Watcher::Watched* Watcher::in_stream(Keys const& name, std::uint64_t number)
{
    auto* const watched = watched_.find(name);
    return watched != nullptr && watched->stream == number ? watched : nullptr;
}

void Watcher::sweep()
{
    auto const now = cluster_->runtime().now();
    std::erase_if(watched_.entries(), [&](auto const& entry) { return entry.second.idle(now); });
    cluster_->lines.keep_if([this](Keys const& name) { return watched_.find(name) != nullptr; });
    std::vector<std::uint64_t> unused;
    for (auto const& [number, stream] : streams_)
        if (std::ranges::none_of(
                stream.names, [this, at = number](Keys const& name) { return in_stream(name, at) != nullptr; }))
            unused.push_back(number);
    for (auto const number : unused)
        drop(number);
    if (!watched_.entries().empty())
        sweep_.after(period, weak_from_this(), &Watcher::sweep);
}

} // namespace tenure::etcd
