// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tenure::faults
{

/** The part of a key that one acquisition asks for. */
struct Part {
    std::uint32_t weight = 1;
    std::uint32_t capacity = 1;

    /** As the auditor keeps it with an interval. */
    [[nodiscard]] std::uint64_t mark() const noexcept { return std::uint64_t{weight} << 32U | capacity; }
    [[nodiscard]] static Part of(std::uint64_t mark) noexcept
    {
        return {static_cast<std::uint32_t>(mark >> 32U), static_cast<std::uint32_t>(mark)};
    }
    /** The two cannot hold at the same time. */
    [[nodiscard]] bool excludes(Part const& other) const noexcept
    {
        return std::uint64_t{weight} + other.weight > std::min(capacity, other.capacity);
    }
};

/** The part of one worker in a run in which the locks are held in shares. */
struct ShareWork {
    /// `Arena::kinds`
    std::string kinds;
    /// which worker it is, of how many
    unsigned number = 0;
    unsigned peers = 1;
    /// the run, in ns of CLOCK_BOOTTIME
    std::int64_t begin = 0;
    std::int64_t end = 0;
    /// no faults are made
    bool calm = false;

    /** The permits of the semaphore change twice, for one worker after the other. The second change takes the same time
     * again. */
    [[nodiscard]] unsigned permits_index(std::int64_t now) const noexcept
    {
        auto const third = (end - begin) / 3;
        auto const turn = third * (number + 1) / (peers + 1);
        return now >= begin + third + turn ? 2 : now >= begin + turn ? 1 : 0;
    }
    static constexpr std::uint32_t permits[] = {4, 3, 5};

    /** Three seconds of eight no place waits, once those that did and those of dead processes are gone: then shares are
     * taken without a wait, if they fit. */
    [[nodiscard]] bool only_tries(std::int64_t now) const noexcept { return !calm && now / 1'000'000'000 % 8 >= 5; }

    [[nodiscard]] std::string text() const
    {
        std::ostringstream out;
        out << kinds << ' ' << number << ' ' << peers << ' ' << begin << ' ' << end << ' ' << calm;
        return out.str();
    }
    [[nodiscard]] static ShareWork read(std::string const& text)
    {
        ShareWork work;
        std::istringstream in{text};
        if (!(in >> work.kinds >> work.number >> work.peers >> work.begin >> work.end >> work.calm))
            throw std::runtime_error("not the work of a worker: " + text);
        return work;
    }
};

} // namespace tenure::faults
