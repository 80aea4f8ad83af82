// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// RenewalBatch: the script call for leases that are still held.
#include "renewal_batch.hpp"

#include "store/redis/scripts/redisson.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/shares/scripts.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <atomic>
#include <string_view>

namespace tenure::redis
{

Instant RenewalBatch::not_after() const noexcept
{
    auto earliest = Instant::max();
    for (auto const& [request, number] : pending_)
        earliest = std::min(earliest, request.not_after);
    return earliest;
}

void RenewalBatch::drop_ended()
{
    std::erase_if(pending_, [this](Pending& pending) {
        if (!pending.request.claim->mark.ended.load(std::memory_order_acquire))
            return false;
        ended_.push_back(std::move(pending));
        return true;
    });
}

Script const& RenewalBatch::script(bool notes_ttl) const
{
    if (pending_.front().request.claim->range->shares)
        return place_scripts::renew().for_server(*server_);
    if (server_->is_redisson(*pending_.front().request.claim->range))
        return redisson::renew();
    return notes_ttl ? scripts::renew_noting_ttl() : scripts::renew();
}

std::optional<resp::Command> RenewalBatch::compose(Instant)
{
    drop_ended();
    if (pending_.empty())
        return std::nullopt;
    bool const notes_ttl = server_->delays_after_failover();
    auto const& first = pending_.front().request;
    resp::Command command(attempt_.begin(script(notes_ttl), *server_->channel()));
    command.reserve(
        command.encoded_size() + 128 +
        pending_.size() * (first.claim->range->prefix.size() + first.claim->owner.size() + 32));
    command.add(pending_.size() + (notes_ttl ? 1 : 0));
    if (notes_ttl)
        command.add(server_->marker());
    for (auto const& [request, number] : pending_)
        command.add(resp::KeyOf{*request.claim->range, request.claim->index});
    command.add(first.lifetime().count());
    for (auto const& [request, number] : pending_)
        command.add(request.claim->owner);
    return command;
}

void RenewalBatch::answer_ended()
{
    auto const ended = std::exchange(ended_, {});
    call_handler(ended, [](RenewRequest const&) -> RenewReply {
        return Failure::not_sent(errc::released, "the lease is over");
    });
}

} // namespace tenure::redis
