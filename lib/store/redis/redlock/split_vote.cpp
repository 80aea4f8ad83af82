// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "split_vote.hpp"

#include "claims.hpp"
#include "give_back.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;

/// when and how often those nodes are asked again that a loser held: for half a second
constexpr auto first_time = 2ms;
constexpr unsigned most_times = 8;

} // namespace

SplitVote::SplitVote(
    QuorumPtr quorum, std::weak_ptr<Claims> claims, ClaimRequest claim, std::uint64_t token,
    std::vector<std::size_t> missing, std::function<void()> over)
    : quorum_(std::move(quorum))
    , claims_(std::move(claims))
    , claim_(std::move(claim))
    , token_(token)
    , missing_(std::move(missing))
    , over_(std::move(over))
{
}

void SplitVote::add(std::size_t node)
{
    missing_.push_back(node);
    times_ = 0;
    if (timer_ == 0)
        wait();
}

void SplitVote::stop() noexcept
{
    stopped_ = true;
    quorum_->runtime().cancel(std::exchange(timer_, 0));
}

void SplitVote::wait()
{
    if (stopped_ || times_ == most_times || missing_.empty())
        return;
    auto const pause = first_time * (1 << times_++);
    timer_ = quorum_->runtime().call_at(quorum_->runtime().now() + pause, [weak = weak_from_this()] {
        if (auto const self = weak.lock()) {
            self->timer_ = 0;
            self->ask();
            self->leave();
        }
    });
}

void SplitVote::ask()
{
    if (stopped_ || claim_.not_after.over(quorum_->runtime().now()))
        return;
    for (auto const node : missing_) {
        ++unanswered_;
        quorum_->nodes()[node]->claim(claim_, [self = shared_from_this(), node](ClaimReply const& reply) {
            --self->unanswered_;
            self->answered(node, reply);
            self->leave();
        });
    }
    wait();
}

void SplitVote::answered(std::size_t node, ClaimReply const& reply)
{
    if (!std::holds_alternative<Granted>(reply))
        return;
    if (stopped_) {
        give_back(
            *quorum_->nodes()[node], claim_.range, claim_.owner, quorum_->runtime().now() + claim_.ttl,
            [](ReleaseReply const&) {});
        return;
    }
    std::erase(missing_, node);
    if (token_ != 0)
        quorum_->nodes()[node]->accept_token(
            {claim_.range, 0, claim_.owner, token_, claim_.not_after.at()}, [](redis::TokenReply const&) {});
    if (missing_.empty())
        tell();
}

void SplitVote::tell()
{
    if (auto const over = std::exchange(over_, nullptr); over && !stopped_)
        over();
}

void SplitVote::leave()
{
    if (timer_ != 0 || unanswered_ > 0)
        return;
    if (auto const claims = std::exchange(claims_, {}).lock())
        claims->remove(*this);
    tell();
}

} // namespace tenure::redlock
