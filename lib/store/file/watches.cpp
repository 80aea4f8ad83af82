// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches: entries in lines, wake-ups, and deaths of holders.
#include "watches.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

namespace
{

constexpr auto waiter = role_of(WatchAs::waiter);
/// The lock of a dead process vanishes a moment after its FIFO: looks follow after 1, 2, 4 ... ms.
constexpr int most_looks = 7;

} // namespace

/** A watch that tells when it ends. */
class Watches::Ending final : public Watch
{
public:
    Ending(std::weak_ptr<Watches> watches, Topic topic, std::unique_ptr<Watch> watch)
        : watches_(std::move(watches))
        , topic_(std::move(topic))
        , watch_(std::move(watch))
    {
    }
    Ending(Ending const&) = delete;
    Ending& operator=(Ending const&) = delete;
    ~Ending() override
    {
        watch_.reset();
        if (auto const watches = watches_.lock())
            watches->ended(topic_);
    }

private:
    std::weak_ptr<Watches> watches_;
    Topic topic_;
    std::unique_ptr<Watch> watch_;
};

Watches::Watches(std::shared_ptr<Runtime> runtime)
    : runtime_(std::move(runtime))
    , registry_(runtime_)
{
}

void Watches::begin(SessionPtr session)
{
    session_ = std::move(session);
    for (auto const& [topic, entry] : registry_.entries())
        if (entry.watched())
            enter(topic);
    wait();
}

void Watches::interrupt()
{
    close();
    std::vector<Topic> topics;
    for (auto& [topic, entry] : registry_.entries()) {
        entry.state = {};
        topics.push_back(topic);
    }
    for (auto const& topic : topics)
        registry_.notify(topic, WatchEvent::interrupted);
}

void Watches::close() noexcept
{
    stop_waiting();
    followed_.clear();
    in_line_.clear();
    session_.reset();
}

std::unique_ptr<Watch> Watches::watch(LinePlace place, WatchAs as, std::function<void(WatchEvent)> handler)
{
    Topic const topic{std::move(place), role_of(as)};
    auto const* const state = registry_.find(topic);
    bool const entered = state != nullptr && state->entered;
    auto watch = registry_.add(topic, std::move(handler), entered ? std::optional(WatchEvent::in_force) : std::nullopt);
    if (!entered)
        enter(topic);
    wait();
    return std::make_unique<Ending>(weak_from_this(), topic, std::move(watch));
}

void Watches::change_line(LinePlace place, std::function<void(Line)> change, std::function<void()> failed)
{
    if (session_ == nullptr)
        return;
    using Reply = std::variant<Released, Failure>;
    auto const run = [](SessionPtr session, LinePlace at, std::function<void(Line)> then) -> store::Request<Reply> {
        auto locking = session->lock(at.stem, line_area);
        auto locked = co_await locking;
        then(Line(locked.file()));
        locked.unlock();
        co_return Released{};
    };
    // later: an entry may be changed by the end of a watch, inside a handler
    runtime_->post(
        [request = run(session_, std::move(place), std::move(change)), failed = std::move(failed)]() mutable {
            std::move(request).start([failed = std::move(failed)](Reply&& reply) {
                if (std::holds_alternative<Failure>(reply) && failed)
                    failed();
            });
        });
}

void Watches::enter(Topic const& topic)
{
    auto const& [place, role] = topic;
    change_line(
        place,
        [self = shared_from_this(), topic, line_number = place.line, kind = role](Line line) {
            auto* const state = self->registry_.find(topic);
            if (self->session_ == nullptr || state == nullptr)
                return;
            auto const& id = self->session_->holder().id();
            if (!line.add(id, line_number, kind)) {
                self->registry_.notify(topic, WatchEvent::unavailable);
                return;
            }
            auto const* const entry = line.find(id, line_number, kind);
            *state = {true, entry->hints, entry->others};
            self->registry_.notify(topic, WatchEvent::in_force);
        },
        [self = shared_from_this(), topic] { self->registry_.notify(topic, WatchEvent::unavailable); });
}

bool Watches::watched()
{
    return std::ranges::any_of(registry_.entries(), [](auto const& entry) { return entry.second.watched(); });
}

void Watches::ended(Topic const& topic)
{
    auto const found = registry_.entries().find(topic);
    if (found == registry_.entries().end() || found->second.watched())
        return;
    bool const entered = found->second.state.entered;
    registry_.entries().erase(found);
    for (auto entry = followed_.begin(); entry != followed_.end();) {
        entry->second.lines.erase(topic.first);
        entry = entry->second.lines.empty() ? followed_.erase(entry) : std::next(entry);
    }
    if (topic.second == waiter)
        in_line_.erase(topic.first);
    if (entered)
        change_line(topic.first, [self = shared_from_this(), topic](Line line) {
            auto const* const again = self->registry_.find(topic);
            if (self->session_ != nullptr && again == nullptr)
                line.remove(self->session_->holder().id(), topic.first.line, topic.second);
        });
    if (!watched())
        stop_waiting();
}

void Watches::stop_waiting() noexcept
{
    if (fifo_)
        static_cast<void>(fifo_->release()); // the session closes it
    fifo_.reset();
    waiting_ = false;
}

void Watches::wait()
{
    if (session_ == nullptr || fifo_ || !watched())
        return;
    fifo_.emplace(runtime_->io_executor(), session_->holder().fifo_number());
    on_wake();
}

