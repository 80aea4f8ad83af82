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
    entry.record->agenda_place = place;
    heap_[place] = std::move(entry);
}

void KeeperAgenda::settle(std::size_t place, Entry entry) noexcept
{
    for (; place > 0 && entry.when < heap_[parent(place)].when; place = parent(place))
        put(place, std::move(heap_[parent(place)]));
    for (auto child = first_child(place); child < heap_.size(); child = first_child(place)) {
        if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when)
            ++child;
        if (entry.when <= heap_[child].when)
            break;
        put(place, std::move(heap_[child]));
        place = child;
    }
    put(place, std::move(entry));
}

void KeeperAgenda::add(LeaseRecordPtr record, Instant when)
{
    heap_.emplace_back();
    settle(heap_.size() - 1, {when, std::move(record)});
}

void KeeperAgenda::move(LeaseRecord& record, Instant when) noexcept
{
    auto const place = record.agenda_place;
    settle(place, {when, std::move(heap_[place].record)});
}

LeaseRecordPtr KeeperAgenda::remove(LeaseRecord& record) noexcept
{
    auto const place = record.agenda_place;
    auto removed = std::move(heap_[place].record);
    auto last = std::move(heap_.back());
    heap_.pop_back();
    if (place < heap_.size())
        settle(place, std::move(last));
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
    for (std::size_t next = 0; next < places.size(); ++next) {
        due.push_back(heap_[places[next]].record);
        consider(first_child(places[next]));
        consider(first_child(places[next]) + 1);
    }
    return due;
}

std::vector<LeaseRecordPtr> KeeperAgenda::all() const
{
    std::vector<LeaseRecordPtr> all;
    all.reserve(heap_.size());
    for (auto const& entry : heap_)
        all.push_back(entry.record);
    return all;
}

} // namespace tenure::engine
