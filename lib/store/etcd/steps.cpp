// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Building blocks of requests to a cluster.
#include "steps.hpp"

#include "store/etcd/http/limits.hpp"

#include <algorithm>

namespace tenure::etcd
{

namespace
{

/** Limit of the keys in one read; larger ranges are read page by page. */
std::size_t page_of(KeyRange const& range, bool keys_only) noexcept
{
    if (!keys_only)
        return keys_per_page_with_values;
    return std::min(keys_per_page, most_page_bytes / reply_bytes(range, 1));
}

} // namespace

Keys whole(KeyRange const& range)
{
    if (range.shares)
        return places_of(range.prefix);
    if (!range.numbered)
        return {range.prefix, {}};
    if (range.count == 1)
        return {range.key(0), {}};
    // ':' follows '9'
    return {range.prefix + '0', range.prefix + ':'};
}

std::size_t reply_bytes(KeyRange const& range, std::size_t keys) noexcept
{
    // base64, four numbers, and the extra length of foreign keys
    return 1024 + keys * (320 + (range.prefix.size() + 128) * 4 / 3);
}

store::Step<std::variant<RangeReply, Failure>> read_page(
    ClusterPtr const& cluster, KeyRange const& range, Keys const& keys, bool keys_only, Deadline not_after,
    Sender sender)
{
    auto const limit = page_of(range, keys_only);
    HttpRequest http_request{"kv/range", range_body(keys, {limit, keys_only}), std::move(not_after), std::move(sender)};
    http_request.reply_bytes = keys_only ? reply_bytes(range, limit) : most_page_bytes;
    return ask(cluster, std::move(http_request), range.describe(), parse_range);
}

store::Step<Leases::Taken>
grant(ClusterPtr const& cluster, std::chrono::milliseconds lifetime, Deadline not_after, Sender sender)
{
    return store::as_step(Leases::grant(cluster->leases, lifetime, std::move(not_after), std::move(sender)));
}

store::Step<WithdrawReply> revoke(ClusterPtr const& cluster, LeasePtr lease, Deadline not_after, Sender sender)
{
    return store::as_step(Leases::revoke(cluster->client, std::move(lease), std::move(not_after), std::move(sender)));
}

} // namespace tenure::etcd
