// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <cstddef>

namespace tenure::detail
{

/** A block of at least so many bytes, aligned for everything that `operator new` aligns for. Blocks are kept for the
 * next objects of their size. */
[[nodiscard]] TENURE_API void* take_block(std::size_t size);

/** Gives back what `take_block` gave for the same size, on any thread. */
TENURE_API void give_block(void* block, std::size_t size) noexcept;

} // namespace tenure::detail
