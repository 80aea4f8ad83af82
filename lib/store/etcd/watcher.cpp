// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "watcher.hpp"

#include "range_keys.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// with more they are joined
constexpr std::size_t most_streams = 8;
/// how long something stays watched without watchers: whoever waits once often waits again
constexpr auto linger = 30s;
constexpr auto period = 10s;

} // namespace

class Watcher::Subscription final : public Watch
{
public:
    Subscription(std::weak_ptr<Watcher> watcher, Name name, std::shared_ptr<Handler> handler)
        : watcher_(std::move(watcher))
        , name_(std::move(name))
        , handler_(std::move(handler))
    {
    }

    Subscription(Subscription const&) = delete;
    Subscription& operator=(Subscription const&) = delete;

    ~Subscription() override
    {
        if (auto const watcher = watcher_.lock())
            watcher->watcher_gone(name_, handler_.get());
    }

private:
    std::weak_ptr<Watcher> watcher_;
    Name name_;
    /// the only strong reference: once it is gone nobody calls it
    std::shared_ptr<Handler> handler_;
};

Watcher::Watcher(NodePtr node)
    : node_(std::move(node))
    , backoff_(node_->client->config().reconnect_backoff, [runtime = node_->client->shared_runtime()] {
        return runtime->random();
    })
{
}

Watcher::~Watcher()
{
    close();
}

void Watcher::start()
{
    node_->client->on_turn([weak = weak_from_this()] {
        // the endpoint that was left may hear of nothing any more
        if (auto const self = weak.lock())
            self->join_all();
    });
}

std::unique_ptr<Watch> Watcher::watch(KeyRange const& range, Handler handler)
{
    auto const keys = whole(range);
    Name name{keys.key, keys.end};
    auto shared = std::make_shared<Handler>(std::move(handler));
    if (closed_) {
        tell_later(shared, WatchEvent::unavailable);
        return std::make_unique<Subscription>(weak_from_this(), std::move(name), std::move(shared));
    }
    auto& watched = watched_[name];
    watched.watchers.push_back(shared);
    if (watched.in_force)
        tell_later(shared, WatchEvent::in_force);
    else if (watched.refused)
        tell_later(shared, WatchEvent::unavailable);
    else if (watched.stream == 0)
        begin_soon();
    arm();
    return std::make_unique<Subscription>(weak_from_this(), std::move(name), std::move(shared));
}

void Watcher::close() noexcept
{
    if (std::exchange(closed_, true))
        return;
    auto& runtime = node_->runtime();
    runtime.cancel(std::exchange(pause_, 0));
    runtime.cancel(std::exchange(sweep_, 0));
    while (!streams_.empty())
        drop(streams_.begin()->first);
    watched_.clear();
}

// -- streams --

void Watcher::begin_soon()
{
    if (closed_ || pause_ != 0 || std::exchange(begin_posted_, true))
        return;
    node_->runtime().post([weak = weak_from_this()] {
        if (auto const self = weak.lock()) {
            self->begin_posted_ = false;
            self->begin();
        }
    });
}

void Watcher::begin()
{
    if (closed_)
        return;
    Stream stream;
    auto const number = last_stream_ + 1;
    bool const joins = streams_.size() >= most_streams;
    for (auto& [name, watched] : watched_)
        if (!watched.refused && (watched.stream == 0 || joins)) {
            watched.stream = number;
            stream.names.push_back(name);
        }
    if (stream.names.empty())
        return;
    if (joins)
        while (!streams_.empty())
            drop(streams_.begin()->first);
    last_stream_ = number;
    streams_.emplace(number, std::move(stream));
    learn_revision(number);
}

void Watcher::learn_revision(std::uint64_t number)
{
    auto const& name = streams_.at(number).names.front();
    Call call;
    call.path = "kv/range";
    call.body = range_body({name.first, name.second}, {1, true});
    call.not_after = node_->runtime().now() + 5s;
    node_->client->call(std::move(call), [weak = weak_from_this(), number](Outcome outcome) {
        if (auto const self = weak.lock())
            self->revision_learned(number, std::move(outcome));
    });
}

