// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node.hpp"

#include <tenure/backend.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** Releases on one server. Those that are asked for in one turn of the loop share script calls of up to 100 keys; where
 * nobody is to be woken and the server can compare and delete by itself, it does. */
class Releases : public std::enable_shared_from_this<Releases>
{
public:
    explicit Releases(NodePtr node)
        : node_(std::move(node))
    {
    }

    void add(ReleaseRequest request, ReplyHandler<ReleaseReply> handler);

private:
    struct Pending {
        ReleaseRequest request;
        ReplyHandler<ReleaseReply> handler;
    };
    using Batch = std::vector<Pending>;

    void flush();
    void send_script(Batch batch);
    void send_natively(Pending pending, std::string_view command);
    void answered(Batch batch, Outcome outcome);
    void retry_alone(Pending pending, Refused reason);

    NodePtr node_;
    /// of this turn
    Batch pending_;
};

} // namespace tenure::redis
