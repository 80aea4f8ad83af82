// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Line: entries of waiters and observers, and the news for them.
#include "line.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include <fcntl.h>

namespace tenure::file
{

Line::Line(RangeFile const& range)
    : range_(range)
{
    auto const header = range.file.read<LineHeader>(0);
    if (header.magic != LineHeader{}.magic) // new, or damaged
        return;
    last_ticket_ = header.last_ticket;
    entries.resize(std::min<std::size_t>(header.entries, most_entries));
    range.file.read_at(sizeof(LineHeader), entries.data(), entries.size() * sizeof(LineEntry));
}

void Line::write() const
{
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

News Line::released(Release const& release, Session const& session)
{
    // This many waiters behind the named one are told to hold back: if it has died, the next ones are awake.
    constexpr std::size_t most_told = 8;
    News news;
    std::size_t named = 0;
    std::size_t told = 0;
    // waiters in line first, in their order: 0 becomes the greatest
    std::ranges::sort(entries, {}, [](auto const& entry) { return static_cast<std::uint64_t>(entry.ticket) - 1; });
    for (auto& entry : entries) {
        bool const same_line = entry.line == release.place.slot;
        bool const concerned =
            same_line || entry.line == pool_line || std::ranges::find(release.slots, entry.line) != release.slots.end();
        if (!concerned || (release.observers_only && entry.observes == 0))
            continue;
        auto event = WatchEvent::hint;
        if (entry.observes == 0 && same_line) {
            if (entry.ticket != 0 && named < release.names)
                event = WatchEvent::our_turn;
            else if (named > 0)
                event = WatchEvent::others_turn;
        }
        if (event == WatchEvent::others_turn && ++told > most_told)
            continue;
        if (!session.directory.folders().is_alive(entry.holder)) {
            entry.holder = {};
            continue;
        }
        if (event == WatchEvent::our_turn) {
            entry.ticket = 0;
            ++named;
        }
        news.emplace_back(entry.holder, Message{entry.watch, static_cast<std::uint64_t>(event)});
    }
    std::erase_if(entries, [](auto const& entry) { return entry.holder == HolderId{}; });
    return news;
}

News Line::promoted(std::vector<Promoted> const& places, Session const& session)
{
    News news;
    for (auto& entry : entries) {
        News own;
        if (entry.observes != 0)
            own.emplace_back(entry.holder, Message{entry.watch, static_cast<std::uint64_t>(WatchEvent::hint)});
        else
            for (auto const& [holder, number] : places)
                if (holder == entry.holder)
                    own.emplace_back(
                        holder, Message{entry.watch, static_cast<std::uint64_t>(WatchEvent::our_turn), number});
        if (!own.empty() && !session.directory.folders().is_alive(entry.holder))
            entry.holder = {};
        else
            news.insert(news.end(), own.begin(), own.end());
    }
    std::erase_if(entries, [](auto const& entry) { return entry.holder == HolderId{}; });
    return news;
}

namespace
{

/** Sends news about a line. True if another store was named; false also if the line is locked just now. */
bool send_news(SessionPtr const& session, std::string const& stem, std::function<News(Line&)> news_of)
try {
    auto const range = session->find(stem);
    if (range == nullptr || Line(*range).entries.empty())
        return false;
    auto const others = std::make_shared<bool>(false);
    auto steps = [session, stem, news_of = std::move(news_of), others]() -> ReadyReply {
        auto locked = session->lock(stem, line_area);
        Line line(*locked);
        auto const news = news_of(line);
        line.write();
        locked.reset();
        for (auto const& [id, message] : news) {
            if (auto const fifo = session->directory.open_file(session->directory.wake, id.text(), O_RDWR))
                send(fifo, message);
            bool const is_named = message.event == static_cast<std::uint64_t>(WatchEvent::our_turn);
            *others = *others || (is_named && id != session->holder->id);
        }
        return Ready{};
    };
    attempt<ReadyReply>(session, std::move(steps), [](ReadyReply&&) {});
    return *others;
} catch (std::system_error const&) {
    return false; // the release itself is done
}

} // namespace

bool tell(SessionPtr const& session, Release release)
{
    auto const stem = release.place.stem;
    return send_news(session, stem, [session, release = std::move(release)](Line& line) {
        return line.released(release, *session);
    });
}

void tell_promoted(SessionPtr const& session, Segment const& line, std::vector<Promoted> places)
{
    send_news(session, line.stem, [session, places = std::move(places)](Line& present) {
        return present.promoted(places, *session);
    });
}

} // namespace tenure::file
