// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/slot.hpp>

#include "engine/lease_record.hpp"

#include <stdexcept>

namespace tenure
{

std::uint32_t Slot::id() const
{
    auto const* const held = record();
    if (held == nullptr)
        throw std::logic_error(
            "tenure::Slot::id(): this object holds no slot (it was moved from, or default-constructed), so there is no "
            "number to use");
    return held->claim().range->first + held->claim().index;
}

} // namespace tenure
