// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>

#include <boost/system/error_code.hpp>

#include <string>
#include <string_view>

namespace tenure::redis
{

/** What an error reply means for leases. */
struct ServerError {
    error_code error;
    /// asking again cannot help until a person acts
    bool fatal = false;
    /// another server may be the right one by now: resolve and connect anew
    bool reconnect = false;
    /// the server's words, without the frame that scripts put around them
    std::string words;
    /// what to do about it; empty where waiting is all there is
    std::string advice;
};

/** Reads an error reply, with or without the leading word, also as scripts of Redis 6 and 7 pass it on. */
[[nodiscard]] ServerError classify(std::string_view reply);

/** True for the errors that concern a single key or permission, so that other keys of the same call may fare better;
 * also where the keys of a call are at two nodes of a cluster for now, and each alone is at one. */
[[nodiscard]] bool concerns_single_key(ServerError const& error) noexcept;

/** `where` names the server, `what` the key or range: "redis://host:6379/0: thread_id_lock:0..15: NOPERM ...; grant
 * ..." */
[[nodiscard]] Failure refused(ServerError const& error, std::string_view where, std::string_view what);

} // namespace tenure::redis
