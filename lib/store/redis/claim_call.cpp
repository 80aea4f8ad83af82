// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_call.hpp"

#include "key_names.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

ScriptCall claim_call(
    Node const& node, Script const& script, ClaimRequest const& request, bool survey,
    std::span<PendingClaim const> others, bool may_close)
{
    ScriptCall call;
    call.script = &script;
    call.not_after = request.not_after;
    std::string_view const fence = request.fencing ? std::string_view(node.fence()) : std::string_view();
    call.values.add_all(request.owner, request.lifetime().count(), std::string_view(survey ? "1" : ""), fence);
    if (request.waits != Waits::no && node.may_line_up()) {
        std::string_view const in_front = request.waits == Waits::in_front ? "1" : "";
        call.values.add_all(line_of(*request.range), node.waiter(), in_front);
    } else {
        call.values.add_all(std::string_view(), std::string_view(), std::string_view());
    }
    for (auto const& other : others)
        call.values.add(other.request.owner);
    if (may_close) {
        call.values.add(node.marker());
        call.with_run_id = true;
    }
    return call;
}

} // namespace tenure::redis
