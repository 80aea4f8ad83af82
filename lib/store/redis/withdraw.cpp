// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Withdrawal of an owner from a range, page by page.
#include "operations.hpp"

#include "key_names.hpp"
#include "line_keys.hpp"
#include "publish.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

class Withdrawal : public std::enable_shared_from_this<Withdrawal>
{
public:
    Withdrawal(ServerPtr server, WithdrawRequest request, CountedWithdrawal handler)
        : server_(std::move(server))
        , request_(std::move(request))
        , handler_(std::move(handler))
    {
    }

    void call_page()
    {
        ScriptCall call;
        call.script = server_->announces_in_shard() ? &scripts::withdraw_in_shard() : &scripts::withdraw();
        call.keys = server_->ranges().keys(request_.range, page_);
        bool const with_line = request_.notifications && server_->may_publish() && line_.declare(*server_);
        if (with_line)
            call.names.add(line_of(*request_.range)).add(watched_key_of(*request_.range));
        by_script_ = with_line && server_->publishes_in_scripts();
        call.values.add(request_.owner).add(with_line ? how_to_publish(*server_) : std::string_view());
        if (request_.reuse_after > std::chrono::milliseconds{0})
            call.values.add(resting_value(request_.owner)).add(request_.reuse_after.count());
        call.not_after = request_.not_after;
        call.urgency = resp::Urgency::step;
        run_script(server_->channel(), std::move(call), [self = shared_from_this()](Outcome&& outcome) {
            self->answered(outcome);
        });
    }

private:
    void answered(Outcome const& outcome)
    {
        if (line_.may_have_refused(*server_, *request_.range, outcome)) {
            call_page();
            return;
        }
        auto const keys = outcome.succeeded() ? read_withdrawn_keys(outcome.reply) : std::nullopt;
        if (!keys) {
            finish(failure_of_release(*server_, outcome, request_.range->describe()));
            return;
        }
        freed_ += keys->count;
        if (line_.declared())
            follow_up(server_, *request_.range, keys->notes, 0, by_script_);
        else if (keys->count > 0 && request_.notifications && server_->may_publish())
            publish(server_, *request_.range, message_for_all);
        if (++page_ < page_count(*request_.range))
            call_page();
        else
            finish(Released{});
    }

    void finish(WithdrawReply reply) { std::move(handler_)(std::move(reply), freed_); }

    ServerPtr server_;
    WithdrawRequest request_;
    CountedWithdrawal handler_;
    LineKeys line_;
    std::uint32_t page_ = 0;
    std::uint32_t freed_ = 0;
    /// the present call publishes
    bool by_script_ = false;
};

} // namespace

void withdraw(ServerPtr const& server, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    withdraw_counted(
        server, std::move(request), [handler = std::move(handler)](WithdrawReply&& reply, std::uint32_t) mutable {
            std::move(handler)(std::move(reply));
        });
}

void withdraw_counted(ServerPtr const& server, WithdrawRequest request, CountedWithdrawal handler)
{
    std::make_shared<Withdrawal>(server, std::move(request), std::move(handler))->call_page();
}

} // namespace tenure::redis
