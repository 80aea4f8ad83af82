// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches: entries in lines, wake-ups, and deaths of holders.
#include "watches.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

/** A watch that tells when it ends. */
class Watches::Watcher final : public Watch
{
public:
    Watcher(std::weak_ptr<Watches> watches, Id id, std::shared_ptr<Handler> handler)
        : watches_(std::move(watches))
        , id_(id)
        , handler_(std::move(handler))
    {
    }
    Watcher(Watcher const&) = delete;
    Watcher& operator=(Watcher const&) = delete;
    ~Watcher() override
    {
        if (auto const watches = watches_.lock())
            watches->end(id_);
    }

private:
    std::weak_ptr<Watches> watches_;
    Id id_;
    /// the only strong reference: without it the handler is not called
    std::shared_ptr<Handler> handler_;
};

void Watches::begin(SessionPtr session)
{
    session_ = std::move(session);
    fifo_.emplace(runtime_->io_executor(), session_->holder->fifo().number());
    for (auto const& [id, watched] : watched_)
        enter(id);
    wait();
}

void Watches::interrupt()
{
    close();
    for (auto& [id, watched] : watched_) {
        watched.in_line = false;
        notify(id, WatchEvent::interrupted);
    }
}

void Watches::close() noexcept
{
    followed_.clear();
    if (fifo_)
        static_cast<void>(fifo_->release()); // the session closes it
    fifo_.reset();
    session_.reset();
}

std::unique_ptr<Watch> Watches::watch(LinePlace place, WatchAs as, Handler handler)
{
    auto shared = std::make_shared<Handler>(std::move(handler));
    watched_[++last_] = {std::move(place), as == WatchAs::observer, shared};
    enter(last_);
    wait();
    return std::make_unique<Watcher>(weak_from_this(), last_, std::move(shared));
}

LineEntry Watches::entry_of(Id id, Watched const& watched) const
{
    return {session_->holder->id(), id, 0, watched.place.line, watched.observes ? 1U : 0U};
}

void Watches::edit(LinePlace const& place, std::function<void(Line&)> change, ReplyHandler<ReadyReply> done)
{
    if (session_ == nullptr)
        return;
    auto steps = [session = session_, stem = place.stem, change = std::move(change)]() -> ReadyReply {
        auto const locked = session->lock(stem, line_area);
        Line line(*locked);
        change(line);
        line.write();
        return Ready{};
    };
    attempt<ReadyReply>(session_, std::move(steps), std::move(done));
}

void Watches::enter(Id id)
{
    auto const enters = [self = shared_from_this(), id](Line& line) {
        // it may have ended meanwhile
        if (auto const found = self->watched_.find(id); found != self->watched_.end() && self->session_ != nullptr)
            static_cast<void>(line.entry(self->entry_of(id, found->second)));
        if (line.entries.size() > most_entries)
            throw std::runtime_error("the line is full");
    };
    edit(watched_.at(id).place, enters, [self = shared_from_this(), id](ReadyReply&& reply) {
        bool const failed = std::holds_alternative<Failure>(reply);
        self->notify(id, failed ? WatchEvent::unavailable : WatchEvent::in_force);
    });
}

void Watches::end(Id id)
{
    auto const ended = watched_.extract(id);
    if (session_ == nullptr)
        return;
    edit(ended.mapped().place, [own = session_->holder->id(), id](Line& line) {
        std::erase_if(line.entries, [&](auto const& entry) { return entry.holder == own && entry.watch == id; });
    });
    if (watched_.empty()) {
        followed_.clear();
        fifo_->cancel();
    }
}

void Watches::notify(Id id, WatchEvent event)
{
    if (auto const found = watched_.find(id); found != watched_.end())
        runtime_->post([weak = found->second.handler, event] {
            if (auto const handler = weak.lock())
                (*handler)(event);
        });
}

