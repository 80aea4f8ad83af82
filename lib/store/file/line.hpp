// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "files/mailbox.hpp"
#include "session.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::file
{

/** A release, as waiters and observers hear of it. */
struct Release {
    /// `line_of`
    Segment line;
    std::vector<std::uint32_t> slots;
    /// the keys are free, and as many waiters are named
    bool frees = false;
    bool observers_only = false;
};

/** A place that holds now and did not before. */
struct Promoted {
    HolderId holder;
    std::uint64_t number;
};

/** The stores that wait for keys of a range file, or watch them. Changes need the lock of `line_area`; the line is only
 *  a hint about the order, so a reader needs none. */
class Line
{
public:
    Line(RangeFile const& range, HolderFolders const& folders);
    /** Writes as many entries as there is place for, and none without a holder. */
    void write();

    /** The entry of a watch; a new one if it has none. */
    [[nodiscard]] LineEntry& entry(LineEntry const& of);
    /** Puts an entry at the end of its line or in front of it. No effect if it is in line already. */
    void join(LineEntry& entry, bool in_front) noexcept;
    /** Removes the entries of dead stores. */
    void drop_dead();
    /** Takes the waiters that the release names out of the line. Adds the news. */
    void released(Release const& release);
    /** Adds the news for the stores of these places, and for all observers. */
    void promoted(std::vector<Promoted> const& places);

    std::vector<LineEntry> entries;
    /// messages, and whom they are for
    std::vector<std::pair<HolderId, Message>> news;

private:
    /** Adds a message for an entry. False: its store is dead, and the entry has no holder any longer. */
    bool add_news(LineEntry& entry, WatchEvent event, std::uint64_t number = 0);

    RangeFile const& range_;
    HolderFolders folders_;
    std::int64_t last_ticket_ = 0;
};

/** Changes the line of a stem under its lock, and then sends the news. True if they name a waiter of another store.
 *  @throws Contended */
bool edit_line(Session& session, std::string const& stem, std::function<void(Line&)> const& change);
/** Edits a line if it has entries. False also if it is locked just now, in which case they hear of it later. */
bool tell(SessionPtr const& session, std::string const& stem, std::function<void(Line&)> const& change);

} // namespace tenure::file
