// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One attempt of an owner, and its turn.
#pragma once

#include "runtime/names.hpp"
#include "store/zookeeper/session/ensemble.hpp"
#include "store/zookeeper/session/steps.hpp"

#include <store/claim_window.hpp>
#include <store/not_written.hpp>
#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::zookeeper
{

/** One attempt of an owner, until it is answered. */
struct Attempt {
    Attempt(EnsemblePtr through, ClaimRequest what)
        : ensemble(std::move(through))
        , request(std::move(what))
        , nodes(ensemble->nodes(*request.range))
        , bytes(SessionRoom::bytes_of(
              request.share ? nodes.place(request.owner, *request.share) + "0123456789"
                            : nodes.path(request.range->count - 1)))
        , attempts(ensemble->attempts_of(request.owner, *request.range, request.ttl, bytes))
        , session(attempts->session)
        , use(session->use())
        , room(session->room().reserve(bytes))
    {
    }

    /** Another claim may begin. */
    void end()
    {
        room = nullptr;
        place = {};
    }

    [[nodiscard]] Terms terms(Urgency urgency) const
    {
        return {urgency, request.not_after, {attempts, &attempts->given_back}};
    }
    /** Of the next step: the first one waits behind those of claims that have begun. */
    [[nodiscard]] Terms next_terms()
    {
        return terms(std::exchange(first_step, false) ? Urgency::first_step : Urgency::later_step);
    }

    [[nodiscard]] OwnedNodePtr add(std::uint32_t index) const
    {
        return ensemble->registry().add(
            session, request.range, index, nodes.path(index), nodes.generation(index), request.owner);
    }
    /** A place that is to be created. */
    [[nodiscard]] OwnedNodePtr add_place() const
    {
        return ensemble->registry().add(
            session, request.range, 0, nodes.place(request.owner, *request.share), {}, request.owner);
    }
    /** Removes a node that this attempt has not created; an earlier one may have. */
    void forget(OwnedNode& node) const
    {
        if (!request.earliest_attempt)
            ensemble->registry().remove(node);
    }

    /** True if it tries again after a node has appeared or vanished between two requests: not often. */
    [[nodiscard]] bool tolerates_surprise() { return ++surprises <= 8; }

    [[nodiscard]] Failure failed_read(Response const& response, std::string const& what) const
    {
        return not_written(ensemble->failure(response, what));
    }

    EnsemblePtr ensemble;
    ClaimRequest request;
    RangeNodes nodes;
    /// of the longest path that it may create
    std::size_t bytes;
    std::shared_ptr<Ensemble::Attempts> attempts;
    SessionPtr session;
    Session::Use use;
    /// until it is answered
    SessionRoom::Taken room;
    /// from its turn until it is answered
    store::ClaimWindow::Place place = {};
    bool first_step = true;
    int surprises = 0;
    /// the last node that blocked the claim has no session
    bool foreign = false;
};
using AttemptPtr = std::shared_ptr<Attempt>;

/// nullopt: the claim has its turn, or another client has the node
using EarlyReply = std::optional<ClaimReply>;

/** Waits for a connection, and for the claim's turn on it. */
[[nodiscard]] store::Request<EarlyReply> wait_for_turn(AttemptPtr attempt);

} // namespace tenure::zookeeper
