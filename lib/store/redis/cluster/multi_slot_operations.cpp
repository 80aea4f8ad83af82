// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and withdrawal for all keys of a spread range, part by part.
#include "operations.hpp"

#include "multi_slot_probe.hpp"

#include <store/gather.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

store::Request<InspectReply> multi_slot_inspect(std::shared_ptr<SlotContexts> slots, InspectRequest request)
{
    auto const& range = request.range;
    std::vector<KeyState> keys(range->count);
    for (std::uint32_t next = 0; next < range->count;) {
        auto const part = part_of(range, next, keys_per_inspection);
        next = part.end();
        std::optional<InspectReply> failure;
        auto read = store::gather(slots->runtime(), Instant::max(), [&](auto const& reply_to) {
            for (auto index = part.first; index < part.end(); ++index)
                inspect(slots->of(*range, index).follows, {single_key(range, index), request.not_after})
                    .start(reply_to([&, index](InspectReply&& reply) {
                        if (auto* const states = std::get_if<std::vector<KeyState>>(&reply)) {
                            keys[index] = std::move(states->front());
                            keys[index].index = index;
                        } else if (!failure) {
                            failure = std::move(reply);
                        }
                    }));
        });
        co_await read;
        if (failure)
            co_return std::move(*failure);
    }
    co_return std::move(keys);
}

store::Request<CountedWithdrawReply> multi_slot_withdraw(std::shared_ptr<SlotContexts> slots, WithdrawRequest request)
{
    // with the first failure; reachable claims are withdrawn even if the whole request must be repeated
    CountedWithdrawReply all{Released{}};
    for (std::uint32_t next = 0; next < request.range->count;) {
        auto const part = part_of(request.range, next, largest_probe);
        next = part.end();
        auto const deadline = std::min(request.not_after, slots->runtime().now() + search_within);
        auto look = store::as_step(probe(slots, part, {request.owner, deadline, true}));
        auto probes = co_await look;
        if (probes.why && std::holds_alternative<Released>(all.reply))
            all.reply = std::move(*probes.why);
        auto withdraw_found = store::gather(slots->runtime(), Instant::max(), [&](auto const& reply_to) {
            for (std::uint32_t i = 0; i < part.count; ++i) {
                if (probes.keys[i] != KeyProbe::own)
                    continue;
                auto single = request;
                single.range = single_key(part.range, part.first + i);
                withdraw(slots->of(*part.range, part.first + i).follows, std::move(single))
                    .start(reply_to([&](CountedWithdrawReply&& one) {
                        all.freed += one.freed;
                        if (std::holds_alternative<Released>(all.reply))
                            all.reply = std::move(one.reply);
                    }));
            }
        });
        co_await withdraw_found;
    }
    co_return std::move(all);
}

} // namespace tenure::redis
