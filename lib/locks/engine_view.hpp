// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/contest.hpp"
#include "engine/core.hpp"
#include "engine/lease_record.hpp"

#include <tenure/lease.hpp>
#include <tenure/lock.hpp>

#include <memory>

namespace tenure::locks
{

/** A lock, and the engine behind it. */
class EngineLock : public Lock
{
public:
    explicit EngineLock(Lock const& lock)
        : Lock(lock)
    {
    }
    using Lock::contest;
    [[nodiscard]] std::shared_ptr<engine::Core> const& core() const noexcept { return contest().handle()->core(); }
};

/** The engine's record of a lease, valid while the lease exists. */
struct EngineLease : Lease {
    [[nodiscard]] static std::weak_ptr<engine::LeaseRecord const> record_of(Lease const& lease) noexcept
    {
        return (lease.*&EngineLease::record)()->weak_from_this();
    }
};

} // namespace tenure::locks
