// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::test
{

/** Ends what all copies of one memory image have in common. Until this call, every process with this file in it gets
 * the same bytes from the kernel's random number generator. From this call on, each gets bytes of its own. Their wall
 * clocks show the same second for ever. */
void resume_copied_image() noexcept;

} // namespace tenure::test
