// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: opening, regular writes, and expiry.
#include "session.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

namespace
{

/// the pause after no address was found
constexpr auto search_pause = 200ms;
/// lookups of the servers per timeout without a connection
constexpr int searches = 3;

} // namespace

Session::Session(std::shared_ptr<Runtime> runtime, std::shared_ptr<ZookeeperConfig const> config, Settings settings)
    : runtime_(std::move(runtime))
    , config_(std::move(config))
    , settings_(std::move(settings))
    , life_(config_->tick)
{
}

std::chrono::milliseconds Session::timeout() const
{
    return client_ != nullptr && id_ != 0 ? client_->timeout() : settings_.timeout;
}

Clock::duration Session::period() const
{
    return std::clamp<Clock::duration>(timeout() / 12, std::min<Clock::duration>(50ms, config_->tick), config_->tick);
}

bool Session::wanted() const noexcept
{
    return users_.use_count() > 1 || !waiting_.empty();
}

Session::Use Session::use()
{
    last_used_ = runtime_->now();
    return users_;
}

void Session::when_connected(Deadline not_after, ConnectedHandler handler)
{
    last_used_ = runtime_->now();
    waiting_.push_back({std::move(not_after), std::move(handler)});
    if (closed_ || connected()) {
        runtime_->post([self = shared_from_this()] { self->answer_waiting(); });
        return;
    }
    open();
    set_waiting_timer();
}

void Session::answer_waiting()
{
    auto const now = runtime_->now();
    auto const is_closed = Failure::not_sent(errc::closed, settings_.name + ": the store was closed");
    auto const dropped = Failure::dropped();
    for (auto& waiting : std::exchange(waiting_, {}))
        if (closed_)
            waiting.handler(&is_closed);
        else if (waiting.not_after.over(now))
            waiting.handler(&dropped);
        else if (connected())
            waiting.handler(nullptr);
        else
            waiting_.push_back(std::move(waiting));
    set_waiting_timer();
}

void Session::set_waiting_timer()
{
    waiting_timer_.cancel();
    if (waiting_.empty())
        return;
    auto const by_time = [](Waiting const& waiting) { return waiting.not_after.at(); };
    auto const first = by_time(*std::ranges::min_element(waiting_, {}, by_time));
    if (first == Instant::max())
        return; // all of them wait without end
    waiting_timer_.at(first, weak_from_this(), [](Session& self) {
        self.fail_waiting(
            [now = self.runtime_->now()](Waiting const& waiting) { return waiting.not_after.over(now); },
            self.connected() ? Failure::dropped() : self.why_not_connected());
    });
}

void Session::drop_abandoned()
{
    fail_waiting([](Waiting const& waiting) { return waiting.not_after.abandoned(); }, Failure::dropped());
}

void Session::on_no_server()
{
    fail_waiting([](Waiting const& waiting) { return waiting.not_after.one_attempt(); }, why_not_connected());
}

void Session::fail_waiting(std::function<bool(Waiting const&)> const& fits, Failure const& why)
{
    auto failed = std::exchange(waiting_, {});
    auto const rest = std::stable_partition(failed.begin(), failed.end(), fits);
    std::move(rest, failed.end(), std::back_inserter(waiting_));
    failed.erase(rest, failed.end());
    set_waiting_timer();
    for (auto& one : failed)
        one.handler(&why);
}

void Session::fail_all_waiting(Failure const& why)
{
    fail_waiting([](Waiting const&) { return true; }, why);
}

Failure Session::why_not_connected() const
{
    auto words = client_ == nullptr ? search_error_ : client_->last_words();
    if (words.empty())
        words = "no server has answered yet";
    return Failure::not_sent(errc::store_unavailable, settings_.name + ": not connected: " + words);
}

void Session::open()
{
    if (!closed_ && client_ == nullptr && search_ == nullptr)
        search();
}

void Session::search()
{
    search_ = std::make_unique<HostSearch>(
        runtime_, config_->servers, addresses_,
        [weak = weak_from_this(), beside_client = client_ != nullptr](HostSearch::Result const& found) {
            if (auto const self = weak.lock())
                self->resolved(found, beside_client);
        });
}

