// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys that are held in places (backend::Share): the key and the value of a place, and the places as last read.
#pragma once

#include "runtime/names.hpp"
#include "store/etcd/http/messages.hpp"
#include "store/etcd/leases/leases.hpp"

#include <store/share_sum.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::etcd
{

/// a read of the places of a key in their order, holders included, and of one beyond the most
inline constexpr RangeOptions all_places{.limit = most_places + 1, .by_creation = true};

/** The interval of all places of a key, and of whatever else lies below it. */
[[nodiscard]] Keys places_of(std::string const& key);

/** The key of a place, as etcd's own recipes name it. */
[[nodiscard]] std::string place_key(std::string const& key, LeaseId lease);

/** The key that is held in this place; else the name of the entry itself. */
[[nodiscard]] std::string_view held_in(KeyValue const& entry) noexcept;

/** Begins with the owner. Without a second line it is a share of 1 in 1, as other programs' places are. */
[[nodiscard]] std::string place_value(std::string owner, Share const& share);

struct PlaceValue {
    std::string_view owner;
    Share share;
};
[[nodiscard]] PlaceValue read_place(std::string_view value) noexcept;

// -- of a claim, whose key may be that of a place --

[[nodiscard]] std::string entry_of(Claim const& claim);
/** The value of its key once its owner is replaced by this text. */
[[nodiscard]] std::string value_for(Claim const& claim, std::string owner);

/** The places of watched keys. Only the deletion of another place can make a waiting one hold, so a waiter asks the
 *  server again when its place fits by what is known here. */
class PlaceLines
{
public:
    void watch(Keys const& places) { lines_.try_emplace(places); }
    /** Forgets all whose watch has ended. */
    template <class Watched>
    void keep_if(Watched watched)
    {
        std::erase_if(lines_, [&](auto const& line) { return !watched(line.first); });
    }
    [[nodiscard]] bool watches(Keys const& places) const { return lines_.contains(places); }

    /** Keeps what was read, without the places whose later deletion is known. */
    void read(Keys const& places, RangeReply& page);
    /** True if one of this store's places holds since these deletions. */
    [[nodiscard]] bool ended(Keys const& places, std::vector<KeyValue> const& deleted, Leases const& leases);

private:
    struct Line {
        /// the latest read
        RangeReply page;
        /// deletions, which may be later than a read that is still to come
        std::vector<KeyValue> deleted;
    };
    std::map<Keys, Line> lines_;
};

} // namespace tenure::etcd
