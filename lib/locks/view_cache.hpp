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

/** The last answer of the store, and the time for which it is current. Pure: the caller passes the time. */
class ViewCache
{
public:
    /** True if two states of a key show no change. */
    using Same = bool (*)(KeyState const&, KeyState const&);

    ViewCache(Clock::duration refresh, Same same) noexcept;

    /** Records an answer of the store. True: the version has changed.
     *  @param asked  before the request was written; the age counts from then
     *  @param now  when the answer came */
    [[nodiscard]] bool answered(std::vector<KeyState> keys, Instant asked, Instant now);

    /** Updates the cache for the current time. True: it became stale, which is a new version. */
    [[nodiscard]] bool pass(Instant now) noexcept;

    [[nodiscard]] ViewSnapshot snapshot(Instant now) const;
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

    /** When the first key has expired for certain; `max` if no key expires. */
    [[nodiscard]] Instant expiry() const noexcept { return expiry_; }
    /** When the cache becomes stale; `max` if it is stale or empty. */
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
