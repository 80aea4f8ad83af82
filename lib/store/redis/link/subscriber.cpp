// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Subscriber: channels, probes, and messages.
#include "subscriber.hpp"

#include "store/redis/wire/server_error.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// Interval of the checks that drop idle channels and probe the connection.
constexpr auto period = 10s;

/// limit of subscriptions without a watcher, where the user may not UNSUBSCRIBE
constexpr std::size_t most_left_behind = 1000;

constexpr std::size_t name_size = 32;
constexpr std::string_view digits_of_names = "0123456789abcdef";

bool is_waiter_name(std::string_view text) noexcept
{
    return text.size() == name_size && text.find_first_not_of(digits_of_names) == std::string_view::npos;
}

} // namespace

std::string make_waiter_name(Runtime& runtime)
{
    std::string name;
    name.reserve(name_size);
    std::array<std::byte, name_size / 2> random;
    runtime.random_bytes(random);
    for (auto const byte : random) {
        name += digits_of_names[std::to_integer<unsigned>(byte) >> 4U];
        name += digits_of_names[std::to_integer<unsigned>(byte) & 0xFU];
    }
    return name;
}

WatchEvent whose_turn(std::string_view message, std::string_view waiter, std::vector<std::uint64_t>* held)
{
    bool ours = false;
    for (;;) {
        auto const entry = message.substr(0, message.find(' '));
        auto const name = entry.substr(0, entry.find(':'));
        auto const number = number_from<std::uint64_t>(entry.substr(std::min(name.size() + 1, entry.size())));
        if (!is_waiter_name(name) || (name != entry && !number))
            return WatchEvent::hint;
        ours = ours || name == waiter;
        if (name == waiter && number && held != nullptr)
            held->push_back(*number);
        if (entry.size() == message.size())
            return ours ? WatchEvent::our_turn : WatchEvent::others_turn;
        message.remove_prefix(entry.size() + 1);
    }
}

Subscriber::Subscriber(
    std::shared_ptr<Runtime> runtime, ConnectionFactory connect, std::string server_name, std::string waiter)
    : runtime_(std::move(runtime))
    , connect_(std::move(connect))
    , server_name_(std::move(server_name))
    , waiter_(std::move(waiter))
    , channels_(runtime_)
    , timer_(*runtime_)
{
}

Subscriber::~Subscriber()
{
    close();
}

std::unique_ptr<Watch> Subscriber::watch(std::string channel, Handler handler)
{
    if (closed_)
        return channels_.add_closed(std::move(handler));
    auto const* const known = channels_.find(channel);
    auto const state = known == nullptr ? State::wanted : *known;
    std::optional<WatchEvent> now;
    if (state == State::in_force)
        now = WatchEvent::in_force;
    else if (state == State::refused)
        now = WatchEvent::unavailable;
    auto watch = channels_.add(channel, std::move(handler), now);
    if (connection_ == nullptr)
        open();
    else if (!connection_->ready())
        connection_->open(); // a refused connection tries again only on `open`
    else if (state == State::wanted || state == State::moved)
        subscribe(channel);
    return watch;
}

void Subscriber::close() noexcept
{
    // the destructor runs on any thread, and must have nothing left to do or write
    if (closed_)
        return;
    closed_ = true;
    timer_.cancel();
    drop_connection();
    channels_.clear();
}

void Subscriber::open()
{
    auto const number = ++connection_number_;
    connection_ = connect_(hints_purpose);
    connection_->on_state([weak = weak_from_this(), number](ConnectionState state) {
        if (auto const self = weak.lock())
            self->state_changed(number, state);
    });
    connection_->on_push([weak = weak_from_this(), number](resp::Value const& push) {
        if (auto const self = weak.lock(); self && self->connection_number_ == number)
            self->pushed(push);
    });
    connection_->open();
    if (!timer_.pending())
        timer_.after(period, weak_from_this(), &Subscriber::tick);
}

void Subscriber::subscribe(std::string const& name)
{
    channels_.entries()[name].state = State::asked;
    // The connection is ready, so a command that is not written now is not needed.
    connection_->execute(
        resp::Command(in_shards() ? "SSUBSCRIBE" : "SUBSCRIBE", name), runtime_->now() + period,
        [weak = weak_from_this(), name, number = connection_number_](Outcome outcome) {
            if (auto const self = weak.lock())
                self->subscribed(name, number, std::move(outcome));
        });
}

void Subscriber::subscribe_wanted()
{
    for (auto const& name : channels_in(State::wanted))
        subscribe(name);
}

std::vector<std::string> Subscriber::channels_in(State state)
{
    std::vector<std::string> names;
    for (auto const& [name, channel] : channels_.entries())
        if (channel.state == state)
            names.push_back(name);
    return names;
}

void Subscriber::subscribed(std::string const& name, std::uint64_t connection, Outcome outcome)
{
    auto* const channel = channels_.find(name);
    if (closed_ || connection != connection_number_ || channel == nullptr || *channel != State::asked)
        return;
    if (outcome.delivery != Delivery::answered) {
        // The next change of state subscribes again.
        *channel = State::wanted;
        return;
    }
    if (!outcome.reply.is_error()) {
        *channel = State::in_force;
        channels_.notify(name, WatchEvent::in_force);
        return;
    }
    if (in_shards() && outcome.reply.error_word() == "MOVED") {
        moved_away(name, outcome.reply);
        return;
    }
    auto const error = classify(outcome.reply.as_string());
    if (!error.fatal) {
        // A temporary error: the next check subscribes again.
        *channel = State::wanted;
        return;
    }
    *channel = State::refused;
    if (!std::exchange(refusal_logged_, true))
        log_refusal(name, error);
    channels_.notify(name, WatchEvent::unavailable);
}

