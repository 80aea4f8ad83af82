// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <chrono>
#include <cstddef>
#include <iterator>
#include <set>

namespace tenure::etcd
{

/** Limits the requests of one kind that are under way and are not full. What comes meanwhile is collected for the next
 *  one, so that requests carry more the slower the member answers. A full request does not wait.
 *
 *  A request counts for a second at most: without an answer its connection may be lost. */
class RequestPace
{
public:
    /** True if a request that is not full may be sent. */
    [[nodiscard]] bool allows(Instant now) const noexcept { return now >= allows_at(); }
    /** When it may be sent if nothing is answered until then. */
    [[nodiscard]] Instant allows_at() const noexcept
    {
        // the latest of those that must have ended
        return written_.size() < std::size_t{most} ? Instant{} : *std::prev(written_.end(), most) + counts_for;
    }
    void begins(Instant now) { written_.insert(now); }
    /** @param since  when it began */
    void ends(Instant since)
    {
        if (auto const found = written_.find(since); found != written_.end())
            written_.erase(found);
    }

private:
    static constexpr int most = 2;
    static constexpr std::chrono::seconds counts_for{1};

    /// when the requests under way were written
    std::multiset<Instant> written_;
};

} // namespace tenure::etcd
