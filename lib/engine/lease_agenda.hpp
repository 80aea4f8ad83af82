// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/spare_nodes.hpp"

#include <tenure/clock.hpp>

#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::engine
{

class LeaseRecord;
using LeaseRecordPtr = std::shared_ptr<LeaseRecord>;

/** Leases, ordered by the instant at which the keeper must process them next.
 *
 *  Leases that are renewed together stay due together. Each such group is one entry of the map, so a renewal moves a
 *  lease without a search. Everything runs on the strand. */
class LeaseAgenda
{
    using Group = std::list<LeaseRecordPtr>;
    using Groups = std::map<Instant, Group>;

public:
    /** Position of a lease in the agenda, stored in its record. */
    class Place
    {
    public:
        [[nodiscard]] Instant when() const noexcept { return group_->first; }

    private:
        friend LeaseAgenda;

        Groups::iterator group_;
        Group::iterator entry_;
    };

    [[nodiscard]] bool empty() const noexcept { return groups_.empty(); }
    /** When the first lease is due. Requires a lease. */
    [[nodiscard]] Instant first() const noexcept { return groups_.begin()->first; }

    [[nodiscard]] Place add(LeaseRecordPtr record, Instant when)
    {
        // before the group: without memory for the lease no empty group may stay
        Group one;
        Place place;
        place.entry_ = spare_entries_.append(one, std::move(record));
        place.group_ = group_at(when);
        place.group_->second.splice(place.group_->second.end(), one);
        return place;
    }

    void move(Place& place, Instant when)
    {
        if (place.when() == when)
            return;
        auto const group = group_at(when);
        auto& from = place.group_->second;
        group->second.splice(group->second.end(), from, place.entry_);
        if (from.empty())
            remove(place.group_);
        place.group_ = group;
    }

    LeaseRecordPtr take(Place const& place) noexcept
    {
        auto record = spare_entries_.take(place.group_->second, place.entry_);
        if (place.group_->second.empty())
            remove(place.group_);
        return record;
    }

    /** The leases that are due by then, in order. A copy, because processing a lease moves or removes others. */
    [[nodiscard]] std::vector<LeaseRecordPtr> due_by(Instant when) const
    {
        std::vector<LeaseRecordPtr> due;
        for (auto const& [instant, group] : groups_) {
            if (instant > when)
                break;
            due.insert(due.end(), group.begin(), group.end());
        }
        return due;
    }
    [[nodiscard]] std::vector<LeaseRecordPtr> all() const { return due_by(Instant::max()); }

private:
    [[nodiscard]] Groups::iterator group_at(Instant when)
    {
        if (latest_ != groups_.end() && latest_->first == when)
            return latest_;
        latest_ = groups_.lower_bound(when);
        if (latest_ != groups_.end() && latest_->first == when)
            return latest_;
        if (spare_.empty()) {
            latest_ = groups_.emplace_hint(latest_, when, Group());
        } else {
            spare_.key() = when;
            latest_ = groups_.insert(latest_, std::move(spare_));
        }
        return latest_;
    }

    void remove(Groups::iterator group) noexcept
    {
        if (latest_ == group)
            latest_ = groups_.end();
        spare_ = groups_.extract(group);
    }

    Groups groups_;
    /// the group of the last request
    Groups::iterator latest_ = groups_.end();
    /// node of the last group that became empty, reused so that a lease that comes and goes allocates nothing
    Groups::node_type spare_;
    /// for the same reason
    SpareNodes<LeaseRecordPtr> spare_entries_;
};

} // namespace tenure::engine
