// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdlib>

namespace tenure::fuzz
{

/** Ends the process where the library has broken a promise: the fuzzer then keeps the input. */
inline void demand(bool holds)
{
    if (!holds)
        std::abort();
}

} // namespace tenure::fuzz
