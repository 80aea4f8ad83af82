// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// PlaceBook: the rule of shares, in few lines.
#include "place_book.hpp"

#include <tenure/owner.hpp>

#include <algorithm>
#include <variant>

namespace tenure::simulation
{

void PlaceBook::demand(bool holds, char const* rule) const
{
    if (!holds)
        on_violation(rule);
}

PlaceBook::Line& PlaceBook::settle(std::string const& key)
{
    auto& line = lines_[key];
    auto const now = time_.now();
    for (auto place = line.begin(); place != line.end();)
        if (place->lapses <= now) {
            auto const lapsed = *place;
            place = line.erase(place);
            on_lapse(lapsed);
        } else {
            ++place;
        }
    std::uint64_t sum = 0;
    std::uint64_t least = Share::all;
    for (auto& place : line) {
        sum += place.share.weight;
        least = std::min<std::uint64_t>(least, place.share.capacity);
        if (sum <= least && !place.holds())
            place.holds_since = now;
        demand(sum <= least || !place.holds(), "S22: a place that held waits");
    }
    return line;
}

void PlaceBook::claimed(ClaimRequest const& request, ClaimReply const& reply)
{
    auto const& key = request.range->prefix;
    auto& line = settle(key);
    auto const* const granted = std::get_if<Granted>(&reply);
    auto const* const busy = std::get_if<Busy>(&reply);
    demand(granted != nullptr || busy != nullptr, "S22: a claim was neither granted nor busy");
    auto const number = granted ? granted->fencing_token : busy->place ? busy->place->number : 0;
    auto place = std::ranges::find(line, request.owner, &Place::owner);
    bool const is_new = place == line.end();
    if (is_new) {
        auto const text = read_owner(request.owner);
        line.push_back(
            {key, request.owner, text ? text->worker : "", *request.share, number, Instant::max(), Instant::max()});
        settle(key);
        place = line.end() - 1;
        if (request.waits == Waits::no && !place->holds()) {
            line.pop_back();
            demand(busy != nullptr && !busy->place, "S22: a try took a place, or overtook");
            return;
        }
        demand(number > last_[key], "S20: numbers do not follow the order of entry");
        last_[key] = number;
    }
    demand(number <= place->number, "S24: an owner has a second place");
    demand(place->number == number, "S21: a claim was answered with another number than its place has");
    demand(place->holds() == (granted != nullptr), "S22: a claim was granted out of order, or not granted in order");
    place->lapses = time_.now() + request.ttl;
}

void PlaceBook::renewed(RenewRequest const& request, RenewReply const& reply)
{
    auto& line = settle(request.claim->range->prefix);
    auto const place = std::ranges::find(line, request.claim->owner, &Place::owner);
    bool const holds = place != line.end() && place->holds();
    if (std::holds_alternative<Renewed>(reply)) {
        demand(holds, "S21: a place was renewed that does not live and hold");
        place->lapses = time_.now() + request.ttl;
    }
}

void PlaceBook::gave_back(KeyRange const& range, std::string const& owner)
{
    auto& line = settle(range.prefix);
    on_give_back(owner);
    std::erase_if(line, [&](Place const& place) { return place.owner == owner; });
    settle(range.prefix);
}

PlaceBook::Line const& PlaceBook::line(std::string const& key)
{
    return settle(key);
}

PlaceBook::Place const* PlaceBook::find(std::string const& key, std::string const& owner)
{
    auto const& line = settle(key);
    auto const place = std::ranges::find(line, owner, &Place::owner);
    return place == line.end() ? nullptr : &*place;
}

} // namespace tenure::simulation
