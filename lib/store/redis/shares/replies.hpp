// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of the scripts of places (see scripts.hpp). Each accepts any input and returns nullopt for a
// malformed reply. Texts in the results are views of the reply.
#pragma once

#include "store/redis/wire/value.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** The answer to a claim of a place. */
struct PlaceAnswer {
    enum class Kind {
        held,
        busy,
        /// claims are closed after a failover
        closed,
        /// the key is of another kind
        other
    } kind{};
    /// 0: the owner has no place
    std::uint64_t number = 0;
    std::uint32_t ahead = 0;
    /// until a place may lapse, until claims open, or until the other key expires; unset: never
    std::optional<std::chrono::milliseconds> until = std::nullopt;
    std::string_view note = {};
};
[[nodiscard]] std::optional<PlaceAnswer> read_place_answer(resp::Value const& reply);

/** The answer to the removal of several places. */
struct LeftPlaces {
    /// '0' or '1' for each
    std::string_view flags;
    /// one for each, or none
    std::span<resp::Value const> notes;

    [[nodiscard]] std::string_view note(std::size_t place) const
    {
        return place < notes.size() ? notes[place].as_string() : std::string_view();
    }
};
[[nodiscard]] std::optional<LeftPlaces> read_left_places(resp::Value const& reply, std::size_t places);

/** The answer to the replacement of an owner. */
struct ReplacedOwner {
    /// of the place; unset: the owner has none
    std::optional<std::chrono::milliseconds> remaining;
    std::string_view note;
};
[[nodiscard]] std::optional<ReplacedOwner> read_replaced_owner(resp::Value const& reply);

/** Reads the places of one key from the answer of an inspection: the owner of each, then "number remaining weight
 *  capacity position". Gives them in their order, with those that hold by the rule. */
[[nodiscard]] std::optional<std::vector<Place>> read_places(resp::Value const& list);

} // namespace tenure::redis
