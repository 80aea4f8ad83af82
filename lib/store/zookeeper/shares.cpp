// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places: sequential nodes, and which of them hold.
#include "shares.hpp"

#include "operations.hpp"

#include <store/ended_claim.hpp>
#include <store/share_sum.hpp>

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/** The children of a key in the order of their digits. */
class Line
{
public:
    explicit Line(std::vector<std::string> const& children)
    {
        for (auto const& child : children)
            if (auto const place = read_place(child))
                places_.push_back({*place, child});
            else
                others_ = true;
        std::ranges::sort(places_, {}, [](Entry const& entry) { return entry.place.digits; });
    }

    /** Other nodes, or places whose order other programs do not see as this one's. */
    [[nodiscard]] bool mixed(bool reads_or_writes) const
    {
        return others_ || std::ranges::any_of(places_, [&](Entry const& entry) {
                   return entry.place.reads_or_writes != reads_or_writes;
               });
    }
    [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
    [[nodiscard]] std::string_view name(std::size_t at) const { return places_[at].name; }
    [[nodiscard]] backend::Share share(std::size_t at) const { return places_[at].place.share; }
    /** The index of the place with this name; `size()` if it is not among them. */
    [[nodiscard]] std::size_t find(std::string_view name) const
    {
        auto const found = std::ranges::find(places_, name, &Entry::name);
        return static_cast<std::size_t>(found - places_.begin());
    }
    [[nodiscard]] bool holds(std::size_t at) const
    {
        ShareSum sum;
        bool holds = false;
        for (std::size_t i = 0; i <= at; ++i)
            holds = sum.add(share(i));
        return holds;
    }
    [[nodiscard]] bool fits_behind(backend::Share const& next) const
    {
        ShareSum sum;
        for (std::size_t i = 0; i < size(); ++i)
            (void)sum.add(share(i));
        return sum.add(next) && size() < most_places;
    }
    /** The place whose end is waited for; empty: any of them. */
    [[nodiscard]] std::string_view blocker(std::size_t at) const
    {
        if (share(at).exclusive())
            return name(at - 1);
        for (auto i = at; i > 0 && share(at).weight == 1; --i)
            if (share(i - 1).weight == backend::Share::all)
                return name(i - 1);
        return {};
    }

private:
    struct Entry {
        /// refers to a child of the response, which outlives the line
        PlaceName place;
        std::string_view name;
    };
    std::vector<Entry> places_;
    bool others_ = false;
};

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
    Line const line(listed.children);
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
            auto search = find_place(session, node->path);
            auto const found = co_await search;
            if (found.code == ZOK)
                node->path = found.path;
            else if (found.code != ZNONODE)
                co_return unjudged(*attempt, found);
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
            auto creation =
                as_step(create_parent(session, attempt->nodes.parent(), attempt->terms(Urgency::later_step)));
            auto const made = co_await creation;
            if (made.exists() && attempt->tolerates_surprise())
                continue;
            attempt->forget(*node);
            co_return attempt->failed_read(made, request.range->describe());
        }
        if (creates && own.code != ZOK) {
            auto failure = ensemble->failure(own, request.range->describe());
            if (!failure.may_take_effect())
                attempt->forget(*node);
            co_return failure;
        }
        if (own.code != ZOK && own.code != ZNONODE)
            co_return unjudged(*attempt, own);
        if (node->state == OwnedNode::State::gone || own.code == ZNONODE || (!creates && !node->still_owned(own))) {
            // an evicted place is removed when its lease has expired
            if (own.code == ZNONODE || !node->matches(own))
                ensemble->registry().remove(*node);
            co_return std::nullopt;
        }
        if (creates)
            node->path = own.path;
        node->czxid = own.stat.czxid;
        node->session_id = session->id();
        node->state = OwnedNode::State::held;
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
        if (!Line(listed.children).fits_behind(*request.share))
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

store::Request<InspectReply> inspect_places(EnsemblePtr ensemble, KeyRangePtr range, Deadline not_after)
{
    auto const parent = ensemble->nodes(*range).parent();
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, std::move(not_after));
    if (auto const why = co_await connection)
        co_return *why;
    sync(*session, parent);
    auto list = ask(session, {Request::Kind::children, parent});
    auto const listed = co_await list;
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return ensemble->failure(listed, range->describe());
    Line const line(listed.children);
    auto read = store::all_of<Response>(line.size(), [&](std::size_t i, ResponseHandler handler) {
        session->ask({Request::Kind::get, parent + '/' + std::string(line.name(i))}, std::move(handler));
    });
    auto const found = co_await read;
    KeyState state;
    ShareSum sum;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].code == ZNONODE)
            continue;
        if (found[i].code != ZOK)
            co_return ensemble->failure(found[i], range->describe());
        auto const value = decode(found[i].data);
        auto const number = static_cast<std::uint64_t>(found[i].stat.czxid);
        if (state.places.empty()) {
            state.kind = KeyState::Kind::held;
            state.owner = value.owner;
            state.remaining = value.ttl;
            state.fencing_token = number;
        }
        auto const share = line.share(i);
        state.places.push_back(
            {value.owner, share.weight, share.capacity, number, value.ttl.value_or(std::chrono::milliseconds{0}),
             sum.add(share)});
    }
    co_return std::vector{std::move(state)};
}

/** Replaces the owner first. A place that waits by a later list has never held, and never will. */
store::Request<EvictReply> evict_place(EnsemblePtr ensemble, EvictRequest request)
{
    auto const parent = ensemble->nodes(*request.range).parent();
    auto const session = ensemble->query_session();
    auto const use = session->use();
    auto connection = connect(session, request.not_after);
    if (auto const why = co_await connection)
        co_return *why;
    auto const& key = request.range->prefix;
    sync(*session, parent);
    auto list = ask(session, {Request::Kind::children, parent});
    auto const listed = co_await list;
    auto read = store::all_of<Response>(listed.children.size(), [&](std::size_t i, ResponseHandler handler) {
        session->ask({Request::Kind::get, parent + '/' + listed.children[i]}, std::move(handler));
    });
    auto const found = co_await read;
    auto const held = std::ranges::find_if(
        found, [&](Response const& node) { return node.code == ZOK && decode(node.data).owner == request.owner; });
    if (listed.code != ZOK && listed.code != ZNONODE)
        co_return ensemble->failure(listed, key);
    if (held == found.end())
        co_return NotOwner{};
    auto const& name = listed.children[static_cast<std::size_t>(held - found.begin())];
    auto const ttl = decode(held->data).ttl;
    Request exchange{Request::Kind::set, parent + '/' + name, encode("evicted/" + request.evicted_by, ttl)};
    exchange.version = held->stat.version;
    auto replace = ask(session, std::move(exchange));
    auto const replaced = co_await replace;
    if (replaced.code == ZBADVERSION || replaced.code == ZNONODE)
        co_return NotOwner{};
    if (replaced.code != ZOK)
        co_return ensemble->failure(replaced, key);
    auto list_again = ask(session, {Request::Kind::children, parent});
    auto const later = co_await list_again;
    Line const line(later.children);
    auto const at = line.find(name);
    if (at == line.size() || line.holds(at))
        co_return Evicted{ttl};
    auto end = ask(session, {Request::Kind::remove, parent + '/' + name});
    auto const ended = co_await end;
    if (ended.code != ZOK && ended.code != ZNONODE)
        co_return ensemble->failure(ended, key);
    co_return Evicted{std::chrono::milliseconds{0}};
}

} // namespace tenure::zookeeper
