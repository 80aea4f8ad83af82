// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "operations.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::file
{

/** A place of a key, or its plain claim, as the record has it. */
struct Place {
    std::uint32_t slot = 0;
    Record record;
    /// not taken: it has lapsed
    Occupancy state;

    [[nodiscard]] Share share() const noexcept { return {record.weight, record.capacity}; }
};

/** The records of the places of a key. Without the key's lock they may change meanwhile. */
struct PlacesSeen {
    /** @param file  null: the key never had places */
    PlacesSeen(RangeFilePtr const& file, Look& look);

    /** The state of the key for a plain claim: taken until its last place has lapsed. */
    [[nodiscard]] Occupancy occupancy() const noexcept;

    /// by number, which is their order; also those that have lapsed
    std::vector<Place> places;
    /// the greatest number ever drawn; 0: none
    std::uint64_t last_number = 0;
};

/** A key under its lock: its plain claim, or its places. Places that have lapsed are gone, and those that fit hold. */
class Places
{
public:
    /** @throws Contended */
    Places(Session& session, KeyRange const& range, std::uint32_t index);

    [[nodiscard]] Look const& look() const noexcept { return look_; }
    /** Not taken: the key may have places. */
    [[nodiscard]] Place const& plain() const noexcept { return plain_; }
    /** In their order. */
    [[nodiscard]] std::vector<Place> const& line() const noexcept { return line_; }
    [[nodiscard]] std::uint32_t ahead_of(Place const& place) const noexcept
    {
        return static_cast<std::uint32_t>(&place - line_.data());
    }
    /** The place of the owner, or the plain claim. Null: it has neither. */
    [[nodiscard]] Place* find(std::string_view owner) noexcept;
    /** Takes a place at the end. Null: all are taken, or it would have to wait and must not. */
    [[nodiscard]] Place* enter(ClaimRequest const& request);
    /** Renews a place for its owner, who learns by the answer that it holds. One of another store, which has asked for
     * it before, gets a cell of this store. */
    void take(Place& place, ClaimRequest const& request);
    /** Writes the record. */
    void write(Place const& place) const;
    /** Ends a place. Those behind it may hold then. */
    void leave(Place& place);
    /** The places that hold since this lock, and whose stores do not know it yet. */
    [[nodiscard]] std::vector<Promoted> const& promoted() const noexcept { return promoted_; }

private:
    void settle();

    Session& session_;
    /// where its places are
    Segment where_;
    RangeFilePtr key_;
    /// null: the key has no places
    RangeFilePtr file_;
    Look look_;
    Place plain_;
    std::vector<Place> line_;
    /// the last number of the key, also of plain claims
    std::uint64_t last_number_ = 0;
    std::vector<Promoted> promoted_;
};

/** Runs steps on a key under its lock. Then tells the stores of places that hold since then, and observers.
 *  @param tells_always  observers of places hear of it although none has been promoted */
template <class Steps>
auto in_places(SessionPtr const& session, KeyRange const& range, std::uint32_t index, bool tells_always, Steps steps)
{
    std::optional<Places> places(std::in_place, *session, range, index);
    auto reply = steps(*places);
    auto const promoted = places->promoted();
    places.reset(); // unlocks the key
    if (tells_always || !promoted.empty())
        tell(session, places_of(range.key(index)).stem, [promoted](Line& line) { line.promoted(promoted); });
    return reply;
}

} // namespace tenure::file
