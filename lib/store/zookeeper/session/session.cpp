// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Session: opening and expiry.
#include "session.hpp"

#include <runtime/if_alive.hpp>
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

Session::Session(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<ZookeeperConfig const> config, MakeLink make_link,
    Settings settings)
    : runtime_(std::move(runtime))
    , config_(std::move(config))
    , make_link_(std::move(make_link))
    , settings_(std::move(settings))
    , life_(config_->tick)
    , room_(config_->jute_maxbuffer)
    , claims_(std::make_shared<store::ClaimWindow>(runtime_, claims_at_a_time))
{
}

std::chrono::milliseconds Session::timeout() const
{
    return client_ != nullptr && id_ != 0 ? client_->timeout() : settings_.timeout;
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

void Session::open()
{
    if (!closed_ && client_ == nullptr && search_ == nullptr)
        search();
}

void Session::search()
{
    search_ = std::make_unique<HostSearch>(
        runtime_, config_->servers, addresses_, if_alive(weak_from_this(), &Session::resolved, client_ != nullptr));
}

void Session::resolved(bool beside_client, HostSearch::Result const& found)
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
    LinkSettings settings{settings_.name, servers, settings_.timeout, {}};
    if (!config_->username.empty())
        settings.login = config_->username + ":" + config_->password;
    try {
        client_ = make_link_(settings, *this);
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
            proofs_.disconnected();
            search_after(timeout() / searches);
            report(event);
            fail_unsent();
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
        proofs_.changed(event.path);
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
    if (auto const outage = failed_rounds_.end(runtime_->now()))
        runtime_->log(
            LogLevel::warning, settings_.name + ": reachable again after " + elapsed_text(outage->lasting) +
                                   "; failed attempts to connect: " + std::to_string(outage->total));
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
    fail_unsent();
}

void Session::end_client(bool end_session) noexcept
{
    online_ = false;
    life_.disconnected();
    proofs_.disconnected();
    search_timer_.cancel();
    if (client_ != nullptr)
        std::exchange(client_, nullptr)->close(end_session);
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
    auto const why = Failure::not_sent(errc::closed, settings_.name + ": the store was closed");
    claims_->fail_all(why);
    // moved out, because the handlers may own this session
    runtime_->post([waiting = waiting_.take_if([](Deadline const&) { return true; }), requests = requests_.take_all(),
                    proofs = proofs_.take_all(), why]() mutable {
        fail(std::move(waiting), why);
        for (auto& one : requests)
            one.handler(Response{ZINVALIDSTATE});
        for (auto& proof : proofs)
            proof.handler(Response{ZINVALIDSTATE}, Response{ZINVALIDSTATE});
    });
}

} // namespace tenure::zookeeper
