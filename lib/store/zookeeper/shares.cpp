// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims of shares: a place, and whether it holds.
#include "shares.hpp"

#include "operations.hpp"
#include "place_line.hpp"

#include <store/ended_claim.hpp>
#include <store/share_sum.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

std::string_view name_of(std::string const& path)
{
    return std::string_view(path).substr(path.rfind('/') + 1);
}

/** A place that exists cannot be judged. */
Failure unjudged(Attempt const& attempt, Response const& response)
{
    auto failed = attempt.ensemble->failure(response, attempt.request.range->describe());
    return Failure::unknown(failed.error, std::move(failed.detail));
}

/** Ends a place that must not stay. */
store::Request<ClaimReply> leave(AttemptPtr attempt, OwnedNodePtr node, ClaimReply reply)
{
    auto removal = as_step(remove_in_steps(
        attempt->ensemble, std::move(node), attempt->ensemble->runtime().now() + std::chrono::seconds(5)));
    auto const removed = co_await removal;
    if (auto const* const failed = std::get_if<Failure>(&removed))
        co_return Failure::unknown(failed->error, failed->detail);
    co_return reply;
}

/** The answer to a claim whose place is among these children. */
store::Request<ClaimReply> answer(AttemptPtr attempt, OwnedNodePtr node, Response const listed)
{
    auto const& request = attempt->request;
    PlaceLine const line(listed.children);
    auto const own = name_of(node->path);
    auto const at = line.find(own);
    ClaimReply refusal = Busy{};
    bool stays = at < std::min<std::size_t>(line.size(), most_places);
    if (!read_place(own)) {
        stays = false;
        refusal = Failure::refused(
            errc::store_refused,
            attempt->ensemble->name() + ": " + attempt->nodes.parent() +
                ": its 2^31 sequence numbers are used up; remove this node when it has no children",
            true);
    }
    stays = stays && !line.mixed(read_place(own)->reads_or_writes);
    bool const holds = stays && line.holds(at);
    if (!holds && (!stays || request.waits == Waits::no)) {
        auto end = as_step(leave(attempt, node, std::move(refusal)));
        auto reply = co_await end;
        co_return reply;
    }
    auto const ttl = node->session->timeout();
    auto const since = node->session->proven();
    attempt->ensemble->registry().extend(*node, since + ttl);
    auto const number = static_cast<std::uint64_t>(node->czxid);
    if (holds)
        co_return Granted{0, number, ttl, since, node};
    auto const blocker = line.blocker(at);
    auto const& parent = attempt->nodes.parent();
    attempt->ensemble->waits_for(*request.range, blocker.empty() ? parent : parent + '/' + std::string(blocker));
    co_return Busy{.place = InLine{number, static_cast<std::uint32_t>(at), ttl, since}};
}

/** Finds the name of a place that exists, although its creation was not answered. */
store::Request<std::optional<Failure>> find_name(AttemptPtr attempt, OwnedNodePtr node)
{
    auto search = find_place(attempt->session, node->path);
    auto const found = co_await search;
    if (found.code == ZOK)
        node->path = found.path;
    else if (found.code != ZNONODE)
        co_return unjudged(*attempt, found);
    co_return std::nullopt;
}

/** The answer if the server does not say whether the place exists. */
std::optional<Failure> unknown_place(Attempt const& attempt, OwnedNode& node, bool created, Response const& own)
{
    if (own.code == ZOK || (own.code == ZNONODE && !created))
        return std::nullopt;
    if (!created)
        return unjudged(attempt, own);
    auto failure = attempt.ensemble->failure(own, attempt.request.range->describe());
    if (!failure.may_take_effect())
        attempt.forget(node);
    return failure;
}

/** Creates the parent of a place. A failure ends the claim: nothing was created. */
store::Request<std::optional<Failure>> create_missing_parent(AttemptPtr attempt, OwnedNodePtr node)
{
    auto creation =
        as_step(create_parent(attempt->session, attempt->nodes.parent(), attempt->terms(Urgency::later_step)));
    auto const made = co_await creation;
    if (made.exists() && attempt->tolerates_surprise())
        co_return std::nullopt;
    attempt->forget(*node);
    co_return attempt->failed_read(made, attempt->request.range->describe());
}

