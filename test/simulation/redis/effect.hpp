// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "../model.hpp"

#include <cstdint>
#include <vector>

namespace tenure::simulation
{

/** The meaning of a complete reply, as the store gave it, without any parser. */
struct Effect {
    enum class Kind : std::uint8_t {
        /// the key bears the owner for `ttl` from `written`
        held,
        /// a subscriber is told that a key of the range was freed, or that it is its turn
        hint,
        /// a subscriber is told that others were named for a key of the range
        others_named,
        /// the owner's release named a waiter of another process
        named_another,
        /// a step of the login
        login,
        /// a script is not known by its name; `owner` stands for the name
        unknown_script,
        /// a script has to be sent again, as its text or as another one, on a server that refuses some texts
        another_trip
    };
    Kind kind{};
    RangeId range{};
    OwnerId owner = 0;
    Ns ttl = 0;
    /// when the first byte of the request was handed to the connection, in world time
    Ns written = 0;
};
using Effects = std::vector<Effect>;

} // namespace tenure::simulation
