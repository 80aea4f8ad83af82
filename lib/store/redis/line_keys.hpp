// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_context.hpp"

#include <tenure/key_range.hpp>

#include <string>

namespace tenure::redis
{

/** Whether the calls of one request declare the line of waiters.
 *
 *  A server checks all keys before it runs a script. A user who may not use the line, or a line that is at another node
 *  while its hash slot migrates, would refuse the whole call, which runs nothing. It is sent once more without. */
class LineKeys
{
public:
    /** Decides for the next call. */
    [[nodiscard]] bool declare(ServerContext const& server)
    {
        declared_ = refusal_.empty() && server.may_line_up();
        return declared_;
    }
    [[nodiscard]] bool declared() const noexcept { return declared_; }

    /** Reads the outcome of the call. True: repeat it without the line. */
    [[nodiscard]] bool may_have_refused(ServerContext& server, KeyRange const& range, Outcome const& outcome);

private:
    /// the last call declared the line
    bool declared_ = false;
    /// the server's error for a call with the line; empty: none
    std::string refusal_;
};

} // namespace tenure::redis
