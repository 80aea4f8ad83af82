// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests of a session as steps for coroutines.
#pragma once

#include "runtime/names.hpp"
#include "session.hpp"

#include <store/request.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tenure::zookeeper
{

/** Waits until the session is connected, or for the reason why it is not: at `not_after`, or after a permanent
 *  failure. */
[[nodiscard]] store::Step<std::optional<Failure>> connect(SessionPtr const& session, Deadline not_after);

/** Sends a request, see `Session::ask`. */
[[nodiscard]] store::Step<Response> ask(SessionPtr const& session, Request request, Terms terms = {});

/** Synchronizes the connected server with the leader before the next read. */
void sync(Session& session, std::string const& path, Terms terms = {});

/** A node, and its generation as it was before: while the generation is unchanged, no client has claimed the key
 *  since. */
struct NodeSnapshot {
    /// of the write before the read, if one was requested
    Response write{};
    Response generation{};
    Response node{};

    /** Why the snapshot says nothing about the node; null: it is valid. */
    [[nodiscard]] Response const* failure() const;
    /** The version for a conditional change; nullopt: there is no generation, or its version cannot be a condition. */
    [[nodiscard]] std::optional<std::int32_t> generation_version() const;
};

/** Reads a node and its generation.
 *  @param after_write  after a write on the current connection */
[[nodiscard]] store::Step<NodeSnapshot>
read_node(SessionPtr const& session, std::string path, std::string generation, bool after_write);

/** Finds a place by the begin of its path, after a write on the current connection: then no creation of it is pending.
 *  The response has its path, or is ZNONODE. */
[[nodiscard]] store::Step<Response> find_place(SessionPtr const& session, std::string begin);

/** Creates the parent of a range, and the chroot above it. The response is that of the last creation. */
[[nodiscard]] store::Request<Response> create_parent(SessionPtr session, std::string path, Terms terms = {});
/** As above for a generation. */
[[nodiscard]] store::Request<Response> create_generation(SessionPtr session, std::string path, Terms terms = {});

} // namespace tenure::zookeeper
