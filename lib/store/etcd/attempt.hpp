// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One attempt of an owner, and the steps that all kinds of claims have.
#pragma once

#include "cluster_context.hpp"
#include "steps.hpp"
#include "store/etcd/http/exchange.hpp"

#include <store/claim_window.hpp>
#include <store/request.hpp>

#include <tenure/errc.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::etcd
{

/** One attempt of an owner, and its lease until the claim takes it. */
struct Attempt {
    Attempt(ClusterPtr through, ClaimRequest what)
        : cluster(std::move(through))
        , request(std::move(what))
        , state(cluster->owners.add(request.owner, cluster->runtime().now()))
    {
    }

    /** Its turn has come; earlier attempts stop. */
    void begin(store::ClaimWindow::Place where)
    {
        *place = std::move(where);
        number = ++state->attempt;
        granted_before = state->granted;
    }

    [[nodiscard]] bool is_latest() const noexcept { return state->attempt == number; }
    [[nodiscard]] bool stopped() const noexcept
    {
        return state->withdrawn || !is_latest() || state->granted != granted_before;
    }

    /** Of its next request. */
    [[nodiscard]] Sender sender() { return {std::exchange(line, Line::later_steps), state.get(), place}; }

    /** The last put certainly had no effect. */
    void put_nothing()
    {
        if (state->lease == lease)
            state->lease = nullptr;
    }

    /** It has its answer: another claim may begin. */
    void end(bool was_granted)
    {
        *place = {};
        --state->open;
        // the owner keeps the lease of a put with unknown outcome, and the lease that a later attempt found on the key
        if (!was_granted && lease != nullptr && state->lease != lease && state->granted != lease)
            cluster->leases->give_back(std::move(lease));
        if (state->open == 0 && state->lease == nullptr)
            cluster->owners.forget(request.owner, state);
    }

    [[nodiscard]] Failure unknown(char const* why) const
    {
        return Failure::unknown(errc::store_unavailable, cluster->where() + ": " + why);
    }

    ClusterPtr cluster;
    ClaimRequest request;
    OwnerStatePtr state;
    /// its number among the owner's attempts; 0: it waits for its turn
    std::uint64_t number = 0;
    /// of the next request
    Line line = Line::first_steps;
    std::shared_ptr<store::ClaimWindow::Place> place = std::make_shared<store::ClaimWindow::Place>();
    /// `OwnerState::granted` when it began
    LeasePtr granted_before = nullptr;
    LeasePtr lease = nullptr;
    /// a put has found its lease gone
    bool lapsed = false;
};
using AttemptPtr = std::shared_ptr<Attempt>;

using Stepped = std::variant<std::monostate, Failure>;

/** Awaits the turn of the claim. Fails if the claim has ended meanwhile. */
[[nodiscard]] store::Request<Stepped> begin_in_turn(AttemptPtr attempt);

/** Gets the lease for the attempt, unless it has one. */
[[nodiscard]] store::Request<Stepped> take_lease(AttemptPtr attempt);

/** Makes the failure of a put; nullopt: only its lease was gone. */
[[nodiscard]] std::optional<Failure> put_failed(Attempt& attempt, Outcome outcome, std::string const& key);

/** Revokes the lease of the owner's last put, which then has no effect, however late it arrives. */
[[nodiscard]] store::Request<WithdrawReply> undo_put(AttemptPtr attempt);

} // namespace tenure::etcd
