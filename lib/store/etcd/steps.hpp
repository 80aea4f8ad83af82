// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Building blocks of requests to a cluster: the keys of a range, and steps for coroutines.
#pragma once

#include "cluster_context.hpp"
#include "runtime/names.hpp"
#include "store/etcd/http/exchange.hpp"
#include "store/etcd/http/messages.hpp"

#include <store/key_index.hpp>
#include <store/not_written.hpp>
#include <store/request.hpp>

#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::etcd
{

// -- the keys of a range --

/** The interval that contains the keys of a range. Foreign keys may lie between them: `prefix1x` lies between
 *  `prefix1` and `prefix2`. */
[[nodiscard]] Keys whole(KeyRange const& range);

/** The index of the key of this name; of a key that is held in places, also of whatever else lies below it. */
[[nodiscard]] inline std::optional<std::uint32_t> index_of(KeyRange const& range, std::string_view name)
{
    if (!range.shares)
        return store::index_of(range, name);
    bool const below = name.starts_with(range.prefix) && name.substr(range.prefix.size()).starts_with('/');
    return below ? std::optional(0U) : std::nullopt;
}

/** The longest reply to a read of this many keys of the range, without their values. */
[[nodiscard]] std::size_t reply_bytes(KeyRange const& range, std::size_t keys) noexcept;

/** The first key after this one. */
[[nodiscard]] inline std::string next_key(std::string key)
{
    key.push_back('\0');
    return key;
}

/** The rest of the keys after this page; nullopt: complete. */
[[nodiscard]] inline std::optional<Keys> rest_of(Keys const& keys, RangeReply const& page)
{
    if (!page.more || page.found.empty())
        return std::nullopt;
    return Keys{next_key(page.found.back().key), keys.end};
}

// -- steps --

/** Sends a request and parses its reply with `parse`. `what` names the key in errors. */
template <class Reply>
[[nodiscard]] store::Step<std::variant<Reply, Failure>>
ask(ClusterPtr const& cluster, HttpRequest http_request, std::string what,
    std::optional<Reply> (*parse)(std::string_view))
{
    using Handler = OneShot<void(std::variant<Reply, Failure>&&)>;
    return store::Step<std::variant<Reply, Failure>>([cluster = cluster, http_request = std::move(http_request),
                                                      what = std::move(what), parse](Handler handler) mutable {
        auto& client = *cluster->client;
        client.send(
            std::move(http_request),
            [cluster = std::move(cluster), what = std::move(what), parse, handler = std::move(handler)](
                Outcome outcome) mutable { handler(read_reply(std::move(outcome), cluster->where(), what, parse)); });
    });
}

/** Reads one page of a range (see `rest_of`). */
[[nodiscard]] store::Step<std::variant<RangeReply, Failure>> read_page(
    ClusterPtr const& cluster, KeyRange const& range, Keys const& keys, bool keys_only, Deadline not_after,
    Sender sender = {});

/** Gets a new lease. */
[[nodiscard]] store::Step<Leases::Taken>
grant(ClusterPtr const& cluster, std::chrono::milliseconds lifetime, Deadline not_after, Sender sender);

/** Ends a lease. */
[[nodiscard]] store::Step<WithdrawReply>
revoke(ClusterPtr const& cluster, LeasePtr lease, Deadline not_after, Sender sender);

} // namespace tenure::etcd
