// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claim of one owner over its whole range by scripts, page by page.
#include "claim.hpp"

#include "store/redis/line_keys.hpp"
#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace tenure::redis
{

namespace
{

/** Some of the keys of a range. */
struct RangePart {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/** A pending claim that goes through the pages of its range. */
class RangeClaim : public std::enable_shared_from_this<RangeClaim>
{
public:
    RangeClaim(ServerPtr server, PendingClaim&& claim)
        : server_(std::move(server))
        , claim_(std::move(claim))
        , request_(claim_.request)
        , pages_(page_count(*request_.range))
    {
    }
    RangeClaim(RangeClaim const&) = delete;
    RangeClaim& operator=(RangeClaim const&) = delete;
    ~RangeClaim() = default;

    void start()
    {
        auto const& range = request_.range;
        survey_ = survey_is_due(server_->ranges(), request_, server_->runtime().now());
        // A claim over several pages looks for the owner on all pages before it takes a key. On a single page the
        // script does both in one step.
        searching_ = request_.earliest_attempt && pages_ > 1;
        if (!request_.earliest_attempt && server_->ranges().is_worth_a_gap_search(range))
            find_gap();
        else
            call_page();
    }

    /** Continues after a SET that found the key held. A waiter claims by script, which also puts it in the line; other
     *  claims only read the state of the key. */
    void start_held()
    {
        survey_ = true;
        only_survey_ = request_.waits == Waits::no;
        call_page();
    }

private:
    [[nodiscard]] Script const& script() const
    {
        if (server_->is_redisson(*request_.range))
            return redisson::claim();
        if (only_survey_)
            return scripts::survey();
        if (searching_)
            return scripts::find_own();
        bool const finds_own = request_.earliest_attempt && pages_ == 1;
        if (server_->delays_after_failover())
            return finds_own ? scripts::own_or_first_free_after_failover() : scripts::first_free_after_failover();
        return finds_own ? scripts::own_or_first_free() : scripts::first_free();
    }

    /** Finds the first part of the range with a free key, by commands that cost the server half the time of a script
     *  over the same keys. The result is a hint: the claim checks again. */
    void find_gap()
    {
        constexpr auto part_size = RangeCache::part_size;
        auto const& range = request_.range;
        uncounted_parts_ = (range->count + part_size - 1) / part_size;
        for (std::uint32_t first = 0; first < range->count; first += part_size) {
            RangePart const part{first, std::min(part_size, range->count - first)};
            auto const keys = server_->ranges().part(range, first / part_size);
            resp::Command command("EXISTS");
            command.reserve(keys->bytes().size() + 16);
            command.add(*keys).set_urgency(claim_.urgency);
            if (first + part.count < range->count)
                command.leave_with_next();
            server_->channel()->execute(
                std::move(command), request_.not_after,
                [self = shared_from_this(), part](Outcome const& outcome) { self->counted(part, outcome); });
        }
        claim_.urgency = resp::Urgency::step;
    }

    /** Handles the number of existing keys of a part. Replies arrive in the order of the requests. */
    void counted(RangePart part, Outcome const& outcome)
    {
        bool const is_count = outcome.reply.is_integer() && outcome.reply.as_integer() >= 0;
        if (outcome.succeeded() && is_count && !part_ && outcome.reply.as_integer() < part.count)
            part_ = part;
        if (outcome.succeeded() && !is_count)
            server_->channel()->invalidate("a malformed reply");
        if (--uncounted_parts_ == 0)
            call_page();
    }

    void call_page()
    {
        auto call = only_survey_ ? ScriptCall() : claim_call_of_page();
        call.script = &script();
        call.not_after = request_.not_after;
        call.keys = part_ ? encode_keys(*request_.range, part_->first, part_->count)
                          : server_->ranges().keys(request_.range, page_);
        call.urgency = std::exchange(claim_.urgency, resp::Urgency::step);
        run_script(server_->channel(), std::move(call), [self = shared_from_this()](Outcome const& outcome) {
            self->answered(outcome);
        });
    }

    [[nodiscard]] ScriptCall claim_call_of_page()
    {
        bool const with_line =
            request_.waits != Waits::no && !server_->is_redisson(*request_.range) && line_.declare(*server_);
        bool const may_close = server_->delays_after_failover() && !searching_;
        return claim_call(*server_, script(), request_, survey_, with_line, {}, may_close);
    }

    void answered(Outcome const& outcome)
    {
        if (line_.may_have_refused(*server_, *request_.range, outcome)) {
            call_page();
            return;
        }
        if (!outcome.succeeded()) {
            finish(only_survey_ ? ClaimReply(Busy{}) : failure_of_claim(*server_, outcome, *request_.range));
            return;
        }
        auto const first = part_ ? part_->first : page_ * max_keys_per_call;
        auto const keys = part_ ? part_->count : std::min(max_keys_per_call, request_.range->count - first);
        auto const reply = read_page_reply(outcome.reply, keys, request_.fencing && !only_survey_);
        bool const may_be_closed = server_->delays_after_failover() && !searching_;
        if (!reply || (only_survey_ && !std::holds_alternative<PageHeld>(*reply)) ||
            (!may_be_closed && std::holds_alternative<PageClosed>(*reply))) {
            finish(malformed_reply(*server_, request_.range->describe()));
            return;
        }
        if (auto const* const grant = std::get_if<PageGrant>(&*reply)) {
            server_->ranges().note_first_free(request_.range, first + grant->index);
            Granted granted{first + grant->index, grant->token, request_.ttl, outcome.since, nullptr};
            finish(confirmed(*server_, *request_.range, std::move(granted), outcome));
            return;
        }
        if (auto const* const closed = std::get_if<PageClosed>(&*reply)) {
            finish(closed_reply(*server_, *closed));
            return;
        }
        if (std::exchange(part_, std::nullopt)) {
            // another claim was faster: tries the whole range in one step
            call_page();
            return;
        }
        page_held(std::get<PageHeld>(*reply));
    }

    void page_held(PageHeld const& held)
    {
        note_place(*server_, *request_.range, held);
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
            server_->ranges().note_first_free(request_.range, std::nullopt);
            finish(busy());
        }
    }

    [[nodiscard]] Busy busy()
    {
        auto const seen = survey_ ? std::optional(Survey{earliest_expiry_, foreign_}) : std::nullopt;
        return busy_reply(server_->ranges(), request_.range, server_->runtime().now(), seen);
    }

    void finish(ClaimReply reply) { std::move(claim_.handler)(std::move(reply)); }

    ServerPtr server_;
    PendingClaim claim_;
    /// of `claim_`
    ClaimRequest& request_;
    LineKeys line_;
    std::uint32_t pages_;
    std::uint32_t page_ = 0;
    /// tries only these keys of the single page first
    std::optional<RangePart> part_;
    std::uint32_t uncounted_parts_ = 0;
    /// the current pass over the pages only looks for the owner
    bool searching_ = false;
    /// a busy answer shall include the first expiry and the number of foreign keys
    bool survey_ = false;
    bool only_survey_ = false;
    std::optional<std::chrono::milliseconds> earliest_expiry_;
    std::uint32_t foreign_ = 0;
};

} // namespace

void claim_by_page(ServerPtr const& server, PendingClaim&& claim)
{
    std::make_shared<RangeClaim>(server, std::move(claim))->start();
}

void claim_held_key(ServerPtr const& server, PendingClaim&& claim)
{
    claim.urgency = resp::Urgency::step;
    std::make_shared<RangeClaim>(server, std::move(claim))->start_held();
}

} // namespace tenure::redis
