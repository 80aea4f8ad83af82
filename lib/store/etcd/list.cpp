// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Listing of keys on etcd.
#include "operations.hpp"
#include "steps.hpp"
#include "store/etcd/http/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace tenure::etcd
{

namespace
{

/// names of other programs may be long; etcd's own are at most a few hundred bytes
constexpr std::size_t names_per_page = 512;

/** All keys with the prefix. */
Keys keys_with(std::string const& prefix)
{
    // for the server a single zero byte is the first key, and as the end it stands for all keys
    Keys keys{prefix.empty() ? std::string(1, '\0') : prefix, prefix};
    while (!keys.end.empty() && keys.end.back() == '\xff')
        keys.end.pop_back();
    if (keys.end.empty())
        keys.end.push_back('\0');
    else
        ++keys.end.back();
    return keys;
}

} // namespace

store::Request<ListReply> list(ClusterPtr cluster, ListRequest request)
{
    KeyList list;
    for (std::optional<Keys> keys = keys_with(request.prefix); keys;) {
        HttpRequest http_request{"kv/range", range_body(*keys, {names_per_page, true}), request.not_after};
        http_request.reply_bytes = most_page_bytes;
        auto read = ask(cluster, std::move(http_request), "the names of keys", parse_range);
        auto const page = co_await read;
        for (auto const& entry : page.found)
            // a key that is held in places is named once
            if (auto const key = held_in(entry);
                key.starts_with(request.prefix) && (list.keys.empty() || list.keys.back() != key))
                list.keys.emplace_back(key);
        keys = rest_of(*keys, page);
        list.more = keys && (list.keys.size() >= request.most || request.not_after.over(cluster->runtime().now()));
        if (list.more)
            break;
    }
    std::ranges::sort(list.keys);
    auto const repeated = std::ranges::unique(list.keys);
    list.keys.erase(repeated.begin(), repeated.end());
    co_return std::move(list);
}

} // namespace tenure::etcd
