// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ready.hpp"

#include "votes.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace tenure::redlock
{

namespace
{

class ReadinessPoll : public std::enable_shared_from_this<ReadinessPoll>
{
public:
    ReadinessPoll(QuorumPtr quorum, ReplyHandler<ReadyReply> handler)
        : quorum_(std::move(quorum))
        , handler_(std::move(handler))
        , votes_(quorum_->size())
    {
    }

    void start(Deadline const& not_after)
    {
        // held by the nodes that have not answered; a runtime that is gone never rings
        timer_ = quorum_->runtime().call_at(not_after.at(), [weak = weak_from_this()] {
            if (auto const self = weak.lock())
                self->finish();
        });
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            quorum_->nodes()[node]->ready_together(not_after, [self = shared_from_this(), node](ReadyReply reply) {
                self->voted(node, std::move(reply));
            });
    }

private:
    void voted(std::size_t node, ReadyReply reply)
    {
        fatal_ += is_fatal(reply) ? 1U : 0U;
        votes_.cast(node, std::move(reply));
        if (votes_.count<Ready>() >= quorum_->majority() || fatal_ >= quorum_->veto() || votes_.complete())
            finish();
    }

    [[nodiscard]] static bool is_fatal(ReadyReply const& reply) noexcept
    {
        auto const* const failure = std::get_if<Failure>(&reply);
        return failure != nullptr && failure->fatal;
    }

    void finish()
    {
        if (!handler_)
            return;
        quorum_->runtime().cancel(timer_);
        std::exchange(handler_, nullptr)(reply());
    }

    [[nodiscard]] ReadyReply reply() const
    {
        if (votes_.count<Ready>() >= quorum_->majority())
            return Ready{};
        VerdictBuilder builder(*quorum_, "not ready");
        for (std::size_t node = 0; node < quorum_->size(); ++node) {
            auto const name = quorum_->nodes()[node]->describe();
            if (!votes_.is_cast(node))
                builder.add_silence(name);
            else if (!builder.add_failure_in(name, votes_.of(node)))
                builder.add(name, "ready");
        }
        return builder.take(Failure::Effect::refused);
    }

    QuorumPtr quorum_;
    /// empty: answered
    ReplyHandler<ReadyReply> handler_;
    Votes<ReadyReply> votes_;
    std::size_t fatal_ = 0;
    Runtime::TimerId timer_ = 0;
};

} // namespace

void ready(QuorumPtr const& quorum, Deadline not_after, ReplyHandler<ReadyReply> handler)
{
    std::make_shared<ReadinessPoll>(quorum, std::move(handler))->start(not_after);
}

} // namespace tenure::redlock
