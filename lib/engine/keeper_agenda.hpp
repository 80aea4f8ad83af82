// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_record.hpp"

#include <cstddef>
#include <vector>

namespace tenure::engine
{

/** When the keeper has to look at which lease next: a heap in which each lease knows its place, so that one that is
 * looked at again and again is moved without a search and without an allocation. Not thread-safe. */
class KeeperAgenda
{
public:
    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }

    /** The earliest instant; there must be one. */
    [[nodiscard]] Instant first() const noexcept { return heap_.front().when; }

    /** The lease must not be in an agenda. */
    void add(LeaseRecordPtr record, Instant when);

    /** The lease must be in this agenda, here and below. */
    void move(LeaseRecord& record, Instant when) noexcept;

    /** Takes the lease out. */
    [[nodiscard]] LeaseRecordPtr remove(LeaseRecord& record) noexcept;

    /** Those that have to be looked at by this instant. */
    [[nodiscard]] std::vector<LeaseRecordPtr> due_by(Instant when) const;

    [[nodiscard]] std::vector<LeaseRecordPtr> all() const;

    /** Of one that is in this agenda. */
    [[nodiscard]] Instant instant_of(LeaseRecord const& record) const noexcept
    {
        return heap_[record.agenda_place].when;
    }

private:
    struct Entry {
        Instant when;
        LeaseRecordPtr record;
    };

    /** Puts the entry where it belongs, from this free place up or down. */
    void settle(std::size_t place, Entry entry) noexcept;
    void put(std::size_t place, Entry entry) noexcept;

    std::vector<Entry> heap_;
};

} // namespace tenure::engine
