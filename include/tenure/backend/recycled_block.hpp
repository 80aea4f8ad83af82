// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <cstddef>

namespace tenure::detail
{

/** A block of at least `size` bytes with the alignment of `operator new`. Blocks are kept for later objects of their
 * size. */
[[nodiscard]] TENURE_API void* take_block(std::size_t size);

/** Returns a block of `take_block` for the same size, on any thread. */
TENURE_API void give_block(void* block, std::size_t size) noexcept;

} // namespace tenure::detail
