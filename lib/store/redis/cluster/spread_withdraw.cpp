// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "spread_withdraw.hpp"

#include "spread_look.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t keys_per_look = 4096;
constexpr auto withdraw_look_within = 2000ms;

class SpreadWithdrawal : public std::enable_shared_from_this<SpreadWithdrawal>
{
public:
    SpreadWithdrawal(std::shared_ptr<SlotNodes> nodes, WithdrawRequest request, CountedWithdrawal handler)
        : nodes_(std::move(nodes))
        , request_(std::move(request))
        , handler_(std::move(handler))
    {
    }

    void look()
    {
        SpreadPart const part{request_.range, next_, std::min(keys_per_look, request_.range->count - next_)};
        next_ += part.count;
        auto const deadline = std::min(request_.not_after, nodes_->runtime().now() + withdraw_look_within);
        look_at(nodes_, part, request_.owner, deadline, true, [self = shared_from_this(), part](Looks looks) {
            self->looked(part, std::move(looks));
        });
    }

private:
    void looked(SpreadPart const& part, Looks looks)
    {
        if (looks.why && !failure_)
            failure_ = WithdrawReply(std::move(*looks.why));
        std::vector<std::uint32_t> own;
        for (std::uint32_t i = 0; i < part.count; ++i)
            if (looks.keys[i] == KeyLook::own)
                own.push_back(part.first + i);
        under_way_ = own.size();
        for (auto const index : own) {
            auto request = request_;
            request.range = single_key(*request_.range, index);
            withdraw_counted(
                nodes_->of(*request_.range, index).follows, std::move(request),
                [self = shared_from_this()](WithdrawReply&& reply, std::uint32_t freed) {
                    self->freed_ += freed;
                    self->withdrawn(std::move(reply));
                });
        }
        if (own.empty())
            go_on();
    }

    void withdrawn(WithdrawReply reply)
    {
        if (!std::holds_alternative<Released>(reply) && !failure_)
            failure_ = std::move(reply);
        if (--under_way_ == 0)
            go_on();
    }

    // What could be withdrawn is, even if the whole has to be asked for again.
    void go_on()
    {
        if (next_ < request_.range->count)
            look();
        else
            std::move(handler_)(failure_ ? std::move(*failure_) : WithdrawReply(Released{}), freed_);
    }

    std::shared_ptr<SlotNodes> nodes_;
    WithdrawRequest request_;
    CountedWithdrawal handler_;
    /// the first key that was not looked at yet
    std::uint32_t next_ = 0;
    std::size_t under_way_ = 0;
    std::uint32_t freed_ = 0;
    /// the first thing that went wrong
    std::optional<WithdrawReply> failure_;
};

} // namespace

void spread_withdraw(std::shared_ptr<SlotNodes> const& nodes, WithdrawRequest request, CountedWithdrawal handler)
{
    std::make_shared<SpreadWithdrawal>(nodes, std::move(request), std::move(handler))->look();
}

} // namespace tenure::redis
