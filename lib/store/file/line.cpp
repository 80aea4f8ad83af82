// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Line: entries of waiters and observers.
#include "line.hpp"

#include <algorithm>
#include <cstddef>

namespace tenure::file
{

namespace
{

/// This many waiters behind the named one are told to hold back: if it has died, the next ones are awake.
constexpr std::size_t most_told = 8;

bool concerns(LineEntry const& entry, Line::Release const& release)
{
    return entry.role != 0 && (entry.line == release.line || entry.line == pool_line ||
                               std::ranges::find(release.slots, entry.line) != release.slots.end());
}

} // namespace

Line::Line(RangeFilePtr file)
    : file_(std::move(file))
{
    auto const count = file_->file().read<std::uint32_t>(offsetof(RangeHeader, entries));
    entries_.resize(std::min<std::size_t>(count, most_entries));
    if (!file_->file().read_at(entries_at, entries_.data(), entries_.size() * sizeof(LineEntry)))
        entries_.clear();
}

std::size_t Line::position(HolderId const& holder, std::uint32_t line, std::uint8_t role) const noexcept
{
    auto const found = std::ranges::find_if(entries_, [&](LineEntry const& entry) {
        return entry.role == role && entry.line == line && entry.holder == holder;
    });
    return static_cast<std::size_t>(found - entries_.begin());
}

LineEntry const* Line::find(HolderId const& holder, std::uint32_t line, std::uint8_t role) const noexcept
{
    auto const at = position(holder, line, role);
    return at < entries_.size() ? &entries_[at] : nullptr;
}

bool Line::write(std::size_t position) const
{
    return file_->file().write(
        entries_at + static_cast<std::int64_t>(position * sizeof(LineEntry)), entries_[position]);
}

bool Line::add(HolderId const& holder, std::uint32_t line, std::uint8_t role)
{
    if (position(holder, line, role) < entries_.size())
        return true;
    auto const free = std::ranges::find(entries_, 0, &LineEntry::role);
    auto const at = static_cast<std::size_t>(free - entries_.begin());
    if (at == most_entries)
        return false;
    if (at == entries_.size())
        entries_.emplace_back();
    entries_[at] = {holder, 0, line, role, 0, 0, 0};
    return write(at) &&
           file_->file().write(offsetof(RangeHeader, entries), static_cast<std::uint32_t>(entries_.size()));
}

void Line::erase(std::size_t position)
{
    entries_[position] = {};
    static_cast<void>(write(position));
    while (!entries_.empty() && entries_.back().role == 0)
        entries_.pop_back();
    static_cast<void>(file_->file().write(offsetof(RangeHeader, entries), static_cast<std::uint32_t>(entries_.size())));
}

void Line::remove(HolderId const& holder, std::uint32_t line, std::uint8_t role)
{
    if (auto const at = position(holder, line, role); at < entries_.size())
        erase(at);
}

std::int64_t Line::next_ticket()
{
    auto const ticket = file_->file().read<std::int64_t>(offsetof(RangeHeader, last_ticket)) + 1;
    static_cast<void>(file_->file().write(offsetof(RangeHeader, last_ticket), ticket));
    return ticket;
}

void Line::join(HolderId const& holder, std::uint32_t line, bool in_front)
{
    constexpr auto role = role_of(WatchAs::waiter);
    if (!add(holder, line, role))
        return;
    auto const at = position(holder, line, role);
    if (entries_[at].ticket != 0)
        return;
    auto ticket = next_ticket();
    if (in_front)
        for (auto const& entry : entries_)
            if (entry.role == role && entry.line == line && entry.ticket != 0)
                ticket = std::min(ticket, entry.ticket - 1);
    entries_[at].ticket = ticket;
    static_cast<void>(write(at));
}

void Line::leave(HolderId const& holder, std::uint32_t line)
{
    auto const at = position(holder, line, role_of(WatchAs::waiter));
    if (at == entries_.size() || entries_[at].ticket == 0)
        return;
    entries_[at].ticket = 0;
    static_cast<void>(write(at));
}

Line::News Line::released(Release const& release, std::function<bool(HolderId const&)> const& alive)
{
    News news;
    std::vector<std::size_t> concerned;
    for (std::size_t at = 0; at < entries_.size(); ++at)
        if (concerns(entries_[at], release))
            concerned.push_back(at);
    // those in line first, in their order
    std::ranges::sort(concerned, {}, [this](std::size_t at) {
        auto const ticket = static_cast<std::uint64_t>(entries_[at].ticket);
        return ticket - 1; // 0 becomes the greatest
    });
    std::size_t told = 0;
    for (auto const at : concerned) {
        auto& entry = entries_[at];
        bool const waits = entry.role == role_of(WatchAs::waiter);
        if (waits && release.observers_only)
            continue;
        bool const in_line = waits && entry.line == release.line;
        bool const yields = in_line && !news.named.empty();
        if (in_line && news.named.size() == release.names && yields && told++ >= most_told)
            continue;
        if (!alive(entry.holder)) {
            entry = {}; // the file keeps a free place, whose end `erase` cuts off some day
            static_cast<void>(write(at));
            continue;
        }
        if (in_line && entry.ticket != 0 && news.named.size() < release.names) {
            entry.ticket = 0;
            news.named.push_back(entry.holder);
        } else {
            ++(yields ? entry.others : entry.hints);
        }
        static_cast<void>(write(at));
        if (std::ranges::find(news.wake, entry.holder) == news.wake.end())
            news.wake.push_back(entry.holder);
    }
    return news;
}

} // namespace tenure::file
