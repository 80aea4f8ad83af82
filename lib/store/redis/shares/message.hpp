// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/line_keys.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/server_context.hpp"

#include <tenure/key_range.hpp>

#include <string_view>

namespace tenure::redis
{

/** The message to the waiters of a key with places, as one request sees it.
 *
 *  The script publishes the numbers of the places that hold from then on, each of which is a grant. Where scripts may
 * not publish, or the key of observers may not be used, this process publishes a hint, and waiters ask. */
class PlaceMessage
{
public:
    /** Decides for the next call. Returns the argument `how` (see scripts.hpp).
     *  @param notifies  waiters are to be notified */
    [[nodiscard]] std::string_view begin(ServerContext const& server, bool notifies);

    /** Reads the outcome of the call. True: repeat it, and the script does without the key of observers. */
    [[nodiscard]] bool may_have_refused(ServerContext& server, KeyRange const& range, Outcome const& outcome)
    {
        return watched_.may_have_refused(server, range, outcome);
    }

    /** Completes what the script has left to do. */
    void end(ServerPtr const& server, KeyRange const& range, std::string_view note) const;

private:
    /// the key of observers belongs to the line of plain keys, and is permitted with it
    LineKeys watched_;
    bool notifies_ = false;
};

/** Adds the keys of a script for one place, behind the counter: the watched key, the marker, and the key. */
void add_place(ScriptCall& call, ServerContext const& server, KeyRange const& range, std::string_view how);

} // namespace tenure::redis
