// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::mutants
{

/** The number of the planted bug that is active, 0 for none. Set before any thread starts, and constant from then on.
 */
inline int active_number = 0;

/** Whether planted bug `number` is to strike (plant.py writes the calls). */
[[nodiscard]] inline bool active(int number) noexcept
{
    return active_number == number;
}

} // namespace tenure::mutants
