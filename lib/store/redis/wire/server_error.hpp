// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "error_meaning.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>

#include <boost/system/error_code.hpp>

#include <string>
#include <string_view>

namespace tenure::redis
{

/** Meaning of an error reply for leases. */
struct ServerError {
    error_code error;
    ErrorMeaning meaning = ErrorMeaning::other;
    /// retries cannot succeed until a person acts
    bool fatal = false;
    /// another server may be the right one by now: resolve and reconnect
    bool reconnect = false;
    /// the server's error text, without the frame of scripts
    std::string words;
    /// what to do about it; empty if only waiting helps
    std::string advice;
};

/** Classifies an error reply, with or without the leading word, also in the form of scripts in Redis 6 and 7. */
[[nodiscard]] ServerError classify(std::string_view reply);

/** True for errors of a single key or permission, so that other keys of the call may succeed. Also true if the keys of
 *  a call are temporarily at two nodes of a cluster, and each alone is at one. False if the command is unavailable. */
[[nodiscard]] bool concerns_single_key(ServerError const& error) noexcept;

/** Makes a failure. `where` names the server, `what` the key or range: "redis://host:6379/0: thread_id_lock:0..15:
 *  NOPERM ...; grant ..." */
[[nodiscard]] Failure refused(ServerError const& error, std::string_view where, std::string_view what);

} // namespace tenure::redis
