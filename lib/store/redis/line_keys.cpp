// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LineKeys: calls that are refused because of the line.
#include "line_keys.hpp"

#include "store/redis/wire/error_meaning.hpp"

namespace tenure::redis
{

bool LineKeys::may_have_refused(ServerContext& server, KeyRange const& range, Outcome const& outcome)
{
    if (declared_ && outcome.delivery == Delivery::answered && outcome.reply.is_error() &&
        may_concern_some_keys(outcome.reply.as_string())) {
        refusal_ = outcome.reply.as_string();
        return true;
    }
    // without the line the call is good, so the line was the cause
    if (!declared_ && !refusal_.empty() && outcome.succeeded())
        note_line_refusal(server, range, refusal_);
    return false;
}

} // namespace tenure::redis
