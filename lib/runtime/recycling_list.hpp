// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <list>
#include <utility>

namespace tenure::engine
{

/** A list that keeps the nodes of what was erased for what comes next: a steady load allocates none. */
template <class T>
class RecyclingList
{
public:
    using iterator = typename std::list<T>::iterator;

    [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
    [[nodiscard]] auto begin() const noexcept { return list_.begin(); }
    [[nodiscard]] auto end() const noexcept { return list_.end(); }

    iterator push_back(T value)
    {
        if (spare_.empty())
            return list_.insert(list_.end(), std::move(value));
        spare_.front() = std::move(value);
        list_.splice(list_.end(), spare_, spare_.begin());
        return std::prev(list_.end());
    }

    void erase(iterator place) noexcept
    {
        spare_.splice(spare_.begin(), list_, place);
        // it may be the last reference, whose end may come back here
        T const gone = std::exchange(spare_.front(), T());
    }

    [[nodiscard]] std::list<T> take_all() noexcept { return std::exchange(list_, {}); }

private:
    std::list<T> list_;
    std::list<T> spare_;
};

} // namespace tenure::engine
