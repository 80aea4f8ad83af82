// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "place_line.hpp"

#include <store/share_sum.hpp>

#include <algorithm>

namespace tenure::zookeeper
{

PlaceLine::PlaceLine(std::vector<std::string> const& children)
{
    for (auto const& child : children)
        if (auto const place = read_place(child))
            places_.push_back({*place, child});
        else
            others_ = true;
    std::ranges::sort(places_, {}, [](Entry const& entry) { return entry.place.digits; });
}

bool PlaceLine::mixed(bool reads_or_writes) const
{
    return others_ || std::ranges::any_of(
                          places_, [&](Entry const& entry) { return entry.place.reads_or_writes != reads_or_writes; });
}

std::size_t PlaceLine::find(std::string_view name) const
{
    auto const found = std::ranges::find(places_, name, &Entry::name);
    return static_cast<std::size_t>(found - places_.begin());
}

bool PlaceLine::holds(std::size_t at) const
{
    ShareSum sum;
    bool holds = false;
    for (std::size_t i = 0; i <= at; ++i)
        holds = sum.add(share(i));
    return holds;
}

bool PlaceLine::fits_behind(backend::Share const& next) const
{
    ShareSum sum;
    for (std::size_t i = 0; i < size(); ++i)
        (void)sum.add(share(i));
    return sum.add(next) && size() < most_places;
}

std::string_view PlaceLine::blocker(std::size_t at) const
{
    if (share(at).exclusive())
        return name(at - 1);
    for (auto i = at; i > 0 && share(at).weight == 1; --i)
        if (share(i - 1).weight == backend::Share::all)
            return name(i - 1);
    return {};
}

} // namespace tenure::zookeeper
