// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "withdraw.hpp"

#include "key_names.hpp"
#include "script.hpp"
#include "scripts.hpp"

#include <quarantine.hpp>

#include <charconv>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace tenure::redis
{

namespace
{

class Withdrawal : public std::enable_shared_from_this<Withdrawal>
{
public:
    Withdrawal(NodePtr node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
        : node_(std::move(node))
        , request_(std::move(request))
        , handler_(std::move(handler))
        , channel_(request_.wake_ups ? channel_of(*request_.range) : std::string())
    {
    }

    void call_page()
    {
        ScriptCall call;
        call.script = node_->announces_in_shard() ? &scripts::withdraw_in_shard() : &scripts::withdraw();
        call.keys = node_->ranges().keys(request_.range, page_);
        call.values.add(request_.owner).add(node_->may_publish() ? std::string_view(channel_) : std::string_view());
        if (request_.reuse_after > std::chrono::milliseconds{0})
            call.values.add(resting_value(request_.owner)).add(request_.reuse_after.count());
        call.not_after = request_.not_after;
        run_script(node_->route(), std::move(call), [self = shared_from_this()](Outcome outcome) {
            self->answered(std::move(outcome));
        });
    }

private:
    void answered(Outcome outcome)
    {
        if (outcome.delivery != Delivery::answered)
            finish(undelivered<WithdrawReply>(std::move(outcome)));
        else if (outcome.reply.is_error())
            finish(node_->refuse(outcome.reply, request_.range->describe()));
        else if (!understood(outcome.reply))
            finish(nonsense(*node_, request_.range->describe()));
        else if (++page_ < page_count(*request_.range))
            call_page();
        else
            finish(Released{});
    }

    // A number, and "!" behind it where publishing was refused.
    [[nodiscard]] bool understood(resp::Value const& reply)
    {
        auto const text = reply.as_string();
        unsigned deleted = 0;
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), deleted);
        if (error != std::errc{})
            return false;
        auto const rest = text.substr(static_cast<std::size_t>(end - text.data()));
        if (rest == "!")
            node_->publish_refused(channel_);
        return rest.empty() || rest == "!";
    }

    void finish(WithdrawReply reply) { std::move(handler_)(std::move(reply)); }

    NodePtr node_;
    WithdrawRequest request_;
    ReplyHandler<WithdrawReply> handler_;
    /// empty: nobody is to be woken
    std::string channel_;
    std::uint32_t page_ = 0;
};

} // namespace

void withdraw(NodePtr const& node, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    std::make_shared<Withdrawal>(node, std::move(request), std::move(handler))->call_page();
}

} // namespace tenure::redis