void Watcher::revision_learned(std::uint64_t number, Outcome outcome)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto const reply = outcome.good() ? parse_range(outcome.body) : std::nullopt;
    if (reply) {
        for (auto const& name : found->second.names)
            if (auto const entry = watched_.find(name); entry != watched_.end() && entry->second.next_revision == 0)
                entry->second.next_revision = reply->header.revision + 1;
        connect(number);
        return;
    }
    bool const forbidden = outcome.delivery == Delivery::answered &&
                           classify(outcome.status, outcome.body).error == errc::permission_denied;
    auto const why =
        outcome.delivery == Delivery::answered ? classify(outcome.status, outcome.body).text() : outcome.detail;
    if (forbidden)
        refuse(Name(found->second.names.front()), why);
    broken(number, why);
}

void Watcher::connect(std::uint64_t number)
{
    auto& stream = streams_.at(number);
    auto const deadline = node_->client->connect_deadline();
    stream.connection = node_->client->make_connection();
    stream.limit = node_->runtime().call_at(deadline, [weak = weak_from_this(), number] {
        if (auto const self = weak.lock()) {
            if (auto const late = self->streams_.find(number); late != self->streams_.end())
                late->second.limit = 0;
            self->broken(number, "no connection within the time limit");
        }
    });
    Connection::Events events;
    events.ready = [weak = weak_from_this(), number] {
        if (auto const self = weak.lock())
            self->connected(number);
    };
    events.lost = [weak = weak_from_this(), number](net::StreamError const& error) {
        if (auto const self = weak.lock())
            self->broken(number, error.text(), error.code == errc::protocol_error ? Fault::useless : Fault::lost);
    };
    auto const connection = stream.connection;
    connection->open(deadline, std::move(events));
}

void Watcher::connected(std::uint64_t number)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto& stream = found->second;
    node_->runtime().cancel(std::exchange(stream.limit, 0));
    Call call;
    call.path = "watch";
    std::int64_t id = 0;
    for (auto const& name : stream.names) {
        ++id;
        if (auto const entry = watched_.find(name); entry != watched_.end() && entry->second.stream == number)
            call.body += watch_body(id, {name.first, name.second}, entry->second.next_revision);
    }
    auto const connection = stream.connection;
    connection->start_stream(call, node_->client->token(), [weak = weak_from_this(), number](std::string_view line) {
        if (auto const self = weak.lock())
            self->heard(number, line);
    });
}

void Watcher::heard(std::uint64_t number, std::string_view line)
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    auto const reply = parse_watch(line);
    if (!reply || reply->failed) {
        if (reply)
            broken(number, classify(500, line).text());
        else
            broken(number, "a line of a watch that makes no sense", Fault::useless);
        return;
    }
    auto const& names = found->second.names;
    if (reply->cancelled && reply->watch_id < 1) {
        // 3.4.23 and newer do not say which watch it is that they refuse
        look_for_refused(names);
        broken(number, reply->cancel_reason, Fault::useless);
        return;
    }
    if (reply->watch_id < 1 || reply->watch_id > static_cast<std::int64_t>(names.size()))
        return;
    auto const name = names[static_cast<std::size_t>(reply->watch_id - 1)];
    auto const entry = watched_.find(name);
    if (entry == watched_.end() || entry->second.stream != number)
        return;
    if (reply->cancelled) {
        cancelled(name, reply->cancel_reason, reply->compacted_before != 0);
        return;
    }
    if (reply->has_events) {
        entry->second.next_revision = std::max(entry->second.next_revision, reply->header.revision + 1);
        tell(name, WatchEvent::hint);
    } else if (reply->created && !std::exchange(entry->second.in_force, true)) {
        tell(name, WatchEvent::in_force);
    }
}

/** What may not be watched may not be read either. */
void Watcher::look_for_refused(std::vector<Name> const& names)
{
    for (auto const& name : names) {
        Call call;
        call.path = "kv/range";
        call.body = range_body({name.first, name.second}, {1, true});
        call.not_after = node_->runtime().now() + 5s;
        node_->client->call(std::move(call), [weak = weak_from_this(), name](Outcome const& outcome) {
            auto const self = weak.lock();
            if (self == nullptr || self->closed_ || outcome.delivery != Delivery::answered || outcome.good())
                return;
            if (auto const error = classify(outcome.status, outcome.body); error.error == errc::permission_denied)
                self->refuse(name, error.text());
        });
    }
}

