// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages to the waiters of a range.
#pragma once

#include "server_context.hpp"

#include "store/redis/scripts/release_replies.hpp"

#include <tenure/key_range.hpp>

#include <cstddef>
#include <string_view>

namespace tenure::redis
{

/** The message for all waiters of a range, which names no store. */
inline constexpr std::string_view message_for_all = "1";

/** The argument `how` of the releasing scripts (see scripts.hpp). */
[[nodiscard]] inline std::string_view how_to_publish(ServerContext const& server) noexcept
{
    return server.publishes_in_scripts() ? "+" : "-";
}

/** Publishes a message in a command of its own. If it is lost, the waiters find the key by polling. */
void publish(ServerPtr const& server, KeyRange const& range, std::string_view message);

/** After a release: records refusals in the notes, and publishes the message that the script has not published.
 *  @param by_script  the script was to publish */
void follow_up(
    ServerPtr const& server, KeyRange const& range, ReleaseNotes const& notes, std::size_t number, bool by_script);

} // namespace tenure::redis
