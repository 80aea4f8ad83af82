// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches: this store's entries in lines, and what it hears.
#include "watches.hpp"

#include "store/ending_watch.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace tenure::file
{

using namespace std::chrono_literals;

void Watches::begin(SessionPtr session)
{
    session_ = std::move(session);
    mailbox_ =
        std::make_shared<Mailbox>(runtime_, session_->holder->fifo, [weak = weak_from_this()](Message const& message) {
            if (auto const self = weak.lock())
                self->hear(message);
        });
    for (auto const& [id, watched] : watched_)
        enter(id);
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
    mailbox_.reset();
    session_.reset();
}

std::unique_ptr<Watch> Watches::watch(Segment line, WatchAs as, WatchHandler handler)
{
    auto const id = ++last_;
    watched_.try_emplace(id, Watched{std::move(line), as, std::move(handler)});
    enter(id);
    return std::make_unique<store::EndingWatch>([weak = weak_from_this(), id] {
        if (auto const self = weak.lock())
            self->end(id);
    });
}

LineEntry Watches::entry_of(Id id) const
{
    auto const& watched = watched_.at(id);
    return {session_->holder->id, id, 0, watched.line.slot, watched.as == WatchAs::observer ? 1U : 0U};
}

Watches::Id Watches::waiter_of(Segment const& line) const
{
    for (auto const& [id, watched] : watched_)
        if (watched.as == WatchAs::waiter && watched.line.stem == line.stem && watched.line.slot == line.slot)
            return id;
    return 0;
}

void Watches::edit(Segment const& line, std::function<void(Line&)> change, ReplyHandler<ReadyReply> done)
{
    auto steps = [session = session_, stem = line.stem, change = std::move(change)] {
        edit_line(*session, stem, change);
    };
    attempt(session_, std::move(steps), std::move(done));
}

void Watches::enter(Id id)
{
    if (session_ == nullptr)
        return;
    mailbox_->listen();
    auto const enters = [self = shared_from_this(), id](Line& line) {
        if (self->session_ != nullptr && self->watched_.contains(id)) // it may have ended meanwhile
            static_cast<void>(line.entry(self->entry_of(id)));
        if (line.entries.size() > most_entries)
            line.drop_dead();
        if (line.entries.size() > most_entries)
            throw std::runtime_error("the line is full");
    };
    edit(watched_.at(id).line, enters, [self = shared_from_this(), id](ReadyReply&& reply) {
        bool const failed = std::holds_alternative<Failure>(reply);
        self->notify(id, failed ? WatchEvent::unavailable : WatchEvent::in_force);
    });
}

void Watches::end(Id id)
{
    auto const ended = watched_.extract(id);
    if (session_ == nullptr)
        return;
    edit(ended.mapped().line, [own = session_->holder->id, id](Line& line) {
        std::erase_if(line.entries, [&](auto const& entry) { return entry.holder == own && entry.watch == id; });
    });
    if (watched_.empty())
        mailbox_->stop();
}

void Watches::notify(Id id, WatchEvent event, std::vector<std::uint64_t> held)
{
    runtime_->post([weak = weak_from_this(), id, event, held = std::move(held)] {
        auto const self = weak.lock();
        if (self == nullptr || !self->watched_.contains(id))
            return;
        auto const handler = self->watched_.at(id).handler; // a copy, because it may end the watch
        handler({event, held});
    });
}

void Watches::hear(Message const& message)
{
    auto const event = static_cast<WatchEvent>(message.event);
    if (auto const found = watched_.find(message.about); found != watched_.end() && event == WatchEvent::our_turn)
        found->second.in_line = false;
    if (message.number != 0 && event == WatchEvent::our_turn && session_->intact())
        notify(message.about, event, {message.number});
    else if (event == WatchEvent::hint || event == WatchEvent::our_turn || event == WatchEvent::others_turn)
        notify(message.about, event);
}

bool Watches::join(Segment const& line, bool in_front)
{
    auto const id = waiter_of(line);
    if (id == 0 || watched_.at(id).in_line)
        return false;
    try {
        edit_line(*session_, line.stem, [&](Line& present) { present.join(present.entry(entry_of(id)), in_front); });
    } catch (std::system_error const&) { // a full disk: this store polls
    }
    watched_.at(id).in_line = true;
    return true;
}

void Watches::leave(Segment const& line)
{
    auto const id = waiter_of(line);
    if (session_ == nullptr || id == 0 || !std::exchange(watched_.at(id).in_line, false))
        return;
    edit(line, [self = shared_from_this(), id, own = session_->holder->id](Line& present) {
        auto const found = self->watched_.find(id);
        for (auto& entry : present.entries)
            if (found != self->watched_.end() && !found->second.in_line && entry.holder == own && entry.watch == id)
                entry.ticket = 0;
    });
}

void Watches::follow(std::set<HolderId> const& holders)
{
    auto const died = [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            for (auto const& [id, watched] : self->watched_)
                if (watched.as == WatchAs::waiter)
                    self->notify(id, WatchEvent::hint);
    };
    for (auto const& holder : holders)
        if (auto const name = holder.text(); holder != session_->holder->id && !mailbox_->follows(name))
            mailbox_->follow(
                name, session_->directory.open_file(session_->directory.wake, name, O_WRONLY),
                [session = session_, holder] { return session->directory.folders().is_alive(holder); }, died);
}

} // namespace tenure::file
