// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/wire/value.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace tenure::redis
{

/** The answer of the script that renews several keys (see scripts.hpp). */
struct Flags {
    /// for each key '1' if it bore its owner, else '0'; within the reply
    std::string_view own;
};

/** Reads the answer for `keys` keys; unset if it makes no sense. */
[[nodiscard]] std::optional<Flags> read_flags(resp::Value const& reply, std::size_t keys);

} // namespace tenure::redis
