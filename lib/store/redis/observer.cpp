// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Observers: watches of views, and the keys `<stem>:watched`.
#include "observer.hpp"

#include "key_names.hpp"
#include "runtime/timer.hpp"
#include "store/redis/wire/server_error.hpp"

#include <store/ending_watch.hpp>

#include <tenure/errc.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

constexpr auto watched_for = 60s;
constexpr auto between_writes = 20s;
// the pause after a failed write, and the longest wait of a write for a connection
constexpr auto between_attempts = 1s;

} // namespace

class WatchedKey : public std::enable_shared_from_this<WatchedKey>
{
public:
    WatchedKey(ServerPtr server, std::string key, WatchHandler handler)
        : server_(std::move(server))
        , key_(std::move(key))
        , handler_(std::move(handler))
        , timer_(server_->runtime())
    {
    }

    void heard(WatchEvent event)
    {
        switch (event) {
        case WatchEvent::in_force:
            told_ = false;
            write();
            break;
        case WatchEvent::hint:
        case WatchEvent::our_turn:
        case WatchEvent::others_turn:
            notify(WatchEvent::hint);
            break;
        case WatchEvent::interrupted:
        case WatchEvent::unavailable:
            rest();
            // before `in_force` the handler needs no notification of an interruption
            if (event == WatchEvent::unavailable || std::exchange(told_, false))
                notify(event);
            break;
        }
    }

    void end() noexcept
    {
        rest();
        handler_ = nullptr;
    }

private:
    void rest() noexcept
    {
        // replies to pending writes are ignored
        ++subscription_;
        timer_.cancel();
    }

    void write()
    {
        if (!server_->may_write_watched()) {
            notify_in_force();
            return;
        }
        timer_.after(between_attempts, weak_from_this(), &WatchedKey::write);
        server_->channel()->execute(
            resp::Command("SET", key_, "1", "PX", std::chrono::milliseconds(watched_for).count()),
            server_->runtime().now() + between_attempts,
            [weak = weak_from_this(), subscription = subscription_](Outcome const& outcome) {
                if (auto const self = weak.lock(); self && self->subscription_ == subscription)
                    self->written(outcome);
            });
    }

    void written(Outcome const& outcome)
    {
        if (outcome.delivery != Delivery::answered)
            return;
        if (outcome.reply.is_error()) {
            auto const error = classify(outcome.reply.as_string());
            if (error.error != errc::permission_denied)
                return;
            // Releases by a user without permission for the key are published anyway: see scripts.hpp.
            timer_.cancel();
            server_->watched_refused(key_, error.words);
        } else {
            auto const lapsed = std::exchange(lapses_, outcome.since + watched_for) < outcome.since;
            timer_.after(between_writes, weak_from_this(), &WatchedKey::write);
            if (told_ && lapsed)
                // the key was missing for a while, and releases were not published
                notify(WatchEvent::hint);
        }
        notify_in_force();
    }

    void notify_in_force()
    {
        if (!std::exchange(told_, true))
            notify(WatchEvent::in_force);
    }

    void notify(WatchEvent event)
    {
        // a copy, because the handler may end the watch
        if (auto const handler = handler_)
            handler(event);
    }

    ServerPtr server_;
    std::string key_;
    /// empty once the watch has ended
    WatchHandler handler_;
    Timer timer_;
    /// counts subscriptions, so that replies to writes of an earlier one are ignored
    std::uint64_t subscription_ = 0;
    /// when the key expires, according to the last answered write
    Instant lapses_ = Instant::min();
    /// the handler was notified that the watch is in force
    bool told_ = false;
};

std::unique_ptr<Watch>
Observers::watch(ServerPtr server, KeyRange const& range, Subscribe const& subscribe, Handler handler)
{
    auto key = std::make_shared<WatchedKey>(std::move(server), watched_key_of(range), std::move(handler));
    std::erase_if(keys_, [](auto const& each) { return each.expired(); });
    keys_.push_back(key);
    std::shared_ptr<Watch> subscription = subscribe([weak = std::weak_ptr(key)](WatchEvent event) {
        if (auto const alive = weak.lock())
            alive->heard(event);
    });
    return std::make_unique<store::EndingWatch>(
        [key = std::move(key), subscription = std::move(subscription)] { key->end(); });
}

void Observers::close() noexcept
{
    for (auto const& each : std::exchange(keys_, {}))
        if (auto const key = each.lock())
            key->end();
}

} // namespace tenure::redis
