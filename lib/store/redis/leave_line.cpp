// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "leave_line.hpp"

#include "key_names.hpp"
#include "release_reply.hpp"

#include <chrono>
#include <utility>

namespace tenure::redis
{

namespace
{

// A name that stays costs the others a pause once: not worth more.
constexpr std::chrono::seconds leave_within{1};

} // namespace

void leave_line(NodePtr const& node, KeyRangePtr range)
{
    // asking a way that was never used whether it is ready would connect it
    if (node->route()->generation() == 0 || !node->route()->ready() || !node->may_line_up())
        return;
    resp::Command command("LREM", line_of(*range), 0, node->waiter());
    node->route()->execute(
        std::move(command), node->runtime().now() + leave_within,
        [node, range = std::move(range)](Outcome const& outcome) {
            if (outcome.delivery == Delivery::answered && outcome.reply.is_error())
                note_line_refusal(*node, *range, outcome.reply.as_string());
        });
}

} // namespace tenure::redis