void Watches::on_wake()
{
    if (!fifo_)
        return;
    std::array<char, 256> bytes;
    while (::read(fifo_->native_handle(), bytes.data(), bytes.size()) > 0) {
    }
    std::vector<Topic> topics;
    for (auto const& [topic, entry] : registry_.entries())
        if (entry.state.entered)
            topics.push_back(topic);
    std::optional<Line> line;
    for (std::size_t at = 0; at < topics.size() && session_ != nullptr; ++at) {
        auto const& stem = topics[at].first.stem;
        if (at == 0 || topics[at - 1].first.stem != stem) {
            auto found = session_->ranges().find(stem);
            auto* const file = std::get_if<RangeFilePtr>(&found);
            line = file != nullptr && *file != nullptr ? std::optional<Line>(*file) : std::nullopt;
        }
        if (line)
            look_at(topics[at], *line);
    }
    // a handler may have ended the last watch, or begun to wait anew
    if (!fifo_ || std::exchange(waiting_, true))
        return;
    fifo_->async_wait(
        asio::posix::descriptor_base::wait_read,
        asio::bind_executor(runtime_->strand(), [weak = weak_from_this()](error_code const& error) {
            auto const self = weak.lock();
            if (self == nullptr || error)
                return;
            self->waiting_ = false;
            self->on_wake();
        }));
}

void Watches::look_at(Topic const& topic, Line const& line)
{
    auto* const state = registry_.find(topic);
    auto const* const entry = line.find(session_->holder().id(), topic.first.line, topic.second);
    if (state == nullptr || entry == nullptr)
        return;
    bool const hinted = std::exchange(state->hints, entry->hints) != entry->hints;
    bool const others = std::exchange(state->others, entry->others) != entry->others;
    if (topic.second == waiter && entry->ticket == 0 && in_line_.erase(topic.first) != 0)
        registry_.notify(topic, WatchEvent::our_turn);
    else if (hinted || others)
        registry_.notify(topic, hinted ? WatchEvent::hint : WatchEvent::others_turn);
}

bool Watches::is_in_line(LinePlace const& place)
{
    if (!in_line_.contains(place) || session_ == nullptr)
        return false;
    auto found = session_->ranges().find(place.stem);
    auto* const file = std::get_if<RangeFilePtr>(&found);
    if (file == nullptr || *file == nullptr)
        return false;
    Line const line(*file);
    auto const* const entry = line.find(session_->holder().id(), place.line, waiter);
    return entry != nullptr && entry->ticket != 0;
}

void Watches::join(LinePlace const& place, Line line, bool in_front)
{
    if (session_ == nullptr)
        return;
    line.join(session_->holder().id(), place.line, in_front);
    in_line_.insert(place);
}

void Watches::leave(LinePlace const& place)
{
    if (in_line_.erase(place) == 0)
        return;
    change_line(place, [self = shared_from_this(), place](Line line) {
        if (self->session_ == nullptr || self->in_line_.contains(place))
            return;
        auto const& id = self->session_->holder().id();
        if (self->registry_.find({place, waiter}) != nullptr)
            line.leave(id, place.line);
        else
            line.remove(id, place.line, waiter);
    });
}

void Watches::follow(LinePlace const& place, std::set<HolderId> const& holders)
{
    constexpr std::size_t most_followed = 64;
    if (session_ == nullptr || registry_.find({place, waiter}) == nullptr)
        return;
    for (auto const& holder : holders)
        if (holder != session_->holder().id() && (followed_.contains(holder) || followed_.size() < most_followed))
            follow(place, holder);
}

void Watches::follow(LinePlace const& place, HolderId const& holder)
{
    auto& followed = followed_[holder];
    followed.lines.insert(place);
    if (followed.fifo != nullptr || followed.looks > 0)
        return;
    auto fifo = session_->directory().open_file(session_->directory().wake(), holder.text(), O_WRONLY);
    if (!fifo) {
        // nobody reads it
        look_whether_dead(holder);
        return;
    }
    followed.fifo = std::make_unique<Fifo>(runtime_->io_executor(), fifo.release());
    followed.fifo->async_wait(
        asio::posix::descriptor_base::wait_error,
        asio::bind_executor(runtime_->strand(), [weak = weak_from_this(), holder](error_code const& error) {
            if (auto const self = weak.lock(); self != nullptr && !error)
                self->look_whether_dead(holder);
        }));
}

void Watches::look_whether_dead(HolderId const& holder)
{
    auto const found = followed_.find(holder);
    if (found == followed_.end() || session_ == nullptr)
        return;
    if (session_->others().alive(holder)) {
        // the end of its FIFO says that it dies; if it does not, its keys free by their ttl
        if (++found->second.looks > most_looks) {
            followed_.erase(found);
            return;
        }
        runtime_->call_at(runtime_->now() + 1ms * (1 << (found->second.looks - 1)), [weak = weak_from_this(), holder] {
            if (auto const self = weak.lock())
                self->look_whether_dead(holder);
        });
        return;
    }
    auto const lines = std::move(found->second.lines);
    followed_.erase(found);
    for (auto const& place : lines)
        on_death(place);
}

void Watches::on_death(LinePlace const& place)
{
    auto event = WatchEvent::hint;
    if (is_in_line(place)) {
        auto const file = std::get<RangeFilePtr>(session_->ranges().find(place.stem));
        Line const line(file);
        auto const own = line.find(session_->holder().id(), place.line, waiter)->ticket;
        for (auto const& entry : line.entries())
            if (entry.role == waiter && entry.line == place.line && entry.ticket != 0 && entry.ticket < own &&
                session_->is_alive(entry.holder))
                event = WatchEvent::others_turn;
    }
    registry_.notify({place, waiter}, event);
}

} // namespace tenure::file
