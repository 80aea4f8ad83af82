// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests to a ZooKeeper server, their responses, and the meaning of error codes for leases.
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

/// version of a node that was claimed and not changed since: a claim writes to it once after the creation
constexpr std::int32_t claimed_version = 1;

/** A request to the server. */
struct Request {
    enum class Kind {
        /// creates an ephemeral node, writes its data, and writes to its generation, in one step
        claim,
        /// creates an ephemeral node with its data; the server appends ten digits to its name
        create_place,
        create_container,
        create_persistent,
        /// data and stat; if `watch` is set, the next change or the deletion of the node is an event
        get,
        /// stat; if `watch` is set, the next change or the creation of the node is an event
        exists,
        /// names of the children; if `watch` is set, their next change is an event
        children,
        set,
        remove,
        /// a write that changes nothing: a transaction of one check
        check,
        /// synchronizes the connected server with the leader
        sync,
        /// ends the watches of the node that earlier requests have begun
        unwatch
    };
    Kind kind;
    std::string path;
    std::string data = {};
    /// of `set` and `remove`; -1: any
    std::int32_t version = -1;
    bool watch = false;
    /// of `claim` (required), and of `set` and `remove`: the generation of the node at `path`
    std::string generation = {};
    /// of `set` and `remove`: they fail unless the generation still has this version. Unset: not checked
    std::optional<std::int32_t> generation_version = {};
};

/** The part of a node's stat that matters to leases. */
struct NodeStat {
    /// the transaction that created it: unique and increasing
    std::int64_t czxid = 0;
    std::int32_t version = 0;
    /// the session that owns it; 0: none
    std::int64_t ephemeral_owner = 0;
};

/** The response to a request. */
struct Response {
    /// ZOO_ERRORS
    int code = 0;
    /// just before the request was submitted, and when its response arrived
    Instant sent{};
    Instant answered{};
    NodeStat stat = {};
    /// of `create_place`: the path with its digits
    std::string path = {};
    std::string data = {};
    std::vector<std::string> children = {};
    /// the part for the generation failed, and nothing was executed
    bool of_generation = false;
    /// of a successful claim: the version of its generation, unless that version means any
    std::optional<std::int32_t> generation_version = {};
    /// the request was not sent, because its time was over or its owner has given up
    bool dropped = false;

    /** Of a creation: the node exists, created by this request or by an earlier one. */
    [[nodiscard]] bool exists() const noexcept { return code == ZOK || code == ZNODEEXISTS; }
};

using ResponseHandler = OneShot<void(Response const&)>;

/** Makes the failure for an error code, as text for people.
 *  @param where  the store, without secrets
 *  @param what  the key or range
 *  @param login  its user, empty if none */
[[nodiscard]] Failure
failure_of(Response const& response, std::string const& where, std::string const& what, std::string const& login);

/** True if the server has answered, with success or not: the request is decided. */
[[nodiscard]] bool is_answered(int code) noexcept;

} // namespace tenure::zookeeper