void Watcher::cancelled(Name const& name, std::string const& reason, bool compacted)
{
    auto& watched = watched_.at(name);
    if (!compacted && reason.find("permission denied") != std::string::npos) {
        refuse(name, reason);
        return;
    }
    // what happened meanwhile is forgotten: it begins anew, and whoever hears that it is in force looks again
    watched.next_revision = compacted ? 0 : watched.next_revision;
    watched.stream = 0;
    if (std::exchange(watched.in_force, false))
        tell(name, WatchEvent::interrupted);
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
    if (node_->runtime().logs(LogLevel::info))
        node_->runtime().log(LogLevel::info, node_->where() + ": hints are interrupted: " + why);
    if (pause_ == 0) {
        auto const pause = worked ? backoff_.after_loss() : backoff_.after_failure();
        pause_ = node_->runtime().call_at(node_->runtime().now() + pause, [weak = weak_from_this()] {
            if (auto const self = weak.lock()) {
                self->pause_ = 0;
                self->begin_soon();
            }
        });
    }
    for (auto const& name : names)
        if (auto const entry = watched_.find(name); entry != watched_.end() && entry->second.stream == number) {
            entry->second.stream = 0;
            // whoever hears that it is in force again looks again
            if (fault == Fault::useless)
                entry->second.next_revision = 0;
            if (std::exchange(entry->second.in_force, false))
                tell(name, WatchEvent::interrupted);
        }
}

void Watcher::drop(std::uint64_t number) noexcept
{
    auto const found = streams_.find(number);
    if (found == streams_.end())
        return;
    node_->runtime().cancel(found->second.limit);
    auto const connection = found->second.connection;
    streams_.erase(found);
    if (connection != nullptr)
        connection->close();
}

void Watcher::join_all()
{
    while (!streams_.empty())
        drop(streams_.begin()->first);
    for (auto& [name, watched] : watched_)
        watched.stream = 0;
    begin_soon();
}

void Watcher::refuse(Name const& name, std::string const& why)
{
    auto const found = watched_.find(name);
    if (found == watched_.end())
        return; // nobody watches it any more
    auto& watched = found->second;
    watched.refused = true;
    watched.in_force = false;
    watched.stream = 0;
    if (!std::exchange(refusal_logged_, true))
        node_->runtime().log(
            LogLevel::warning, node_->where() + ": may not watch " + name.first + ", so waiters poll: " + why);
    tell(name, WatchEvent::unavailable);
}

// -- watchers --

void Watcher::tell(Name const& name, WatchEvent event)
{
    auto const entry = watched_.find(name);
    if (entry == watched_.end())
        return;
    auto const watchers = entry->second.watchers; // a handler may end its watch
    for (auto const& watcher : watchers)
        if (auto const handler = watcher.lock())
            (*handler)(event);
}

void Watcher::tell_later(std::weak_ptr<Handler> handler, WatchEvent event)
{
    node_->runtime().post([handler = std::move(handler), event] {
        if (auto const alive = handler.lock())
            (*alive)(event);
    });
}

void Watcher::watcher_gone(Name const& name, Handler const* handler)
{
    auto const entry = watched_.find(name);
    if (entry == watched_.end())
        return;
    // its own is not expired yet: it is the one that is being destroyed
    std::erase_if(entry->second.watchers, [handler](std::weak_ptr<Handler> const& watcher) {
        auto const alive = watcher.lock();
        return alive == nullptr || alive.get() == handler;
    });
    if (entry->second.watchers.empty())
        entry->second.idle_since = node_->runtime().now();
}

void Watcher::arm()
{
    if (sweep_ == 0 && !closed_)
        sweep_ = node_->runtime().call_at(node_->runtime().now() + period, [weak = weak_from_this()] {
            if (auto const self = weak.lock()) {
                self->sweep_ = 0;
                self->sweep();
            }
        });
}

void Watcher::sweep()
{
    auto const now = node_->runtime().now();
    std::erase_if(watched_, [&](auto const& entry) {
        return entry.second.watchers.empty() && now - entry.second.idle_since >= linger;
    });
    std::vector<std::uint64_t> unused;
    for (auto const& [number, stream] : streams_)
        if (std::ranges::none_of(stream.names, [this, at = number](Name const& name) {
                auto const entry = watched_.find(name);
                return entry != watched_.end() && entry->second.stream == at;
            }))
            unused.push_back(number);
    for (auto const number : unused)
        drop(number);
    if (!watched_.empty())
        arm();
}

} // namespace tenure::etcd
