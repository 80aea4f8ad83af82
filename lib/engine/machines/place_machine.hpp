// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_terms.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenure::engine
{

/** The place of one acquisition in the store, where the key is held in places (`backend::Share`). A pure state machine;
 *  no I/O, no clock.
 *
 *  1. The first waiters of a process have places, the others queue: one if its share is exclusive, else up to 16.
 *  2. An acquisition asks for its place from its first claim on, and again a third of the ttl after each answered
 * claim.
 *  3. A message with the number of the place is a grant, which counts from the claim that was last answered.
 *  4. A message that leaves too little of the ttl for a lease is no grant: the acquisition asks at once.
 *  5. News without numbers make it ask at once, also numbers that come before it knows its own; news of others do not.
 *  6. Of two answers the greater number counts, and of one number the later claim.
 *  7. A greater number than before means that the place has lapsed.
 *  8. An acquisition that ends without a lease withdraws its place, unless the next waiter of the process inherits it.
 *  9. A place is inherited only if no claim of it is pending or unknown.
 * 10. A place that a late answer names is withdrawn, unless its owner holds a lease by then. */
class PlaceMachine
{
public:
    /// most waiters of a process with places, if their shares are not exclusive
    static constexpr std::size_t most_heads = 16;

    /** True if one more waiter gets a place (rule 1).
     *  @param heads  how many have places
     *  @param first  the share of the first of them */
    [[nodiscard]] static bool
    admits(std::size_t heads, backend::Share const& first, backend::Share const& next) noexcept
    {
        return heads == 0 || (heads < most_heads && !first.exclusive() && !next.exclusive());
    }

    /** A claim was answered with this place. */
    void placed(backend::InLine const& place) noexcept;
    /** True if an answer with this number means that the former place has lapsed. */
    [[nodiscard]] bool lapsed(std::uint64_t number) const noexcept { return place_ && number > place_->number; }
    /** Its owner is spent: its place is being given back. */
    void forget() noexcept { place_.reset(); }
    /** Takes over a place. */
    void inherit(PlaceMachine const& from) noexcept { place_ = from.place_; }

    /** The actions after news. */
    struct Step {
        /// claim at once, or right after the pending answer
        bool ask = false;
        /// the place has become this grant
        std::optional<backend::Granted> grant = std::nullopt;
    };
    [[nodiscard]] Step heard(backend::WatchNews news, RenewalTerms const& terms, Instant now) const;

    /** It has a place, as far as known. */
    [[nodiscard]] bool has_place() const noexcept { return place_.has_value(); }
    /** When to ask again; max without a place. */
    [[nodiscard]] Instant ask_by() const noexcept
    {
        return place_ ? place_->since + Clock::duration(place_->ttl) / 3 : Instant::max();
    }
    /** True if another waiter may take over the place.
     *  @param asking  a claim of it is pending, or has an unknown outcome */
    [[nodiscard]] bool heritable(bool asking) const noexcept { return place_ && !asking; }
    /** True if the place must be withdrawn when the acquisition ends without a lease. */
    [[nodiscard]] bool withdraws(bool inherited) const noexcept { return place_ && !inherited; }
    /** True if the place of a late answer must be withdrawn. */
    [[nodiscard]] static bool withdraws_late(backend::Busy const& late, bool holds_lease) noexcept
    {
        return late.place && !holds_lease;
    }

private:
    /// as the store answered last; unset before
    std::optional<backend::InLine> place_;
};

} // namespace tenure::engine
