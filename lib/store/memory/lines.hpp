// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenure::memory
{

/** Stands for a store in lines. */
using StoreName = std::uint64_t;
/** Somebody without a store of its own. */
constexpr StoreName nameless = 0;

/** The stores that wait for keys, first come first served: a line for each lock or pool. Not thread-safe. */
class Lines
{
public:
    /** Whether ranges have one line: they do if they differ only in their number of keys. */
    [[nodiscard]] static bool same_line(KeyRange const& left, KeyRange const& right) noexcept
    {
        return left.numbered == right.numbered && left.prefix == right.prefix;
    }

    /** Appends the store, or puts it in front, unless it stands there. A line that is full takes nobody. */
    void join(KeyRange const& range, StoreName store, bool in_front, Instant now);
    void leave(KeyRange const& range, StoreName store);
    /** Takes the first `count` stores out of the line. */
    [[nodiscard]] std::vector<StoreName> name_first(KeyRange const& range, std::size_t count, Instant now);

private:
    struct Line {
        std::deque<StoreName> stores;
        /// nobody has asked for so long that whoever stands here is gone
        Instant lapses;
    };
    using Key = std::pair<std::string, bool>;

    /** The line, if it has not lapsed. */
    [[nodiscard]] std::map<Key, Line>::iterator find(KeyRange const& range, Instant now);

    /// those that nobody stands in are dropped
    std::map<Key, Line> lines_;
};

} // namespace tenure::memory
