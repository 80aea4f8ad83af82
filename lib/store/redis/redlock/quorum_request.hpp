// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests to all nodes of a quorum with one answer.
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redlock
{

/** Makes the failure of a request that the votes do not decide.
 *  @param what    the request
 *  @param effect  as for `no_majority` */
template <class Reply>
[[nodiscard]] Failure undecided(
    Quorum const& quorum, Votes<Reply> const& votes, std::string what,
    std::optional<Failure::Effect> effect = std::nullopt)
{
    auto const words = [&](std::size_t node) {
        return std::visit(
            []<class Answer>(Answer const&) -> std::string_view {
                if (std::same_as<Answer, NotOwner>)
                    return "bears another owner";
                return std::same_as<Answer, Ready> ? "ready" : "done";
            },
            votes.of(node));
    };
    return no_majority(quorum, std::move(what), votes, words, effect);
}

/** Sends a request to all nodes, for one answer.
 *
 *  Unanswered requests own its state, never the timer: a destroyed runtime never fires timers.
 *
 *  @param ask       called as `ask(node, request, handler)` for each node; may be a member function of the node
 *  @param decide    called after each reply as `decide(votes)`; nullopt: further replies are needed
 *  @param conclude  makes the answer when all nodes have replied or the limit is reached
 *  @param limit     end of the wait for missing replies */
template <class Request, class Reply, class Ask, class Decide, class Conclude>
void ask_all(
    QuorumPtr const& quorum, Ask ask, Request const& request, Decide decide, Conclude conclude,
    ReplyHandler<Reply> handler, Instant limit = Instant::max())
{
    struct Pending {
        QuorumPtr quorum;
        Decide decide;
        Conclude conclude;
        /// empty: answered
        ReplyHandler<Reply> handler;
        Votes<Reply> votes{quorum->size()};
        Timer timer{quorum->runtime()};

        void voted(std::size_t node, Reply reply)
        {
            votes.cast(node, std::move(reply));
            if (!handler)
                return;
            if (auto decision = decide(votes))
                answer(std::move(*decision));
            else if (votes.complete())
                answer(conclude(votes));
        }

        void answer(Reply reply)
        {
            timer.cancel();
            std::move(handler)(std::move(reply));
        }
    };
    auto const pending = std::make_shared<Pending>(quorum, std::move(decide), std::move(conclude), std::move(handler));
    if (limit != Instant::max())
        pending->timer.at(limit, std::weak_ptr(pending), [](Pending& all) { all.answer(all.conclude(all.votes)); });
    for (std::size_t node = 0; node < quorum->size(); ++node)
        std::invoke(ask, *quorum->nodes()[node], request, [pending, node](Reply reply) {
            pending->voted(node, std::move(reply));
        });
}

} // namespace tenure::redlock
