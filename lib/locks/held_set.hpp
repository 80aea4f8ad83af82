// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/completion.hpp"
#include "engine/token_state.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/lease.hpp>
#include <tenure/lease_set.hpp>

#include <boost/asio/any_completion_handler.hpp>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace tenure::locks
{

using TokenStatePtr = std::shared_ptr<engine::TokenState>;

/** The state of a token that is cancelled with the first of several tokens, for the same reason. */
class JoinedToken final : public engine::TokenState
{
public:
    /** @param tokens  of leases; a released lease no longer keeps state here */
    [[nodiscard]] static std::shared_ptr<JoinedToken>
    join(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens);

    JoinedToken(std::shared_ptr<Runtime> runtime, std::vector<TokenStatePtr> tokens);

    [[nodiscard]] bool cancelled() const noexcept override;

private:
    std::vector<TokenStatePtr> tokens_;
};

/** The leases of a LeaseSet. */
class HeldSet
{
public:
    using ReleaseCall = engine::Call<ReleaseOutcome>;

    [[nodiscard]] static LeaseSet make(std::shared_ptr<Runtime> runtime, std::vector<Lease> leases);
    /** A second token of a lease, which may be cancelled before the lease's own.
     *  @param token  of a lease */
    [[nodiscard]] static std::shared_ptr<JoinedToken> second_token(CancellationToken const& token)
    {
        return JoinedToken::join(token.state_->shared_runtime(), {token.state_});
    }
    [[nodiscard]] static CancellationToken token_of(std::shared_ptr<JoinedToken> state)
    {
        return CancellationToken(std::move(state));
    }

    /** Use `make`. */
    HeldSet(std::shared_ptr<Runtime> runtime, std::vector<Lease> leases);
    HeldSet(HeldSet const&) = delete;
    HeldSet& operator=(HeldSet const&) = delete;
    /** Releases the leases that are still held. */
    ~HeldSet();

    [[nodiscard]] std::vector<Lease> const& leases() const noexcept { return leases_; }
    [[nodiscard]] CancellationToken const& token() const noexcept { return token_; }
    [[nodiscard]] std::shared_ptr<Runtime> const& runtime() const noexcept { return runtime_; }

    /** True once the release of the set has begun. The releases of its leases may begin later. */
    [[nodiscard]] bool released() const noexcept { return released_; }
    /** As `detail::LeaveKey`. */
    void leave_keys() noexcept;
    static void release(
        std::shared_ptr<HeldSet> const& self, asio::any_completion_handler<void(error_code, ReleaseOutcome)> handler);

private:
    [[nodiscard]] static std::vector<TokenStatePtr> tokens_of(std::vector<Lease> const& leases);

    std::shared_ptr<Runtime> runtime_;
    std::vector<Lease> leases_;
    /// null for a single lease, whose token is the set's
    std::shared_ptr<JoinedToken> joined_;
    CancellationToken token_;
    std::atomic<bool> released_{false};
};

} // namespace tenure::locks