void Session::resolved(HostSearch::Result const& found, bool beside_client)
{
    search_ = nullptr;
    search_error_ = found.error;
    addresses_ = found.addresses;
    if (closed_)
        return;
    if (client_ != nullptr) {
        if (!client_->connected() && !found.servers.empty() && found.servers != servers_) {
            servers_ = found.servers;
            client_->set_servers(servers_);
        }
        search_after(timeout() / searches);
        return;
    }
    if (beside_client && !wanted())
        return; // that client was closed meanwhile, and no request needs another
    if (found.servers.empty()) {
        on_no_server();
        search_after(search_pause + std::chrono::milliseconds(runtime_->random() % 200));
        return;
    }
    open_client(found.servers);
}

/** Names may have other addresses by now, and the C client would keep trying its old ones. */
void Session::search_after(Clock::duration pause)
{
    search_timer_.after(pause, weak_from_this(), [](Session& self) {
        bool const needed = self.client_ == nullptr ? self.wanted() : !self.client_->connected();
        if (needed && self.search_ == nullptr)
            self.search();
    });
}

void Session::open_client(std::string const& servers)
{
    servers_ = servers;
    ClientHandle::Settings settings{settings_.name, servers, settings_.timeout, {}};
    if (!config_->username.empty())
        settings.login = config_->username + ":" + config_->password;
    try {
        client_ = std::make_shared<Client>(runtime_, settings, config_->connect_timeout, *this);
    } catch (std::exception const& error) {
        fail_all_waiting(Failure::not_sent(errc::store_unavailable, settings_.name + ": " + error.what()));
        return;
    }
    client_->start();
    search_after(timeout() / searches);
    idle_check();
}

void Session::on_session_event(SessionEvent const& event)
{
    using Kind = SessionEvent::Kind;
    // the handlers may close the client
    auto const self = shared_from_this();
    switch (event.kind) {
    case Kind::connected:
        connected_now();
        break;
    case Kind::disconnected:
        if (std::exchange(online_, false)) {
            life_.disconnected();
            search_after(timeout() / searches);
            report(event);
            fail_readings();
        }
        break;
    case Kind::expired:
        expired();
        if (wanted())
            open();
        break;
    case Kind::authentication_failed:
        expired();
        fail_all_waiting(Failure::not_sent(
            errc::authentication_failed,
            settings_.name + ": the server refused the login; check user and password, and which schemes it accepts",
            true));
        break;
    case Kind::node_changed:
    case Kind::node_deleted:
        report(event);
        break;
    }
}

void Session::report(SessionEvent const& event) const
{
    if (event_handler_)
        event_handler_(*this, event);
}

void Session::connected_now()
{
    if (!client_->connected())
        return; // already lost
    online_ = true;
    bool const renewed = id_ == client_->session_id();
    if (renewed) {
        life_.reopened(client_->connection_begun());
    } else {
        id_ = client_->session_id();
        life_.created(client_->connection_begun());
    }
    if (timeout() != settings_.timeout && !settings_.holds_no_leases && !std::exchange(told_other_timeout_, true))
        runtime_->log(
            LogLevel::warning, settings_.name + ": asked for a ttl of " + std::to_string(settings_.timeout.count()) +
                                   " ms, and the server grants " + std::to_string(timeout().count()) +
                                   " ms, which counts; set minSessionTimeout and maxSessionTimeout of the server, or "
                                   "ask for a ttl between them");
    report({SessionEvent::Kind::connected});
    answer_waiting();
    last_regular_write_ = Instant::min();
    write_regularly();
    idle_check();
}

void Session::expired()
{
    end_client(false);
    report({SessionEvent::Kind::expired});
    id_ = 0;
    fail_readings();
}

void Session::end_client(bool end_session) noexcept
{
    online_ = false;
    life_.disconnected();
    search_timer_.cancel();
    if (client_ != nullptr)
        std::exchange(client_, nullptr)->close(end_session);
}

void Session::fail_readings()
{
    for (auto& reading : std::exchange(readings_, {}))
        reading.handler(Response{ZINVALIDSTATE}, Response{ZINVALIDSTATE});
}

