// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim.hpp"

#include "claim_answers.hpp"
#include "claim_call.hpp"
#include "claim_reply.hpp"
#include "claim_survey.hpp"
#include "gap_search.hpp"
#include "store/redis/scripts/script.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace tenure::redis
{

namespace
{

/** One claim under way over the pages of its range. */
class RangeClaim : public std::enable_shared_from_this<RangeClaim>
{
public:
    RangeClaim(NodePtr node, ClaimRequest request, ReplyHandler<ClaimReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , pages_(page_count(*request_.range))
    {
    }

    void start()
    {
        auto const& range = request_.range;
        survey_ = survey_is_due(node_->ranges(), request_, node_->runtime().now());
        // A large range is searched for an own claim on all pages before anything is taken; one page does both in one
        // step.
        searching_ = request_.earliest_attempt && pages_ > 1;
        if (request_.earliest_attempt || !is_worth_a_gap_search(node_, range)) {
            call_page();
            return;
        }
        find_gap(node_, range, request_.not_after, [self = shared_from_this()](std::optional<RangePart> part) {
            self->part_ = part;
            self->call_page();
        });
    }

    /** For one that a SET found held. A waiter asks again by script, which takes its place in the line in the same
     * step; any other one only wants to know what the key looks like. */
    void start_held()
    {
        survey_ = true;
        only_survey_ = request_.waits == Waits::no;
        call_page();
    }

private:
    [[nodiscard]] Script const& script() const
    {
        if (only_survey_)
            return scripts::survey();
        if (searching_)
            return scripts::find_own();
        bool const finds_own = request_.earliest_attempt && pages_ == 1;
        if (node_->delays_after_failover())
            return finds_own ? scripts::own_or_first_free_after_failover() : scripts::first_free_after_failover();
        return finds_own ? scripts::own_or_first_free() : scripts::first_free();
    }

    void call_page()
    {
        bool const may_close = node_->delays_after_failover() && !searching_ && !only_survey_;
        auto call = claim_call(*node_, script(), request_, survey_, {}, may_close);
        call.keys = part_ ? encode_keys(*request_.range, part_->first, part_->count)
                          : node_->ranges().keys(request_.range, page_);
        run_script(node_->route(), std::move(call), [self = shared_from_this()](Outcome&& outcome) {
            self->answered(std::move(outcome));
        });
    }

    void answered(Outcome&& outcome)
    {
        if (only_survey_ && (outcome.delivery != Delivery::answered || outcome.reply.is_error())) {
            finish(Busy{});
            return;
        }
        if (outcome.delivery != Delivery::answered) {
            finish(undelivered(std::move(outcome)));
            return;
        }
        if (outcome.reply.is_error()) {
            finish(refuse_claim(*node_, outcome.reply, request_.range->describe()));
            return;
        }
        auto const first = part_ ? part_->first : page_ * max_keys_per_call;
        auto const keys = part_ ? part_->count : std::min(max_keys_per_call, request_.range->count - first);
        auto const reply = read_page_reply(outcome.reply, keys, request_.fencing && !only_survey_);
        bool const may_be_closed = node_->delays_after_failover() && !searching_;
        if (!reply || (only_survey_ && !std::holds_alternative<PageHeld>(*reply)) ||
            (!may_be_closed && std::holds_alternative<PageClosed>(*reply))) {
            finish(nonsense(*node_, request_.range->describe()));
            return;
        }
        if (auto const* const grant = std::get_if<PageGrant>(&*reply)) {
            note_first_free(node_, request_.range, first + grant->index);
            Granted granted{first + grant->index, grant->token, request_.ttl, outcome.since, nullptr};
            finish(confirmed(*node_, *request_.range, std::move(granted), outcome));
            return;
        }
        if (auto const* const closed = std::get_if<PageClosed>(&*reply)) {
            node_->note_closed(closed->opens_in);
            finish(Busy{closed->opens_in, false});
            return;
        }
        if (std::exchange(part_, std::nullopt)) {
            // somebody was faster: the whole range in one step
            call_page();
            return;
        }
        page_held(std::get<PageHeld>(*reply));
    }

    void page_held(PageHeld const& held)
    {
        note_place(*node_, *request_.range, held);
        if (!searching_) {
            if (held.earliest_expiry && (!earliest_expiry_ || *held.earliest_expiry < *earliest_expiry_))
                earliest_expiry_ = held.earliest_expiry;
            foreign_ += held.foreign.value_or(0);
        }
        if (++page_ < pages_) {
            call_page();
        } else if (std::exchange(searching_, false)) {
            page_ = 0;
            call_page();
        } else {
            note_first_free(node_, request_.range, std::nullopt);
            finish(busy());
        }
    }

    [[nodiscard]] Busy busy()
    {
        auto const seen = survey_ ? std::optional(Survey{earliest_expiry_, foreign_}) : std::nullopt;
        return busy_reply(node_->ranges(), request_.range, node_->runtime().now(), seen);
    }

    void finish(ClaimReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    ClaimRequest request_;
    ReplyHandler<ClaimReply> handler_;
    std::uint32_t pages_;
    std::uint32_t page_ = 0;
    /// only these keys of the only page are tried first
    std::optional<RangePart> part_;
    /// the present pass over the pages looks for the owner and takes nothing
    bool searching_ = false;
    /// a busy answer shall tell when the first key expires and whether any can
    bool survey_ = false;
    bool only_survey_ = false;
    std::optional<std::chrono::milliseconds> earliest_expiry_;
    std::uint32_t foreign_ = 0;
};

// A first attempt cannot find a claim of its own owner, which is new: so no GET, which Redis 6 refuses and which brings
// whatever somebody else wrote there. Later attempts take the script, which extends what it finds.
void claim_named_key(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler)
{
    resp::Command command("SET", resp::KeyOf{*request.range, 0}, request.owner, "NX", "PX", request.lifetime().count());
    auto const not_after = request.not_after;
    node->route()->execute(
        std::move(command), not_after,
        [node, request = std::move(request), handler = std::move(handler)](Outcome&& outcome) mutable {
            if (outcome.delivery != Delivery::answered)
                std::move(handler)(undelivered(std::move(outcome)));
            else if (outcome.reply.is_ok())
                std::move(handler)(
                    confirmed(*node, *request.range, Granted{0, 0, request.ttl, outcome.since, nullptr}, outcome));
            else if (outcome.reply.is_error())
                std::move(handler)(ClaimReply(node->refuse(outcome.reply, request.range->describe())));
            else if (outcome.reply.is_null())
                claim_held_key(node, std::move(request), std::move(handler));
            else
                std::move(handler)(ClaimReply(nonsense(*node, request.range->describe())));
        });
}

} // namespace

void claim(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler)
{
    node->route()->note_ttl(request.ttl);
    if (!request.fencing && may_claim_by_set(*node, request))
        claim_named_key(node, std::move(request), std::move(handler));
    else
        std::make_shared<RangeClaim>(node, std::move(request), std::move(handler))->start();
}

void claim_held_key(NodePtr const& node, ClaimRequest&& request, ReplyHandler<ClaimReply> handler)
{
    auto const claim = std::make_shared<RangeClaim>(node, std::move(request), std::move(handler));
    claim->start_held();
}

bool may_claim_by_set(Node const& node, ClaimRequest const& request)
{
    return request.range->count == 1 && !request.earliest_attempt && !node.delays_after_failover() &&
           request.waits != Waits::in_line;
}

} // namespace tenure::redis
