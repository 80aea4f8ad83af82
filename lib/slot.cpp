// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/slot.hpp>

#include "engine/lease_record.hpp"

#include <utility>

namespace tenure
{

Slot::Slot(std::shared_ptr<engine::LeaseRecord> record) noexcept
    : Lease(record)
    , id_(record->claim().range->first + record->claim().index)
{
}

} // namespace tenure
