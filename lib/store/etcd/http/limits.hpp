// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Limits of etcd and of its gateway, and the limits of this store's requests that keep them. The table in
// docs/integrators/etcd-protocol.md, "Limits", names them, and a unit test compares them.
#pragma once

#include <cstddef>

namespace tenure::etcd
{

// -- of the server, with its default settings --

/// of a request: --max-request-bytes
inline constexpr std::size_t server_request_bytes = std::size_t{3} * 512 * 1024;
/// of the comparisons, and of the operations of each branch, of a transaction: --max-txn-ops
inline constexpr std::size_t server_operations = 128;

// -- of the gateway: Go's server for HTTP/1.1 --

/// The part of a body that the gateway certainly reads. When its first answer is ready, it discards the unread rest of
/// the body, and with it the messages of a stream.
inline constexpr std::size_t certainly_read = 512;
/// an unread rest of this size or more is not discarded
inline constexpr std::size_t never_discarded = std::size_t{256} * 1024;

// -- of this store's requests and replies --

/// of the body of a `lease/keepalive` request
inline constexpr std::size_t most_keep_alive_bytes = certainly_read;
/// of the keys in the proof of renewals
inline constexpr std::size_t keys_per_proof = 100;
/// of the requests that create the watches of a stream
inline constexpr std::size_t most_watch_bytes = std::size_t{128} * 1024;
/// of the keys in one page of a range, without their values; fewer with long names (`most_page_bytes`)
inline constexpr std::size_t keys_per_page = 4096;
/// of the keys in one page of a range, with their values
inline constexpr std::size_t keys_per_page_with_values = 256;
/// a put that finds its key held reads the range again if it has at most this many keys, and as many of others between;
/// the read of a thousand costs the server milliseconds
inline constexpr std::size_t keys_seen_on_conflict = 64;
/// of the reply to a read of a page
inline constexpr std::size_t most_page_bytes = std::size_t{2} * 1024 * 1024;
/// of any other reply
inline constexpr std::size_t most_reply_bytes = std::size_t{64} * 1024;
/// of a line in a stream
inline constexpr std::size_t most_line_bytes = std::size_t{1024} * 1024;
/// of the leases whose remaining time one inspection reads
inline constexpr std::size_t most_leases_inspected = 1000;

} // namespace tenure::etcd