void Watches::wait()
{
    if (!fifo_ || watched_.empty() || std::exchange(waiting_, true))
        return;
    fifo_->async_wait(
        asio::posix::descriptor_base::wait_read,
        asio::bind_executor(runtime_->strand(), [weak = weak_from_this()](error_code const& error) {
            auto const self = weak.lock();
            if (self == nullptr)
                return;
            self->waiting_ = false;
            if (!error && self->fifo_)
                self->hear();
            self->wait();
        }));
}

void Watches::hear()
{
    std::vector<Wake> news(4096); // as many as it holds
    auto const bytes = ::read(fifo_->native_handle(), news.data(), news.size() * sizeof(Wake));
    news.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)) / sizeof(Wake));
    for (auto const& [id, event] : news) {
        if (auto const found = watched_.find(id); found != watched_.end() && event == 2)
            found->second.in_line = false;
        if (event >= 1 && event <= 3)
            notify(id, static_cast<WatchEvent>(event));
    }
}

std::map<Watches::Id, Watches::Watched>::iterator Watches::waiter_of(LinePlace const& place)
{
    return std::ranges::find_if(
        watched_, [&](auto const& one) { return one.second.place == place && !one.second.observes; });
}

bool Watches::join(LinePlace const& place, bool in_front)
{
    auto const found = waiter_of(place);
    if (found == watched_.end() || found->second.in_line)
        return false;
    auto const locked = session_->lock(place.stem, line_area);
    found->second.in_line = true;
    try {
        Line line(*locked);
        line.join(line.entry(entry_of(found->first, found->second)), in_front);
        line.write();
    } catch (std::system_error const&) { // a full disk: this store polls
    }
    return true;
}

void Watches::leave(LinePlace const& place)
{
    auto const found = waiter_of(place);
    if (session_ == nullptr || found == watched_.end() || !std::exchange(found->second.in_line, false))
        return;
    edit(place, [self = shared_from_this(), place, entry = entry_of(found->first, found->second)](Line& line) {
        auto const now = self->waiter_of(place);
        if (now != self->watched_.end() && now->first == entry.watch && !now->second.in_line)
            line.entry(entry).ticket = 0;
    });
}

void Watches::follow(std::set<HolderId> const& holders)
{
    constexpr std::size_t most_followed = 64;
    for (auto const& holder : holders) {
        if (session_ == nullptr || watched_.empty() || holder == session_->holder->id() || followed_.contains(holder))
            continue;
        if (followed_.size() >= most_followed)
            followed_.clear();
        auto& followed = followed_.try_emplace(holder, *runtime_).first->second;
        auto fifo = session_->directory.open_file(session_->directory.wake, holder.text(), O_WRONLY);
        if (!fifo) {
            look_whether_dead(holder, 1ms); // nobody reads it
            continue;
        }
        followed.fifo.emplace(runtime_->io_executor(), fifo.release());
        followed.fifo->async_wait(
            asio::posix::descriptor_base::wait_error,
            asio::bind_executor(runtime_->strand(), [weak = weak_from_this(), holder](error_code const& error) {
                if (auto const self = weak.lock(); self != nullptr && !error)
                    self->look_whether_dead(holder, 1ms);
            }));
    }
}

void Watches::look_whether_dead(HolderId const& holder, std::chrono::milliseconds pause)
{
    auto const found = followed_.find(holder);
    if (found == followed_.end() || session_ == nullptr)
        return;
    // The lock of a dead process vanishes a moment after its FIFO. If it stays, its keys free by their ttl.
    constexpr auto longest_pause = 64ms;
    if (session_->is_alive(holder) && pause <= longest_pause) {
        found->second.again.after(
            pause, weak_from_this(), [holder, pause](Watches& self) { self.look_whether_dead(holder, 2 * pause); });
        return;
    }
    followed_.erase(found);
    for (auto const& [id, watched] : watched_)
        if (!watched.observes)
            notify(id, WatchEvent::hint);
}

} // namespace tenure::file
