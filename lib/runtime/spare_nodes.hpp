// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <list>
#include <type_traits>
#include <utility>

namespace tenure
{

/** Free nodes of lists, for elements that come and go: a steady load allocates none, and the memory of a crowd is not
 *  kept. Requires an element that holds nothing after a move from it. Not thread-safe. */
template <class Element>
class SpareNodes
{
    static_assert(std::is_nothrow_move_constructible_v<Element> && std::is_nothrow_move_assignable_v<Element>);

public:
    using List = std::list<Element>;

    static constexpr std::size_t most_kept = 256;

    /** Appends the element. @returns its position */
    typename List::iterator append(List& list, Element element)
    {
        if (spare_.empty())
            return list.insert(list.end(), std::move(element));
        auto const node = spare_.begin();
        *node = std::move(element);
        list.splice(list.end(), spare_, node);
        return node;
    }

    /** Removes and returns the element. */
    Element take(List& list, typename List::iterator position) noexcept
    {
        auto element = std::move(*position);
        if (spare_.size() < most_kept)
            spare_.splice(spare_.begin(), list, position);
        else
            list.erase(position);
        return element;
    }

    [[nodiscard]] std::size_t kept() const noexcept { return spare_.size(); }

private:
    List spare_;
};

} // namespace tenure
