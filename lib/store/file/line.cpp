// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Line: entries of waiters and observers.
#include "watches.hpp"

#include <algorithm>
#include <system_error>

namespace tenure::file
{

Line::Line(RangeFile const& range)
    : range_(range)
    , header_(range.file.read<LineHeader>(0))
{
    entries.resize(std::min<std::size_t>(header_.entries, most_entries));
    range.file.read_at(sizeof(LineHeader), entries.data(), entries.size() * sizeof(LineEntry));
}

void Line::write() const
{
    auto header = header_;
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
    header_.last_ticket = std::max(header_.last_ticket, origin) + 1;
    auto ticket = header_.last_ticket;
    if (in_front)
        for (auto const& other : entries)
            if (other.ticket != 0 && other.line == entry.line)
                ticket = std::min(ticket, other.ticket - 1);
    entry.ticket = ticket;
}

std::vector<std::pair<HolderId, Wake>> Line::released(Release const& release, Session const& session)
{
    // This many waiters behind the named one are told to hold back: if it has died, the next ones are awake.
    constexpr std::size_t most_told = 8;
    std::vector<std::pair<HolderId, Wake>> news;
    std::size_t named = 0;
    std::size_t told = 0;
    // waiters in line first, in their order: 0 becomes the greatest
    std::ranges::sort(entries, {}, [](auto const& entry) { return static_cast<std::uint64_t>(entry.ticket) - 1; });
    for (auto& entry : entries) {
        bool const same_line = entry.line == release.place.line;
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
        if (!session.is_alive(entry.holder)) {
            entry.holder = {};
            continue;
        }
        if (event == WatchEvent::our_turn) {
            entry.ticket = 0;
            ++named;
        }
        news.emplace_back(entry.holder, Wake{entry.watch, static_cast<std::uint64_t>(event)});
    }
    std::erase_if(entries, [](auto const& entry) { return entry.holder == HolderId{}; });
    return news;
}

bool tell(SessionPtr const& session, Release release)
try {
    auto const range = session->find(release.place.stem);
    if (range == nullptr || Line(*range).entries.empty())
        return false;
    auto const others = std::make_shared<bool>(false);
    auto steps = [session, release = std::move(release), others]() -> ReadyReply {
        auto locked = session->lock(release.place.stem, line_area);
        Line line(*locked);
        auto const news = line.released(release, *session);
        line.write();
        locked.reset();
        for (auto const& [id, wake] : news) {
            session->wake(id, wake);
            *others = *others || (id != session->holder->id() && wake.event == 2);
        }
        return Ready{};
    };
    attempt<ReadyReply>(session, std::move(steps), [](ReadyReply&&) {});
    return *others;
} catch (std::system_error const&) {
    return false; // the release itself is done
}

} // namespace tenure::file
