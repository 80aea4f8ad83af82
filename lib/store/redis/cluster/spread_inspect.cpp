// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "spread_inspect.hpp"

#include "store/redis/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

constexpr std::uint32_t keys_at_a_time = 512;

class SpreadInspection : public std::enable_shared_from_this<SpreadInspection>
{
public:
    SpreadInspection(
        std::shared_ptr<SlotNodes> nodes, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
        : nodes_(std::move(nodes))
        , range_(std::move(range))
        , not_after_(not_after)
        , handler_(std::move(handler))
        , keys_(range_->count)
    {
    }

    void look()
    {
        auto const end = std::min(next_ + keys_at_a_time, range_->count);
        under_way_ = end - next_;
        for (auto index = std::exchange(next_, end); index < end; ++index)
            inspect(
                nodes_->of(*range_, index).follows, single_key(*range_, index), not_after_,
                [self = shared_from_this(), index](InspectReply reply) { self->looked(index, std::move(reply)); });
    }

private:
    void looked(std::uint32_t index, InspectReply reply)
    {
        if (auto* const states = std::get_if<std::vector<KeyState>>(&reply)) {
            keys_[index] = std::move(states->front());
            keys_[index].index = index;
        } else if (!failure_) {
            failure_ = std::move(reply);
        }
        if (--under_way_ > 0)
            return;
        if (failure_)
            std::move(handler_)(std::move(*failure_));
        else if (next_ < range_->count)
            look();
        else
            std::move(handler_)(InspectReply(std::move(keys_)));
    }

    std::shared_ptr<SlotNodes> nodes_;
    KeyRangePtr range_;
    Deadline not_after_;
    ReplyHandler<InspectReply> handler_;
    std::vector<KeyState> keys_;
    std::uint32_t next_ = 0;
    std::size_t under_way_ = 0;
    std::optional<InspectReply> failure_;
};

} // namespace

void spread_inspect(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    std::make_shared<SpreadInspection>(nodes, std::move(range), not_after, std::move(handler))->look();
}

} // namespace tenure::redis
