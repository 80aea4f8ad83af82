// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace tenure::redis
{

/** Announces releases on channels that are in another hash slot than the released keys, so that the script which
 * releases cannot do it. Best effort, one message for each channel and turn of the loop. */
class Announcer : public std::enable_shared_from_this<Announcer>
{
public:
    explicit Announcer(std::shared_ptr<SlotNodes> nodes)
        : nodes_(std::move(nodes))
    {
    }

    /** True if a release of this key has to be announced here. */
    [[nodiscard]] bool is_needed(KeyRange const& range, std::uint32_t index);

    void announce(KeyRange const& range);

private:
    void flush();

    std::shared_ptr<SlotNodes> nodes_;
    /// of this turn
    std::set<std::string> pending_;
};

} // namespace tenure::redis
