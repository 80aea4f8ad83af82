// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// HeldSet: joined tokens, and the release of several leases.
#include "held_set.hpp"

#include "holder.hpp"

#include "engine/core.hpp"
#include "engine/lease_record.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace tenure::locks
{

namespace
{

/** Collects the answers to the releases of a set. They arrive on the strands of several stores. */
class Answers
{
public:
    Answers(std::size_t missing, std::shared_ptr<Runtime> runtime, std::shared_ptr<HeldSet::ReleaseCall> call)
        : missing_(missing)
        , runtime_(std::move(runtime))
        , call_(std::move(call))
    {
    }

    void add(ReleaseOutcome outcome)
    {
        std::lock_guard const lock(mutex_);
        if (outcome == ReleaseOutcome::was_lost || outcome_ == ReleaseOutcome::released)
            outcome_ = outcome;
        if (--missing_ == 0)
            runtime_->post([call = call_, outcome = outcome_] { call->complete({}, outcome); });
    }

private:
    std::mutex mutex_;
    std::size_t missing_;
    ReleaseOutcome outcome_ = ReleaseOutcome::released;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<HeldSet::ReleaseCall> call_;
};

void release_one(engine::LeaseRecordPtr const& record, std::shared_ptr<Answers> const& answers)
{
    auto handle = record->begin_release();
    if (!handle) {
        answers->add(ReleaseOutcome::was_lost);
        return;
    }
    if (handle->core()->abandoned()) {
        answers->add(ReleaseOutcome::unconfirmed);
        return;
    }
    auto const& strand = handle->core()->runtime()->strand();
    strand.execute([record, handle = std::move(handle), answers] {
        auto told = [answers](ReleaseOutcome outcome) { answers->add(outcome); };
        handle->core()->release(record, engine::ReleaseQueue::make_item(std::move(told)));
    });
}

} // namespace

std::vector<TokenStatePtr> HeldSet::tokens_of(std::vector<Lease> const& leases)
{
    std::vector<TokenStatePtr> tokens;
    tokens.reserve(leases.size());
    for (auto const& lease : leases)
        tokens.push_back(lease.token().state_);
    return tokens;
}

LeaseSet HeldSet::make(std::shared_ptr<Runtime> runtime, std::vector<Lease> leases)
{
    return LeaseSet(std::make_shared<HeldSet>(std::move(runtime), std::move(leases)));
}

HeldSet::HeldSet(std::shared_ptr<Runtime> runtime, std::vector<Lease> leases)
    : runtime_(std::move(runtime))
    , leases_(std::move(leases))
    , joined_(leases_.size() > 1 ? JoinedToken::join(runtime_, tokens_of(leases_)) : nullptr)
    , token_(joined_ ? CancellationToken(joined_) : leases_.front().token())
{
}

void HeldSet::leave_keys() noexcept
{
    for (auto& lease : leases_)
        detail::LeaveKey<Lease>::of(lease);
}

HeldSet::~HeldSet()
{
    if (!joined_ || released_ || joined_->forked())
        return;
    try {
        joined_->cancel(CancelReason::released);
    } catch (...) { // NOLINT(bugprone-empty-catch): out of memory: waiters are not notified, and the token is cancelled
    }
}

void HeldSet::release(
    std::shared_ptr<HeldSet> const& self, asio::any_completion_handler<void(error_code, ReleaseOutcome)> handler)
{
    if (!self->joined_) {
        self->leases_.front().async_release(std::move(handler));
        return;
    }
    ReleaseCall::Handler pending(std::move(handler), self->runtime_.get());
    if (self->joined_->forked()) {
        std::move(pending).complete_at_once(make_error_code(errc::forked), ReleaseOutcome::unconfirmed);
    } else if (self->released_.exchange(true)) {
        std::move(pending).complete_at_once(make_error_code(errc::released), ReleaseOutcome::was_lost);
    } else {
        // Cancelled first: the end of the leases would cancel it only after their releases are sent.
        self->joined_->cancel(CancelReason::released);
        auto const answers = std::make_shared<Answers>(
            self->leases_.size(), self->runtime_,
            ReleaseCall::start(std::move(pending), self->runtime_, detail::partial_cancellation));
        // in one turn, so that a store sends the requests together
        self->runtime_->strand().execute([self, answers] {
            for (auto const& lease : self->leases_)
                release_one(EngineLease::record_of(lease), answers);
        });
    }
}

std::shared_ptr<JoinedToken> JoinedToken::join(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens)
{
    auto joined = std::make_shared<JoinedToken>(std::move(runtime), std::move(tokens));
    for (auto const& token : joined->tokens_)
        if (!token->set_dependent(joined))
            (void)joined->cancelled();
    return joined;
}

JoinedToken::JoinedToken(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens)
    : TokenState(std::move(runtime), Instant::max(), CancelReason::none)
    , tokens_(std::move(tokens))
{
}

bool JoinedToken::cancelled() const noexcept
{
    if (TokenState::cancelled())
        return true;
    auto const first = std::ranges::find_if(tokens_, [](TokenStatePtr const& token) { return token->cancelled(); });
    if (first == tokens_.end())
        return false;
    if (!forked())
        cancel_late((*first)->reason());
    return true;
}

} // namespace tenure::locks
