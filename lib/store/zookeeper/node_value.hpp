// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::zookeeper
{

/** What a key's node holds: the owner, and on a second line the ttl for those who look (`ttl=10000`, milliseconds). */
struct NodeValue {
    std::string owner;
    /// unset in nodes of other software
    std::optional<std::chrono::milliseconds> ttl;
};

[[nodiscard]] std::string encode(std::string_view owner, std::optional<std::chrono::milliseconds> ttl);
/** Never fails: of what somebody else wrote the first line is the owner. */
[[nodiscard]] NodeValue decode(std::string_view data);

} // namespace tenure::zookeeper
