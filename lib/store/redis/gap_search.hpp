// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace tenure::redis
{

/** Some of the keys of a range. */
struct RangePart {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/** True where `find_gap` is expected to save more than the round trip that it costs: a large range of one page whose
 * first part was held when it was claimed from last. */
[[nodiscard]] bool is_worth_a_gap_search(NodePtr const& node, KeyRangePtr const& range);

/** Remembers where the first free key was. `index` is unset where there was none. */
void note_first_free(NodePtr const& node, KeyRangePtr const& range, std::optional<std::uint32_t> index);

/** Looks for the first part of the range with a free key, by commands that the server executes in half the time of a
 * script over the same keys. Just a hint: the claim must look again. Unset: there is none, or it could not be told. */
void find_gap(
    NodePtr const& node, KeyRangePtr const& range, Deadline not_after,
    std::function<void(std::optional<RangePart>)> handler);

} // namespace tenure::redis
