// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection and withdrawal for all keys of a spread range, part by part.
#include "operations.hpp"

#include "multi_slot_probe.hpp"

#include "store/redis/operations.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

constexpr auto withdraw_probe_within = 2000ms;

struct MultiSlotInspection {
    std::shared_ptr<SlotContexts> slots;
    KeyRangePtr range;
    Deadline not_after;
    ReplyHandler<InspectReply> handler;
    std::vector<KeyState> keys = std::vector<KeyState>(range->count);
    /// the first failure
    std::optional<InspectReply> failure = std::nullopt;
};

void inspect_from(std::shared_ptr<MultiSlotInspection> const& all, std::uint32_t first)
{
    auto const part = part_of(all->range, first, keys_per_inspection);
    auto const replies = std::make_shared<Gathering>(all->slots, [all, part] {
        if (all->failure)
            std::move(all->handler)(std::move(*all->failure));
        else if (part.end() < all->range->count)
            inspect_from(all, part.end());
        else
            std::move(all->handler)(InspectReply(std::move(all->keys)));
    });
    for (auto index = part.first; index < part.end(); ++index)
        inspect(
            all->slots->of(*all->range, index).follows, single_key(*all->range, index), all->not_after,
            replies->handler([all, index](InspectReply&& reply) {
                if (auto* const states = std::get_if<std::vector<KeyState>>(&reply)) {
                    all->keys[index] = std::move(states->front());
                    all->keys[index].index = index;
                } else if (!all->failure) {
                    all->failure = std::move(reply);
                }
            }));
    replies->wait();
}

struct MultiSlotWithdrawal {
    std::shared_ptr<SlotContexts> slots;
    WithdrawRequest request;
    CountedWithdrawal handler;
    std::uint32_t freed = 0;
    /// the first failure; reachable claims are withdrawn even if the whole request must be repeated
    std::optional<WithdrawReply> failure = std::nullopt;

    void note_failure(WithdrawReply reply)
    {
        if (!failure)
            failure = std::move(reply);
    }
};

void withdraw_from(std::shared_ptr<MultiSlotWithdrawal> const& all, std::uint32_t first);

void withdraw_found(std::shared_ptr<MultiSlotWithdrawal> const& all, MultiSlotPart const& part, Probes probes)
{
    if (probes.why)
        all->note_failure(std::move(*probes.why));
    auto const replies = std::make_shared<Gathering>(all->slots, [all, end = part.end()] {
        if (end < all->request.range->count)
            withdraw_from(all, end);
        else
            std::move(all->handler)(all->failure ? std::move(*all->failure) : WithdrawReply(Released{}), all->freed);
    });
    for (std::uint32_t i = 0; i < part.count; ++i) {
        if (probes.keys[i] != KeyProbe::own)
            continue;
        auto request = all->request;
        request.range = single_key(*part.range, part.first + i);
        withdraw_counted(
            all->slots->of(*part.range, part.first + i).follows, std::move(request),
            replies->handler([all](WithdrawReply&& reply, std::uint32_t freed) {
                all->freed += freed;
                if (!std::holds_alternative<Released>(reply))
                    all->note_failure(std::move(reply));
            }));
    }
    replies->wait();
}

void withdraw_from(std::shared_ptr<MultiSlotWithdrawal> const& all, std::uint32_t first)
{
    auto const part = part_of(all->request.range, first, largest_probe);
    auto const deadline = std::min(all->request.not_after, all->slots->runtime().now() + withdraw_probe_within);
    probe(all->slots, part, {all->request.owner, deadline, true}, [all, part](Probes probes) {
        withdraw_found(all, part, std::move(probes));
    });
}

} // namespace

void multi_slot_inspect(
    std::shared_ptr<SlotContexts> const& slots, KeyRangePtr range, Deadline not_after,
    ReplyHandler<InspectReply> handler)
{
    inspect_from(
        std::make_shared<MultiSlotInspection>(slots, std::move(range), std::move(not_after), std::move(handler)), 0);
}

void multi_slot_withdraw(std::shared_ptr<SlotContexts> const& slots, WithdrawRequest request, CountedWithdrawal handler)
{
    withdraw_from(std::make_shared<MultiSlotWithdrawal>(slots, std::move(request), std::move(handler)), 0);
}

} // namespace tenure::redis
