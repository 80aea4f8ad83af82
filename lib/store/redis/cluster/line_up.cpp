// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "line_up.hpp"

#include "script_within.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/operations.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// A node that hangs costs the range its order, and must not cost it the claim.
constexpr auto line_up_within = 500ms;

class ClaimInLine : public std::enable_shared_from_this<ClaimInLine>
{
public:
    ClaimInLine(
        std::shared_ptr<SlotNodes> nodes, ClaimAttempt attempt, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : nodes_(std::move(nodes))
        , attempt_(std::move(attempt))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , line_(line_of(*request_.range))
    {
    }

    void claim()
    {
        auto request = request_;
        request.waits = Waits::no;
        attempt_(
            std::move(request), [self = shared_from_this()](ClaimReply reply) { self->claimed(std::move(reply)); });
    }

private:
    void claimed(ClaimReply reply)
    {
        auto const node = nodes_->at(hash_slot(line_)).follows;
        if (std::holds_alternative<Granted>(reply))
            leave_line(node, request_.range);
        else if (std::holds_alternative<Busy>(reply) && !std::exchange(lined_up_, true) && node->may_line_up()) {
            busy_ = std::move(reply);
            line_up(node);
            return;
        }
        std::move(handler_)(std::move(reply));
    }

    void line_up(NodePtr const& node)
    {
        ScriptCall call;
        call.script = &scripts::line_up();
        auto keys = std::make_shared<resp::EncodedArguments>();
        keys->add(1).add(line_);
        call.keys = std::move(keys);
        call.values.add(node->waiter()).add(request_.waits == Waits::in_front ? "1" : "");
        call.not_after = request_.not_after;
        run_script_within(
            nodes_->cluster().runtime(), node->route(), std::move(call), nodes_->runtime().now() + line_up_within,
            [self = shared_from_this(), node](Outcome&& outcome) { self->lined_up(*node, outcome); });
    }

    void lined_up(Node& node, Outcome const& outcome)
    {
        auto const said = outcome.delivery == Delivery::answered ? outcome.reply.as_string() : std::string_view();
        if (said.starts_with('?'))
            note_line_refusal(node, *request_.range, said.substr(1));
        else if (outcome.reply.is_error())
            note_line_refusal(node, *request_.range, said);
        // One that stood there before this claim began was not missed by any release since.
        if (said == "joined")
            claim();
        else
            std::move(handler_)(std::move(*busy_));
    }

    std::shared_ptr<SlotNodes> nodes_;
    ClaimAttempt attempt_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    std::string line_;
    /// the answer of the first attempt, while the line is asked
    std::optional<ClaimReply> busy_;
    /// was tried: what the next attempt brings is the answer
    bool lined_up_ = false;
};

} // namespace

void claim_in_line(
    std::shared_ptr<SlotNodes> const& nodes, ClaimAttempt attempt, ClaimRequest request,
    ReplyHandler<ClaimReply> handler)
{
    std::make_shared<ClaimInLine>(nodes, std::move(attempt), std::move(request), std::move(handler))->claim();
}

} // namespace tenure::redis