void Subscriber::log_refusal(std::string const& name, ServerError const& error) const
{
    if (error.meaning == ErrorMeaning::command_unavailable)
        runtime_->log(
            LogLevel::warning,
            server_name_ +
                ": this server or proxy has no subscriptions, so waiters poll and wake later; let the "
                "proxy pass SUBSCRIBE, or switch notifications off (" +
                error.words + ")");
    else
        runtime_->log(
            LogLevel::warning,
            server_name_ + ": may not subscribe to " + name + ", so waiters poll and wake later; grant " +
                (in_shards() ? "+ssubscribe" : "+subscribe") + " and &" + name + " (" + error.words + ")");
}

void Subscriber::state_changed(std::uint64_t connection, ConnectionState state)
{
    if (closed_ || connection != connection_number_)
        return;
    if (state != ConnectionState::ready) {
        interrupted();
        return;
    }
    probing_ = false;
    std::erase_if(channels_.entries(), [](auto const& entry) {
        return entry.second.state == State::moved && !entry.second.watched();
    });
    // A new server may have other permissions, so refused channels are tried once on each connection.
    for (auto& [name, channel] : channels_.entries())
        channel.state = State::wanted;
    subscribe_wanted();
}

void Subscriber::pushed(resp::Value const& push)
{
    auto const parts = push.elements();
    if (parts.size() != 3)
        return;
    auto const kind = parts[0].as_string();
    if (kind == "message" || kind == "smessage")
        heard(std::string(parts[1].as_string()), parts[2].as_string());
    else if (kind == "sunsubscribe" && moved_)
        // also sent without a request, when the hash slot has moved to another node
        moved_away(std::string(parts[1].as_string()), push);
}

void Subscriber::heard(std::string const& channel, std::string_view message)
{
    std::vector<std::uint64_t> held;
    auto const event = whose_turn(message, waiter_, &held);
    channels_.notify(channel, event == WatchEvent::our_turn ? WatchNews(event, held) : WatchNews(event));
}

bool Subscriber::in_shards() const
{
    return moved_ && connection_ != nullptr && connection_->server().version.has_sharded_channels();
}

void Subscriber::moved_away(std::string const& name, resp::Value const& said)
{
    auto* const channel = channels_.find(name);
    if (channel == nullptr || *channel == State::moved)
        return;
    if (std::exchange(*channel, State::moved) == State::in_force)
        channels_.notify(name, WatchEvent::interrupted);
    // a copy, because the handler may end this object
    if (auto const handler = moved_)
        handler(name, said);
}

void Subscriber::interrupted()
{
    auto const names = channels_in(State::in_force);
    for (auto& [name, channel] : channels_.entries())
        if (channel.state != State::refused && channel.state != State::moved)
            channel.state = State::wanted;
    for (auto const& name : names)
        channels_.notify(name, WatchEvent::interrupted);
}

void Subscriber::tick()
{
    auto const now = runtime_->now();
    auto& channels = channels_.entries();
    for (auto entry = channels.begin(); entry != channels.end();) {
        auto const& [name, channel] = *entry;
        bool const idle = channel.idle(now);
        if (idle && channel.state == State::in_force && connection_->ready())
            unsubscribe(name);
        entry = idle ? channels.erase(entry) : std::next(entry);
    }
    if (channels.empty()) {
        drop_connection();
        return;
    }
    if ((probing_ || left_behind_ >= most_left_behind) && connection_->ready()) {
        // The last probe got no reply for a whole period: the connection hangs. Or the server can end subscriptions
        // only by the end of the connection.
        interrupted();
        drop_connection();
        open();
    } else if (connection_->ready()) {
        subscribe_wanted();
        // Subscribing again has no effect, and needs no permission beyond the existing one.
        auto const in_force =
            std::ranges::find_if(channels, [](auto const& entry) { return entry.second.state == State::in_force; });
        if (in_force != channels.end()) {
            probing_ = true;
            connection_->execute(
                resp::Command(in_shards() ? "SSUBSCRIBE" : "SUBSCRIBE", in_force->first), now + period,
                [weak = weak_from_this(), number = connection_number_](Outcome const&) {
                    if (auto const self = weak.lock(); self && self->connection_number_ == number)
                        self->probing_ = false;
                });
        }
    } else {
        connection_->open();
    }
    if (!timer_.pending())
        timer_.after(period, weak_from_this(), &Subscriber::tick);
}

void Subscriber::unsubscribe(std::string const& name)
{
    connection_->execute(
        resp::Command(in_shards() ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", name), runtime_->now() + period,
        [weak = weak_from_this(), number = connection_number_](Outcome const& outcome) {
            auto const self = weak.lock();
            if (self && self->connection_number_ == number && outcome.refused())
                ++self->left_behind_;
        });
}

void Subscriber::drop_connection() noexcept
{
    ++connection_number_;
    probing_ = false;
    left_behind_ = 0;
    if (connection_ != nullptr)
        std::exchange(connection_, nullptr)->close();
}

} // namespace tenure::redis
