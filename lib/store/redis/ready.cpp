// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ready.hpp"

#include <string>
#include <utility>

namespace tenure::redis
{

namespace
{

using ReplyKind = bool (resp::Value::*)() const noexcept;

/** @param kind  of the reply  @param what  for errors */
void ask_server(
    NodePtr const& node, resp::Command command, ReplyKind kind, std::string what, Deadline const& not_after,
    ReplyHandler<ReadyReply> handler)
{
    node->route()->execute(
        std::move(command), not_after,
        [node, kind, what = std::move(what), handler = std::move(handler)](Outcome outcome) mutable {
            if (outcome.delivery != Delivery::answered)
                std::move(handler)(undelivered(std::move(outcome)));
            else if (outcome.reply.is_error())
                std::move(handler)(node->refuse(outcome.reply, what));
            else if ((outcome.reply.*kind)())
                std::move(handler)(Ready{});
            else
                std::move(handler)(nonsense(*node, what));
        });
}

} // namespace

void ready(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    ask_server(
        node, resp::Command("EXISTS", node->fence()), &resp::Value::is_integer, node->fence(), not_after,
        std::move(handler));
}

void ready_together(NodePtr const& node, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    ask_server(node, resp::Command("TIME"), &resp::Value::is_list, "the server's time", not_after, std::move(handler));
}

} // namespace tenure::redis