void Session::note(Request::Kind kind, Response const& response)
{
    using Kind = Request::Kind;
    bool const writes = kind != Kind::get && kind != Kind::exists && kind != Kind::children && kind != Kind::sync;
    if (writes && online_ && is_answered(response.code) && response.sent >= client_->connection_begun())
        life_.wrote(response.sent, response.answered);
    if (response.code == ZSESSIONEXPIRED && client_ != nullptr)
        client_->drop_connection(); // the next connection shows whether the session has expired
}

void Session::ask(Request request, ResponseHandler handler)
{
    last_used_ = runtime_->now();
    if (client_ == nullptr || !client_->connected()) {
        runtime_->post([handler = std::move(handler)]() mutable { handler(Response{ZINVALIDSTATE}); });
        return;
    }
    auto const kind = request.kind;
    client_->ask(
        std::move(request),
        [self = shared_from_this(), kind, handler = std::move(handler)](Response const& response) mutable {
            self->note(kind, response);
            handler(response);
        });
}

void Session::write(ResponseHandler handler)
{
    ask({Request::Kind::check, config_->chroot.empty() ? "/" : config_->chroot}, std::move(handler));
}

void Session::unwatch(std::string const& path)
{
    if (client_ != nullptr)
        client_->unwatch(path);
}

void Session::read_with_next_write(std::string path, std::function<bool()> wanted, ProofHandler handler)
{
    last_used_ = runtime_->now();
    readings_.push_back({std::move(path), std::move(wanted), std::move(handler)});
    if (readings_.size() == 1)
        runtime_->post([self = shared_from_this()] { self->arm_regular_write(); });
}

void Session::arm_regular_write()
{
    if (!connected() || (writing_ && readings_.empty()))
        return;
    auto const now = runtime_->now();
    auto const pause = readings_.empty() ? period() : period() / 2;
    auto const due = last_regular_write_ == Instant::min() ? now : last_regular_write_ + pause;
    write_timer_.cancel();
    if (due <= now)
        write_regularly();
    else
        write_timer_.at(due, weak_from_this(), &Session::write_regularly);
}

void Session::write_regularly()
{
    if (!connected()) {
        fail_readings();
        return;
    }
    if (readings_.empty() && (writing_ || settings_.holds_no_leases))
        return;
    auto readings = std::exchange(readings_, {});
    writing_ = true;
    last_regular_write_ = runtime_->now();
    auto const used = last_used_;
    auto const write = std::make_shared<Response>();
    this->write([self = shared_from_this(), write](Response const& response) {
        *write = response;
        self->writing_ = false;
        if (self->connected())
            self->arm_regular_write();
        else
            self->write_regularly(); // fails the waiting reads
    });
    last_used_ = used;
    for (auto& reading : readings) {
        if (!reading.wanted()) {
            reading.handler(Response{ZINVALIDSTATE}, Response{ZINVALIDSTATE});
            continue;
        }
        ask({Request::Kind::get, std::move(reading.path)},
            [write, handler = std::move(reading.handler)](Response const& read) mutable { handler(*write, read); });
    }
}

void Session::idle_check()
{
    if (client_ == nullptr || idle_timer_.pending())
        return;
    auto const linger = std::max<Clock::duration>(timeout() * 2, 5s);
    auto const now = runtime_->now();
    if (wanted())
        last_used_ = now;
    if (now - last_used_ >= linger) {
        end_client(true);
        id_ = 0;
        return;
    }
    idle_timer_.at(last_used_ + linger, weak_from_this(), &Session::idle_check);
}

void Session::close(bool end_session) noexcept
{
    if (std::exchange(closed_, true))
        return;
    for (auto* const timer : {&waiting_timer_, &write_timer_, &idle_timer_})
        timer->cancel();
    search_ = nullptr;
    end_client(end_session);
    // moved out, because the handlers may own this session
    runtime_->post([waiting = std::exchange(waiting_, {}), readings = std::exchange(readings_, {}),
                    why = Failure::not_sent(errc::closed, settings_.name + ": the store was closed")]() mutable {
        for (auto& one : waiting)
            one.handler(&why);
        for (auto& reading : readings)
            reading.handler(Response{ZINVALIDSTATE}, Response{ZINVALIDSTATE});
    });
}

} // namespace tenure::zookeeper
