// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redlock
{

/** One request to all nodes of a quorum, answered once: by what `decide` makes of the replies so far or, when all nodes
 * have replied or the time is over, by what `conclude` makes of them.
 *
 *  Held by the nodes that have not replied, never by its timer: a runtime that is gone never rings. */
template <class Request, class Reply>
class Poll : public std::enable_shared_from_this<Poll<Request, Reply>>
{
public:
    Poll(QuorumPtr quorum, Request request, ReplyHandler<Reply> handler)
        : quorum_(std::move(quorum))
        , request_(std::move(request))
        , votes_(quorum_->size())
        , handler_(std::move(handler))
        , limit_(quorum_->runtime())
    {
    }
    Poll(Poll const&) = delete;
    Poll& operator=(Poll const&) = delete;
    virtual ~Poll() = default;

    /** Calls `ask(node, request, handler)` for each node, also where that is a member function of the node.
     *  @param limit  when the nodes that have not replied are no longer waited for */
    template <class Ask>
    void start(Ask ask, Instant limit = Instant::max())
    {
        if (limit != Instant::max())
            limit_.at(limit, this->weak_from_this(), [](Poll& self) { self.answer(self.conclude()); });
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
    /** What was asked, for errors. */
    [[nodiscard]] virtual std::string what() const = 0;
    /** What a reply says that is no failure, for errors. */
    [[nodiscard]] virtual std::string_view words(Reply const& reply) const = 0;
    /** Unset: more replies can decide it. */
    [[nodiscard]] virtual std::optional<Reply> decide() const { return std::nullopt; }
    [[nodiscard]] virtual Reply conclude() const { return failure(std::nullopt); }
    /** After each reply: one that comes when all is decided may still ask for something to be done. */
    virtual void afterwards() {}

    /** @param effect  as of `no_majority` */
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
