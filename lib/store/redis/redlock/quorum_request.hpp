// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
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

/** One request to all nodes of a quorum with one answer. `decide` may answer after each reply; `conclude` answers when
 *  all nodes have replied or the time is over.
 *
 *  Unanswered requests own it, never its timer: a destroyed runtime never fires timers. */
template <class Request, class Reply>
class QuorumRequest : public std::enable_shared_from_this<QuorumRequest<Request, Reply>>
{
public:
    QuorumRequest(QuorumPtr quorum, Request request, ReplyHandler<Reply> handler)
        : quorum_(std::move(quorum))
        , request_(std::move(request))
        , votes_(quorum_->size())
        , handler_(std::move(handler))
        , limit_(quorum_->runtime())
    {
    }
    QuorumRequest(QuorumRequest const&) = delete;
    QuorumRequest& operator=(QuorumRequest const&) = delete;
    virtual ~QuorumRequest() = default;

    /** Calls `ask(node, request, handler)` for each node; `ask` may be a member function of the node.
     *  @param limit  end of the wait for missing replies */
    template <class Ask>
    void start(Ask ask, Instant limit = Instant::max())
    {
        if (limit != Instant::max())
            limit_.at(limit, this->weak_from_this(), [](QuorumRequest& self) { self.answer(self.conclude()); });
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            std::invoke(ask, *quorum_->nodes()[node], request_, [self = this->shared_from_this(), node](Reply reply) {
                self->voted(node, std::move(reply));
            });
    }

    void voted(std::size_t node, Reply reply)
    {
        votes_.cast(node, std::move(reply));
        if (handler_) {
            if (auto decision = decide())
                answer(std::move(*decision));
            else if (votes_.complete())
                answer(conclude());
        }
        afterwards();
    }

protected:
    /** The request, for errors. */
    [[nodiscard]] virtual std::string what() const = 0;
    /** Text for a reply that is not a failure, for errors. */
    [[nodiscard]] virtual std::string_view words(Reply const& reply) const
    {
        return std::visit(
            []<class Answer>(Answer const&) -> std::string_view {
                return std::same_as<Answer, NotOwner> ? "bears another owner" : "done";
            },
            reply);
    }
    /** Nullopt: further replies are needed. */
    [[nodiscard]] virtual std::optional<Reply> decide() const = 0;
    [[nodiscard]] virtual Reply conclude() const { return failure(std::nullopt); }
    /** Called after each reply; a late reply may still need an action. */
    virtual void afterwards() {}

    /** @param effect  as for `no_majority` */
    [[nodiscard]] Failure failure(std::optional<Failure::Effect> effect) const
    {
        return no_majority(
            *quorum_, what(), votes_, [this](std::size_t node) { return words(votes_.of(node)); }, effect);
    }

    QuorumPtr const quorum_;
    Request const request_;
    Votes<Reply> votes_;

private:
    void answer(Reply reply)
    {
        limit_.cancel();
        std::exchange(handler_, nullptr)(std::move(reply));
    }

    /// empty: answered
    ReplyHandler<Reply> handler_;
    Timer limit_;
};

} // namespace tenure::redlock
