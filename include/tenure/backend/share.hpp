// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace tenure::backend
{

/** The part of a key that a claim asks for, where the key is held in places (`KeyRange::shares`).
 *
 *  Each owner has one place. Places are ordered by their numbers, which are fencing tokens. A place holds if the
 * weights of all places up to its own fit into the least capacity among them. A place that holds keeps holding while it
 * lives, because new places go to the end. */
struct Share {
    /// the whole key: no two shares of this weight fit
    static constexpr std::uint32_t all = 0x7fffffff;
    /// how much of the key it takes; 1 to `capacity`
    std::uint32_t weight = 1;
    /// the greatest sum of weights that may hold together with it; up to `all`
    std::uint32_t capacity = 1;

    /** True if nothing holds beside it. */
    [[nodiscard]] constexpr bool exclusive() const noexcept { return weight == capacity; }

    friend bool operator==(Share const&, Share const&) = default;
};

/** A place that waits. It is a claim with a ttl: claiming again renews it, and `Backend::withdraw` ends it. */
struct InLine {
    /// orders the place, and is the fencing token of the grant that it becomes; never 0
    std::uint64_t number = 0;
    /// how many places were ahead of it
    std::uint32_t ahead = 0;
    /// the ttl of the place
    std::chrono::milliseconds ttl{};
    /// start of the ttl: a local instant before the request was written
    Instant since{};
    /// becomes `Claim::handle` if the place is granted
    std::shared_ptr<void> handle = nullptr;
};

} // namespace tenure::backend
