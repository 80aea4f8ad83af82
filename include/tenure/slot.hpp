// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lease.hpp>

#include <cstdint>

namespace tenure
{

/** A lease on a numbered key of a pool. */
class [[nodiscard]] Slot : public Lease
{
public:
    /** No slot: `valid()` is false and `id()` is 0. */
    Slot() noexcept = default;
    explicit Slot(std::shared_ptr<engine::LeaseRecord> record) noexcept;

    /** The number: in [0, size) of its pool, and distinct among all live slots of the pool. */
    [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

private:
    std::uint32_t id_ = 0;
};

} // namespace tenure
