// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "operations.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::file
{

/** A place, as its record in the file of places has it. */
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

/** The places of a key under its lock, which also keeps plain claims away. Places that have lapsed are gone, and those
 * that fit hold. */
class Places
{
public:
    /** @throws Contended */
    Places(Session& session, KeyRange const& range);

    [[nodiscard]] Look const& look() const noexcept { return look_; }
    /** A plain claim of the key, which then has no places. */
    [[nodiscard]] Occupancy const& plain() const noexcept { return plain_; }
    /** In their order. */
    [[nodiscard]] std::vector<Place> const& line() const noexcept { return line_; }
    [[nodiscard]] std::uint32_t ahead_of(Place const& place) const noexcept
    {
        return static_cast<std::uint32_t>(&place - line_.data());
    }
    /** Null: the owner has no place. */
    [[nodiscard]] Place* find(std::string_view owner) noexcept;
    /** Takes a place at the end. Null: all are taken, or it would have to wait and must not. */
    [[nodiscard]] Place* enter(ClaimRequest const& request);
    /** Gives a place a cell of this store. */
    void take(Place& place, ClaimRequest const& request);
    void write(Place& place, Record const& record) const;
    /** Ends a place. Those behind it may hold then. */
    void leave(Place const& place);
    /** The store of the place learns by the answer to its claim that it holds. */
    void answered(Place const& place);
    /** The places that hold since this lock, and whose stores do not know it yet. */
    [[nodiscard]] std::vector<Promoted> const& promoted() const noexcept { return promoted_; }

private:
    void settle();

    Session& session_;
    RangeFilePtr key_;
    RangeFilePtr file_;
    Look look_;
    Occupancy plain_;
    std::vector<Place> line_;
    /// the last number of the key, also of plain claims
    std::uint64_t last_number_ = 0;
    std::vector<Promoted> promoted_;
};

} // namespace tenure::file
