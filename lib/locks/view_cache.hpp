// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>
#include <tenure/inspection.hpp>
#include <tenure/view.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace tenure::locks
{

/** The last answer of the store, and how long it can be relied on. Pure: the caller brings the time. */
class ViewCache
{
public:
    /** Whether two states of a key are no change of it. */
    using Same = bool (*)(KeyState const&, KeyState const&);

    ViewCache(Clock::duration refresh, Same same) noexcept;

    /** The store has answered. True: there is a new version.
     *  @param asked  before the request was written: the age counts from then
     *  @param now  the answer came */
    [[nodiscard]] bool answered(std::vector<KeyState> keys, Instant asked, Instant now);

    /** Time has passed. True: what is known became stale, which is a new version. */
    [[nodiscard]] bool pass(Instant now) noexcept;

    [[nodiscard]] ViewSnapshot snapshot(Instant now) const;
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

    /** The time of the first key has run out for certain; `max` if none is limited. */
    [[nodiscard]] Instant expiry() const noexcept { return expiry_; }
    /** When it becomes stale; `max` if it is, or if nothing is known. */
    [[nodiscard]] Instant stale_at() const noexcept { return asked_ && !stale_ ? relied_on_until_ : Instant::max(); }

private:
    Clock::duration silence_;
    Same same_;
    std::vector<KeyState> keys_;
    /// unset: the store has never answered
    std::optional<Instant> asked_;
    Instant expiry_ = Instant::max();
    Instant relied_on_until_ = Instant::max();
    bool stale_ = false;
    std::uint64_t version_ = 0;
};

} // namespace tenure::locks
