// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/fault_proxy.hpp"

#include <chrono>
#include <deque>
#include <string>

namespace tenure::test
{

/** One direction of one connection: from one socket to the other, through a queue of chunks. Belongs to the proxy's
 * thread. */
class Flow
{
public:
    using Time = std::chrono::steady_clock::time_point;
    enum class Result { open, broken };

    Flow(int from, int to) noexcept
        : from_(from)
        , to_(to)
    {
    }

    /** Reads what is there. The bytes read are appended to `seen`. */
    void receive(Time now, std::string& seen);
    /** Reads what is there, and forgets it and whatever is queued. */
    void swallow(Time now);
    /** Lets the chunks that came last vanish, or keeps them, as the fault says. */
    void apply(Fault const& fault, std::size_t fresh_bytes);
    /** Passes on what is due; counts it, and down from the fault's `reset_after`. */
    Result send(Time now, Fault& fault, std::uint64_t& passed);

    [[nodiscard]] int source() const noexcept { return from_; }
    [[nodiscard]] int target() const noexcept { return to_; }
    [[nodiscard]] bool wants_to_receive() const noexcept { return !end_; }
    /** The target's buffer was full when something was due. */
    [[nodiscard]] bool blocked() const noexcept { return blocked_; }
    /** When the first chunk is due; empty if nothing waits for time alone. */
    [[nodiscard]] std::optional<Time> due(Fault const& fault) const;
    /** The source has ended and everything was passed on. While a flow is held or dropped its end does not show. */
    [[nodiscard]] bool finished(Fault const& fault) const noexcept
    {
        return end_ && chunks_.empty() && fault.kind == Fault::Kind::pass;
    }

private:
    struct Chunk {
        Time arrived;
        std::string bytes;
    };

    int from_;
    int to_;
    std::deque<Chunk> chunks_;
    /// the source sends no more
    bool end_ = false;
    bool blocked_ = false;
};

} // namespace tenure::test
