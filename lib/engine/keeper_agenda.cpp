// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "keeper_agenda.hpp"

#include <utility>

namespace tenure::engine
{

namespace
{

constexpr std::size_t parent(std::size_t place) noexcept
{
    return (place - 1) / 2;
}

constexpr std::size_t first_child(std::size_t place) noexcept
{
    return 2 * place + 1;
}

} // namespace

void KeeperAgenda::put(std::size_t place, Entry entry) noexcept
{
    members_[entry.member].place = place;
    heap_[place] = entry;
}

void KeeperAgenda::settle(std::size_t place, Entry entry) noexcept
{
    for (; place > 0 && entry.when < heap_[parent(place)].when; place = parent(place))
        put(place, heap_[parent(place)]);
    for (auto child = first_child(place); child < heap_.size(); child = first_child(place)) {
        if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when)
            ++child;
        if (entry.when <= heap_[child].when)
            break;
        put(place, heap_[child]);
        place = child;
    }
    put(place, entry);
}

void KeeperAgenda::add(LeaseRecordPtr record, Instant when)
{
    auto const member = static_cast<Member>(members_.size());
    heap_.emplace_back();
    try {
        members_.push_back({record, 0});
    } catch (...) {
        heap_.pop_back();
        throw;
    }
    record->agenda_member = member;
    settle(heap_.size() - 1, {when, member});
}

void KeeperAgenda::move(LeaseRecord& record, Instant when) noexcept
{
    settle(members_[record.agenda_member].place, {when, record.agenda_member});
}

LeaseRecordPtr KeeperAgenda::remove(LeaseRecord& record) noexcept
{
    auto const member = record.agenda_member;
    auto const place = members_[member].place;
    auto const last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size())
        settle(place, last);
    auto removed = std::move(members_[member].record);
    if (member + 1 < members_.size()) {
        // the last one takes the number over
        members_[member] = std::move(members_.back());
        members_[member].record->agenda_member = member;
        heap_[members_[member].place].member = member;
    }
    members_.pop_back();
    return removed;
}

std::vector<LeaseRecordPtr> KeeperAgenda::due_by(Instant when) const
{
    std::vector<LeaseRecordPtr> due;
    std::vector<std::size_t> places;
    auto const consider = [&](std::size_t place) {
        if (place < heap_.size() && heap_[place].when <= when)
            places.push_back(place);
    };
    consider(0);
    // breadth first: what is below a later one is later still
    for (std::size_t next = 0; next < places.size();) {
        auto const place = places[next++];
        due.push_back(members_[heap_[place].member].record);
        consider(first_child(place));
        consider(first_child(place) + 1);
    }
    return due;
}

std::vector<LeaseRecordPtr> KeeperAgenda::all() const
{
    std::vector<LeaseRecordPtr> all;
    all.reserve(members_.size());
    for (auto const& member : members_)
        all.push_back(member.record);
    return all;
}

} // namespace tenure::engine
