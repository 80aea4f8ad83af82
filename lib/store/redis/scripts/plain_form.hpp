// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>

namespace tenure::redis
{

/** The calls by which scripts publish. */
inline constexpr std::string_view publish_calls[] = {
    "redis.pcall('PUBLISH', string.sub(KEYS[line], 1, -8) .. 'free', message)", "redis.pcall('PUBLISH', ARGV[2], '0')"};

/** Makes the form of a script that publishes within the shard of the channel, which does not involve nodes of other
 *  slots. */
[[nodiscard]] std::string with_spublish(std::string script);

/** Makes the form of a script for servers that check its text. Each command that names several entries of KEYS at once
 *  becomes a command for each; nothing is published. The text is unchanged if it has neither. */
[[nodiscard]] std::string plain_form(std::string_view script);

} // namespace tenure::redis
