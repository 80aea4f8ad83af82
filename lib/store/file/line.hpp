// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "files/mailbox.hpp"
#include "session.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tenure::file
{

/** A release, as waiters and observers hear of it. */
struct Release {
    /// `line_of`
    Segment place;
    std::vector<std::uint32_t> slots;
    /// how many waiters it names
    std::size_t names = 0;
    bool observers_only = false;
};

/** A place that holds now and did not before. */
struct Promoted {
    HolderId holder;
    std::uint64_t number;
};

/** Messages, and whom they are for. */
using News = std::vector<std::pair<HolderId, Message>>;

/** The stores that wait for keys of a range file, or watch them. Changes need the lock of `line_area`; the line is only
 *  a hint about the order, so a reader needs none. */
class Line
{
public:
    explicit Line(RangeFile const& range);
    /** Writes as many entries as there is place for. */
    void write() const;

    /** The entry of a watch; a new one if it has none. */
    [[nodiscard]] LineEntry& entry(LineEntry const& of);
    /** Puts an entry at the end of its line or in front of it. No effect if it is in line already. */
    void join(LineEntry& entry, bool in_front) noexcept;
    /** Takes the waiters that the release names out of the line. Returns the news, for whom and what. */
    [[nodiscard]] News released(Release const& release, Session const& session);
    /** Returns the news for the stores of these places, and for all observers. */
    [[nodiscard]] News promoted(std::vector<Promoted> const& places, Session const& session);

    std::vector<LineEntry> entries;

private:
    RangeFile const& range_;
    std::int64_t last_ticket_ = 0;
};

/** Tells waiters and observers of a release. True if it names a waiter of another store; false also if the line is
 *  locked just now, in which case they hear of it later. */
bool tell(SessionPtr const& session, Release release);
/** Tells stores which of their places hold since a change, and observers that there was one. */
void tell_promoted(SessionPtr const& session, Segment const& line, std::vector<Promoted> places);

} // namespace tenure::file
