// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Listing of the keys of all masters.
#include "operations.hpp"

#include "cluster.hpp"

#include "store/redis/server_context.hpp"

#include <store/gather.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace tenure::redis
{

store::Request<ListReply> list_cluster(std::shared_ptr<Cluster> cluster, ListRequest request)
{
    auto mapped = store::as_step(find_map(cluster, request.not_after));
    bool const known = co_await mapped;
    if (!known) {
        auto const& refusal = cluster->topology().failure();
        co_return Failure::not_sent(
            refusal.error ? refusal.error : make_error_code(errc::store_unavailable),
            cluster->name() + ": " +
                (refusal.detail.empty() ? "no node told which server has which keys" : refusal.detail),
            refusal.fatal);
    }
    KeyList all;
    std::optional<Failure> failure;
    auto scans = store::gather(*cluster->runtime(), Instant::max(), [&](auto const& reply_to) {
        for (auto const& address : cluster->topology().map().masters()) {
            auto& node = cluster->nodes().at(address);
            node.used = request.not_after.at();
            auto const server = std::make_shared<ServerContext>(
                cluster->runtime(), node.channel, ServerSettings{cluster->name() + " at " + to_string(address)});
            list(server, request).start(reply_to([&](ListReply&& reply) {
                if (auto* const failed = std::get_if<Failure>(&reply)) {
                    failure = std::move(*failed);
                    return;
                }
                auto& found = std::get<KeyList>(reply);
                std::ranges::move(found.keys, std::back_inserter(all.keys));
                all.more = all.more || found.more;
            }));
        }
    });
    co_await scans;
    if (failure)
        co_return std::move(*failure);
    co_return std::move(all);
}

} // namespace tenure::redis
