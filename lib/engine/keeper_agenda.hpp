// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "lease_record.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::engine
{

/** When the keeper has to look at which lease next: a heap of instants in which the place of each lease is known, so
 * that one that is looked at again and again is moved without a search, without an allocation, and without a look at
 * any other lease: thousands of them lie far apart. Not thread-safe. */
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
        return heap_[members_[record.agenda_member].place].when;
    }

private:
    using Member = std::uint32_t;
    struct Entry {
        Instant when;
        Member member;
    };
    struct Listed {
        LeaseRecordPtr record;
        /// in the heap
        std::size_t place;
    };

    /** Puts the entry where it belongs, from this free place up or down. */
    void settle(std::size_t place, Entry entry) noexcept;
    void put(std::size_t place, Entry entry) noexcept;

    std::vector<Entry> heap_;
    /// each lease knows its own number here; no gaps
    std::vector<Listed> members_;
};

} // namespace tenure::engine
