// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "../model.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

namespace tenure::simulation
{

/** The fencing tokens that leases of a key may have (S10), from the server's changes of its counters, not from its
 * replies.
 *
 *  A token is good for a grant if it was drawn in the step of the server that granted the key (a script, a
 * transaction), or later and before the key was granted again. Then the tokens of a key rise in the order of its
 * grants, wherever the counter rises. After a loss of the counter that is demanded as well, unless the server's clock
 * stands behind the last token. */
class TokenBook
{
public:
    void begin();

    // -- what the server does --

    /** The counter that serves this key was set to the value, and a claim may take it for its token. */
    void drawn(KeyId key, std::uint64_t value);
    /** The key has a new owner, or after a failover an earlier one. */
    void granted(KeyId key, OwnerId owner);
    /** All that happens between two calls happens at once. */
    void step_ends();

    // -- what happens to it --

    /** The counter shows another value than the last one drawn. */
    void lost(KeyId key, std::uint64_t server_micros);
    void clock_jumped(std::uint64_t server_micros);

    /** The fault of a lease of this owner that bears the token; empty: none. */
    [[nodiscard]] std::string against(KeyId key, OwnerId owner, std::uint64_t token) const;

private:
    static constexpr auto open = std::numeric_limits<std::uint64_t>::max();

    struct Grant {
        OwnerId owner = 0;
        /// the counter's highest value before the step of the grant
        std::uint64_t above = 0;
        /// the same of the next grant
        std::uint64_t up_to = open;
    };
    struct Tokens {
        /// of the counter, before the present step
        std::uint64_t highest = 0;
        /// in the present step; 0: none
        std::uint64_t drawn = 0;
        /// the counter was lost after the last draw
        bool lost = false;
        std::vector<Grant> grants;
    };

    std::array<Tokens, key_count> keys_;
    std::unordered_set<std::uint64_t> drawn_;
};

} // namespace tenure::simulation
