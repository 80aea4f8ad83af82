// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Line: entries of waiters and observers, and the news for them.
#include "line.hpp"

#include <algorithm>
#include <memory>
#include <system_error>

#include <fcntl.h>

namespace tenure::file
{

Line::Line(RangeFile const& range, HolderFolders const& folders)
    : range_(range)
    , folders_(folders)
{
    auto const header = range.file.read<LineHeader>(0);
    if (header.magic != LineHeader{}.magic) // new, or damaged
        return;
    last_ticket_ = header.last_ticket;
    entries.resize(std::min<std::size_t>(header.entries, most_entries));
    range.file.read_at(sizeof(LineHeader), entries.data(), entries.size() * sizeof(LineEntry));
}

void Line::write()
{
    std::erase_if(entries, [](auto const& entry) { return entry.holder == HolderId{}; });
    LineHeader header;
    header.last_ticket = last_ticket_;
    header.entries = std::min(entries.size(), most_entries);
    range_.file.write_at(sizeof(LineHeader), entries.data(), header.entries * sizeof(LineEntry));
    range_.file.write(0, header);
}

LineEntry& Line::entry(LineEntry const& of)
{
    auto const found = std::ranges::find_if(
        entries, [&](LineEntry const& entry) { return entry.holder == of.holder && entry.watch == of.watch; });
    return found != entries.end() ? *found : entries.emplace_back(of);
}

void Line::join(LineEntry& entry, bool in_front) noexcept
{
    constexpr auto origin = std::int64_t{1} << 32U; // there is always a lower one
    if (entry.ticket != 0)
        return;
    last_ticket_ = std::max(last_ticket_, origin) + 1;
    auto ticket = last_ticket_;
    if (in_front)
        for (auto const& other : entries)
            if (other.ticket != 0 && other.line == entry.line)
                ticket = std::min(ticket, other.ticket - 1);
    entry.ticket = ticket;
}

void Line::drop_dead()
{
    std::erase_if(entries, [this](LineEntry const& entry) { return !folders_.is_alive(entry.holder); });
}

bool Line::add_news(LineEntry& entry, WatchEvent event, std::uint64_t number)
{
    if (!folders_.is_alive(entry.holder)) {
        entry.holder = {};
        return false;
    }
    news.emplace_back(entry.holder, Message{entry.watch, static_cast<std::uint64_t>(event), number});
    return true;
}

void Line::released(Release const& release)
{
    // This many waiters behind the named one are told to hold back: if it has died, the next ones are awake.
    constexpr std::size_t most_told = 8;
    auto const most_named = release.frees ? release.slots.size() : 0;
    std::size_t named = 0;
    std::size_t told = 0;
    // waiters in line first, in their order: 0 becomes the greatest
    std::ranges::sort(entries, {}, [](auto const& entry) { return static_cast<std::uint64_t>(entry.ticket) - 1; });
    for (auto& entry : entries) {
        bool const same_line = entry.line == release.line.slot;
        bool const concerned =
            same_line || entry.line == pool_line || std::ranges::find(release.slots, entry.line) != release.slots.end();
        if (!concerned || (release.observers_only && entry.observes == 0))
            continue;
        auto event = WatchEvent::hint;
        if (entry.observes == 0 && same_line) {
            if (entry.ticket != 0 && named < most_named)
                event = WatchEvent::our_turn;
            else if (named > 0)
                event = WatchEvent::others_turn;
        }
        if (event == WatchEvent::others_turn && ++told > most_told)
            continue;
        if (add_news(entry, event) && event == WatchEvent::our_turn) {
            entry.ticket = 0;
            ++named;
        }
    }
}

void Line::promoted(std::vector<Promoted> const& places)
{
    for (auto& entry : entries)
        if (entry.observes != 0)
            add_news(entry, WatchEvent::hint);
        else
            for (auto const& [holder, number] : places)
                if (holder == entry.holder)
                    add_news(entry, WatchEvent::our_turn, number);
}

bool edit_line(Session& session, std::string const& stem, std::function<void(Line&)> const& change)
{
    auto locked = session.lock(stem, line_area);
    Line line(*locked, session.directory.folders());
    change(line);
    line.write();
    locked.reset();
    bool names_another = false;
    for (auto const& [id, message] : line.news) {
        if (auto const fifo = session.directory.open_file(session.directory.wake, id.text(), O_RDWR))
            send(fifo, message);
        bool const is_named = message.event == static_cast<std::uint64_t>(WatchEvent::our_turn);
        names_another = names_another || (is_named && id != session.holder->id);
    }
    return names_another;
}

bool tell(SessionPtr const& session, std::string const& stem, std::function<void(Line&)> const& change)
try {
    auto const range = session->find(stem);
    if (range == nullptr || Line(*range, session->directory.folders()).entries.empty())
        return false;
    auto const names_another = std::make_shared<bool>(false);
    attempt(session, [=] { *names_another = edit_line(*session, stem, change); });
    return *names_another;
} catch (std::system_error const&) {
    return false; // the release itself is done
}

} // namespace tenure::file
