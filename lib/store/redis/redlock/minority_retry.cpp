// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MinorityRetry: claims of the missing nodes.
#include "minority_retry.hpp"

#include "claims.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace tenure::redlock
{

namespace
{

using namespace std::chrono_literals;

/// pauses and limit of retries on nodes that a loser held: half a second in all
constexpr auto first_time = 2ms;
constexpr unsigned most_times = 8;

} // namespace

MinorityRetry::MinorityRetry(QuorumPtr quorum, ClaimRequest claim, std::uint64_t token, std::function<void()> done)
    : quorum_(std::move(quorum))
    , claim_(std::move(claim))
    , token_(token)
    , done_(std::move(done))
    , again_(quorum_->runtime())
{
}

void MinorityRetry::add(std::vector<std::size_t> const& nodes)
{
    missing_.insert(missing_.end(), nodes.begin(), nodes.end());
    times_ = 0;
    if (!again_.pending())
        wait();
}

void MinorityRetry::stop() noexcept
{
    stopped_ = true;
    again_.cancel();
}

void MinorityRetry::wait()
{
    if (!stopped_ && times_ < most_times && !missing_.empty())
        again_.after(first_time * (1 << times_++), weak_from_this(), &MinorityRetry::ask);
}

void MinorityRetry::ask()
{
    if (!claim_.not_after.over(quorum_->runtime().now())) {
        for (auto const node : missing_) {
            ++unanswered_;
            quorum_->nodes()[node]->claim(claim_, [self = shared_from_this(), node](ClaimReply const& reply) {
                --self->unanswered_;
                self->answered(node, reply);
            });
        }
        wait();
    }
    notify_if_done();
}

void MinorityRetry::answered(std::size_t node, ClaimReply const& reply)
{
    bool const granted = std::holds_alternative<Granted>(reply);
    if (granted && stopped_) {
        give_back(
            *quorum_->nodes()[node], claim_.range, claim_.owner, quorum_->runtime().now() + claim_.ttl,
            [](ReleaseReply const&) {});
    } else if (granted) {
        std::erase(missing_, node);
        if (token_ != 0)
            quorum_->nodes()[node]->accept_token(
                {claim_.range, 0, claim_.owner, token_, claim_.not_after.at()}, [](redis::TokenReply const&) {});
    }
    notify_if_done();
}

void MinorityRetry::notify_if_done()
{
    if (missing_.empty())
        again_.cancel();
    if (!stopped_ && (missing_.empty() || over()))
        done_();
}

} // namespace tenure::redlock
