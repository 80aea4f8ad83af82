// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "resp/value.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace tenure::redis
{

/** The answer of the scripts that compare several keys with their owners (see scripts.hpp). */
struct Flags {
    /// for each key whether it bore its owner
    std::vector<bool> own;
    bool publish_refused = false;
};

/** Reads the answer for `keys` keys; unset if it makes no sense. */
[[nodiscard]] std::optional<Flags> read_flags(resp::Value const& reply, std::size_t keys);

} // namespace tenure::redis