/** True if the place is gone: an evicted one is removed when its lease has expired. */
bool is_gone(Ensemble& ensemble, OwnedNode& node, bool created, Response const& own)
{
    if (node.state != OwnedNode::State::gone && own.code != ZNONODE && (created || node.still_owned(own)))
        return false;
    if (own.code == ZNONODE || !node.matches(own))
        ensemble.registry().remove(node);
    return true;
}

void note_held(OwnedNode& node, bool created, Response const& own, Session const& session)
{
    if (created)
        node.path = own.path;
    node.czxid = own.stat.czxid;
    node.session_id = session.id();
    node.state = OwnedNode::State::held;
}

/** Creates a place, or looks for it. Nullopt: it is gone. */
store::Request<EarlyReply> place_in_steps(AttemptPtr attempt, OwnedNodePtr node)
{
    auto const& request = attempt->request;
    auto const& session = attempt->session;
    auto const& ensemble = attempt->ensemble;
    for (;;) {
        if (request.not_after.over(ensemble->runtime().now())) {
            attempt->forget(*node);
            auto turn = store::next_turn(ensemble->runtime());
            co_await turn;
            co_return Failure::dropped();
        }
        if (node->unnamed() && request.earliest_attempt) {
            auto search = as_step(find_name(attempt, node));
            auto const failure = co_await search;
            if (failure)
                co_return *failure;
        }
        bool const creates = node->unnamed();
        std::vector<Request> requests;
        if (creates)
            requests.push_back({Request::Kind::create_place, node->path, encode(request.owner, session->timeout())});
        // names first: a place that holds by them, and has its owner afterwards, was not evicted before it held
        requests.push_back({Request::Kind::children, attempt->nodes.parent()});
        if (!creates)
            requests.push_back({Request::Kind::get, node->path});
        auto const terms = attempt->next_terms();
        auto asking = store::all_of<Response>(2, [&](std::size_t i, ResponseHandler handler) {
            session->ask(std::move(requests[i]), std::move(handler), terms);
        });
        auto responses = co_await asking;
        auto const& own = responses[creates ? 0 : 1];
        auto const& listed = responses[creates ? 1 : 0];
        if (creates && own.code == ZNONODE) {
            auto creation = as_step(create_missing_parent(attempt, node));
            auto const failure = co_await creation;
            if (failure)
                co_return *failure;
            continue;
        }
        if (auto failure = unknown_place(*attempt, *node, creates, own))
            co_return std::move(*failure);
        if (is_gone(*ensemble, *node, creates, own))
            co_return std::nullopt;
        note_held(*node, creates, own, *session);
        if (listed.code != ZOK)
            co_return unjudged(*attempt, listed);
        auto judging = as_step(answer(attempt, node, listed));
        auto reply = co_await judging;
        co_return std::move(reply);
    }
}

} // namespace

store::Request<ClaimReply> claim_place(AttemptPtr attempt)
{
    auto const& request = attempt->request;
    auto wait = as_step(wait_for_turn(attempt));
    if (auto reply = co_await wait)
        co_return std::move(*reply);
    // only this process can have created places for the owner
    std::vector<OwnedNodePtr> places;
    if (request.earliest_attempt)
        places = attempt->ensemble->registry().find_all(request.owner, *request.range);
    if (places.empty() && request.waits == Waits::no) {
        auto list = ask(attempt->session, {Request::Kind::children, attempt->nodes.parent()}, attempt->next_terms());
        auto const listed = co_await list;
        if (listed.code != ZOK && listed.code != ZNONODE)
            co_return attempt->failed_read(listed, request.range->describe());
        if (!PlaceLine(listed.children).fits_behind(*request.share))
            co_return Busy{};
    }
    for (;;) {
        bool const known = !places.empty();
        auto const node = known ? places.back() : attempt->add_place();
        if (known)
            places.pop_back();
        if (node->state == OwnedNode::State::gone)
            continue;
        ++node->under_way;
        auto steps = as_step(place_in_steps(attempt, node));
        auto reply = co_await steps;
        --node->under_way;
        if (reply)
            co_return std::move(*reply);
        if (!known && !attempt->tolerates_surprise())
            co_return Busy{};
    }
}

} // namespace tenure::zookeeper
