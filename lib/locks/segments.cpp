// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Segments: which segments of a SegmentedLock an item covers.
#include <tenure/segments.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

std::uint64_t fnv_1a(std::string_view text) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char const c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

void check_count(char const* what, std::size_t count, std::size_t most)
{
    if (count < 1 || count > most)
        throw std::invalid_argument(
            std::string("Segments::") + what + " has " + std::to_string(count) + ": 1 to " + std::to_string(most));
}

/** The value of the item, which must have the type that the segments divide. */
template <class Value>
Value const& value_of(SegmentItem const& item, char const* wanted)
{
    if (auto const* const value = std::get_if<Value>(&item.value()))
        return *value;
    throw std::invalid_argument(std::string("SegmentItem is of another kind than the segments, which are ") + wanted);
}

template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};

struct Hashed {
    std::uint32_t count;
};
struct Ranges {
    std::vector<std::int64_t> bounds;
};
struct Named {
    std::vector<std::string> names;
};
struct Windows {
    std::chrono::milliseconds length;
};

} // namespace

struct Segments::Division {
    std::variant<Hashed, Ranges, Named, Windows> by;
};

Segments::Segments(Division division)
    : division_(std::make_shared<Division const>(std::move(division)))
{
}

Segments Segments::hashed(std::uint32_t count)
{
    check_count("hashed", count, most);
    return Segments(Division{Hashed{count}});
}

Segments Segments::ranges(std::vector<std::int64_t> bounds)
{
    check_count("ranges", bounds.size(), most - 1);
    if (std::ranges::adjacent_find(bounds, std::greater_equal<>()) != bounds.end())
        throw std::invalid_argument("Segments::ranges: each bound must be greater than the one before");
    return Segments(Division{Ranges{std::move(bounds)}});
}

Segments Segments::named(std::vector<std::string> names)
{
    check_count("named", names.size(), most);
    auto sorted = names;
    std::ranges::sort(sorted);
    if (auto const twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
        throw std::invalid_argument("Segments::named has '" + *twice + "' twice");
    return Segments(Division{Named{std::move(names)}});
}

Segments Segments::windows(std::chrono::milliseconds length)
{
    if (length < std::chrono::milliseconds{1})
        throw std::invalid_argument("Segments::windows of " + std::to_string(length.count()) + " ms: at least 1 ms");
    return Segments(Division{Windows{length}});
}

std::uint32_t Segments::count() const noexcept
{
    return std::visit(
        Overloaded{
            [](Hashed const& hashed) { return hashed.count; },
            [](Ranges const& ranges) { return static_cast<std::uint32_t>(ranges.bounds.size() + 1); },
            [](Named const& named) { return static_cast<std::uint32_t>(named.names.size()); },
            [](Windows const&) { return std::uint32_t{0}; },
        },
        division_->by);
}

std::string Segments::suffix_of(SegmentItem item) const
{
    return std::visit(
        Overloaded{
            [&](Hashed const& hashed) {
                return std::to_string(fnv_1a(value_of<std::string_view>(item, "by hash: give a text")) % hashed.count);
            },
            [&](Ranges const& ranges) {
                auto const number = value_of<std::int64_t>(item, "ranges: give a number");
                return std::to_string(std::ranges::upper_bound(ranges.bounds, number) - ranges.bounds.begin());
            },
            [&](Named const& named) {
                auto const name = value_of<std::string_view>(item, "by name: give a text");
                if (std::ranges::find(named.names, name) == named.names.end())
                    throw std::invalid_argument("no segment has the name '" + std::string(name) + "'");
                return std::string(name);
            },
            [&](Windows const& windows) {
                auto const time = value_of<SegmentItem::Time>(item, "windows: give a time").time_since_epoch();
                auto const beyond = (time % windows.length + windows.length) % windows.length;
                return std::to_string((time - beyond).count());
            },
        },
        division_->by);
}

std::string Segments::suffix(std::uint32_t number) const
{
    if (number >= count())
        throw std::invalid_argument(
            count() == 0
                ? std::string("windows have no numbers: name one by a time")
                : "segment " + std::to_string(number) + " of " + std::to_string(count()) + ": they are counted from 0");
    auto const* const named = std::get_if<Named>(&division_->by);
    return named != nullptr ? named->names[number] : std::to_string(number);
}

} // namespace tenure
