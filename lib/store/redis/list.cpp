// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Listing of keys: SCAN from cursor to cursor, which delays no other client for long.
#include "operations.hpp"

#include "steps.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

/// the server looks at this many keys in one call, in less than a millisecond
constexpr int keys_per_scan = 1000;
/// a thousand long names; a hash table may return twice as many
constexpr std::size_t scan_reply_bytes = std::size_t{4} * 1024 * 1024;

/** The pattern of all names that begin with the prefix. */
std::string pattern_of(std::string_view prefix)
{
    std::string pattern;
    for (char const c : prefix) {
        if (std::string_view("*?[]\\").find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern + '*';
}

} // namespace

store::Request<ListReply> list(ServerPtr server, ListRequest request)
{
    auto const pattern = pattern_of(request.prefix);
    KeyList list;
    std::string cursor = "0";
    do {
        resp::Command command("SCAN", cursor, "MATCH", pattern, "COUNT", keys_per_scan);
        command.expect_reply_bytes(scan_reply_bytes);
        auto scan = execute(server, std::move(command), request.not_after);
        auto const outcome = co_await scan;
        auto const parts = outcome.reply.elements();
        bool const understood = parts.size() == 2 && parts[0].is_string() && parts[1].is_list();
        if (!outcome.succeeded() || !understood) {
            bool const in_time = !request.not_after.over(server->runtime().now());
            if (list.keys.empty() || in_time)
                co_return failure_of(*server, outcome, "the names of keys (SCAN)");
            list.more = true;
            break;
        }
        cursor = parts[0].as_string();
        for (auto const& name : parts[1].elements())
            list.keys.emplace_back(name.as_string());
        list.more =
            cursor != "0" && (list.keys.size() >= request.most || request.not_after.over(server->runtime().now()));
    } while (cursor != "0" && !list.more);
    co_return std::move(list);
}

} // namespace tenure::redis
