// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "link.hpp"

#include "backend.hpp"
#include "message_network.hpp"
#include "world.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::simulation
{

namespace
{

using std::chrono::milliseconds;

/// a request is given up after this time without an answer
constexpr Ns patience = 1000 * millisecond;
/// a second connection is opened after this part of a ttl without an answer
constexpr Ns part_of_ttl = 6;

milliseconds to_milliseconds(Ns time)
{
    return std::chrono::ceil<milliseconds>(std::chrono::nanoseconds(time));
}

error_code unavailable()
{
    return make_error_code(errc::store_unavailable);
}

} // namespace

Link::Link(World& world, MessageNetwork& network, Process& process) noexcept
    : world_(world)
    , network_(network)
    , process_(process)
{
    network_.attach(process_.id(), *this);
}

std::shared_ptr<Backend> Link::make_backend(std::shared_ptr<Runtime>)
{
    connect_soon();
    return simulation::make_backend(*this, process_);
}

void Link::begin(std::uint64_t seed)
{
    random_ = Random(seed, 10 + process_.id());
    last_request_ = 0;
    clear();
}

void Link::clear() noexcept
{
    ++number_;
    connected_ = false;
    requests_.clear();
    watches_ = {};
    reachable_ = nullptr;
}

bool Link::idle() const noexcept
{
    return std::ranges::none_of(requests_, [](Request const& one) { return one.handler.has_value(); });
}

void Link::connect_soon()
{
    world_.scheduler.at(world_.now() + random_.between(millisecond, 200 * millisecond), *this, connect, number_);
}

Link::Request* Link::find(std::uint64_t id) noexcept
{
    auto const found = std::ranges::find(requests_, id, [](Request const& one) { return one.message.request; });
    return found == requests_.end() || !found->handler ? nullptr : &*found;
}

void Link::tidy()
{
    std::erase_if(requests_, [](Request const& request) { return !request.handler; });
}

bool Link::outstanding(Message const& message) const noexcept
{
    if (message.link != number_)
        return false;
    return message.kind == Message::Kind::leave_line || std::ranges::any_of(requests_, [&](Request const& one) {
               return one.handler && one.message.request == message.request;
           });
}

bool Link::asking(OwnerId owner) const noexcept
{
    return std::ranges::any_of(
        requests_, [&](Request const& one) { return one.handler && one.message.owner == owner; });
}

bool Link::claiming(RangeId range) const noexcept
{
    return std::ranges::any_of(requests_, [&](Request const& one) {
        return one.handler && one.message.kind == Message::Kind::claim && one.message.range == range;
    });
}

unsigned Link::claims_of(OwnerId owner) const noexcept
{
    return static_cast<unsigned>(std::ranges::count_if(requests_, [&](Request const& one) {
        return one.handler && one.message.kind == Message::Kind::claim && one.message.owner == owner;
    }));
}

template <class Reply>
void Link::reply(Request& request, Reply answer)
{
    auto handler = std::get<ReplyHandler<Reply>>(std::move(*request.handler));
    request.handler.reset();
    process_.on_strand([handler = std::move(handler), answer = std::move(answer)]() mutable {
        std::move(handler)(std::move(answer));
    });
}

void Link::finish(Request& request, bool unknown)
{
    auto const& message = request.message;
    world_.chronicle.write(
        unknown ? Note::gives_up_waiting : Note::not_sent, process_.id(), key_of(message.range, message.index),
        message.owner, 0, static_cast<std::uint8_t>(message.kind));
    network_.trouble(process_.id());
    world_.checker.asked(message.owner);
    if (message.kind == Message::Kind::claim)
        world_.checker.claim_ended(process_, message.range);
    auto const fail = [&]<class Reply>(ReplyHandler<Reply> const&) {
        if (unknown)
            reply(request, Reply(Failure::unknown(unavailable(), "no answer")));
        else
            reply(request, Reply(Failure::not_sent(unavailable(), "not connected")));
    };
    std::visit(fail, *request.handler);
}

void Link::ask(Request request)
{
    request.message.from = process_.id();
    request.message.life = process_.life();
    request.message.link = number_;
    request.message.request = ++last_request_;
    request.message.asked = world_.now();
    auto const& message = request.message;
    world_.chronicle.write(
        Note::asks, process_.id(), key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.waits), static_cast<std::uint8_t>(message.kind));
    world_.checker.asks(process_, message);
    tidy();
    requests_.push_back(std::move(request));
    auto& kept = requests_.back();
    if (connected_) {
        write(kept);
    } else if (message.kind == Message::Kind::renew || kept.not_after.over(process_.now())) {
        finish(kept, false);
    } else if (kept.not_after.at() != Instant::max()) {
        world_.scheduler.at(process_.world_at(kept.not_after.at()), *this, expire, kept.message.request);
    }
}

void Link::drop_abandoned()
{
    for (auto& request : requests_)
        if (request.handler && !request.written && request.not_after.abandoned())
            finish(request, false);
}

void Link::write(Request& request)
{
    request.since = process_.now();
    request.written = true;
    request.not_after.progressed(process_.now());
    network_.send(request.message);
    // a silent connection must not cost leases, also where the answer is only late
    if (request.message.kind == Message::Kind::renew)
        world_.scheduler.at(
            world_.now() + std::min(patience, request.message.ttl / part_of_ttl), *this, hedge,
            request.message.request);
}

void Link::will_stay_unanswered(std::uint32_t link, std::uint64_t id)
{
    if (link != number_)
        return;
    auto* const request = find(id);
    if (request == nullptr || std::exchange(request->doomed, true))
        return;
    world_.scheduler.at(world_.now() + patience, *this, give_up, id);
}

void Link::answered(Message const& message)
{
    if (message.link != number_)
        return;
    auto* request = find(message.request);
    if (request == nullptr)
        return;
    world_.chronicle.write(
        Note::answer_arrives, process_.id(), key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.answer), static_cast<std::uint8_t>(message.kind));
    auto const since = message.not_extended ? request->earliest_attempt.value_or(request->since) : request->since;
    world_.checker.answered(process_, message, since);
    if (message.named_another)
        world_.checker.others_named(process_, message.range, Checker::NamedBy::its_release);
    auto const ttl = to_milliseconds(message.ttl);
    auto const refused = Failure::refused(make_error_code(errc::store_refused), "refused");
    bool const no = message.answer == Message::Answer::refused;
    switch (message.kind) {
    case Message::Kind::claim:
        if (no)
            reply(*request, ClaimReply(refused));
        else if (message.answer == Message::Answer::busy)
            reply(*request, ClaimReply(Busy{to_milliseconds(message.earliest_expiry), false}));
        else
            // within the range that was asked for
            reply(
                *request, ClaimReply(Granted{
                              message.only ? std::uint32_t{0} : message.index, message.token, ttl, since, nullptr}));
        break;
    case Message::Kind::renew:
        if (no)
            reply(*request, RenewReply(refused));
        else if (message.answer == Message::Answer::renewed)
            reply(*request, RenewReply(Renewed{ttl, since}));
        else
            reply(*request, RenewReply(NotOwner{}));
        break;
    case Message::Kind::release:
        if (no)
            reply(*request, ReleaseReply(refused));
        else if (message.answer == Message::Answer::released)
            reply(*request, ReleaseReply(Released{message.named_another}));
        else
            reply(*request, ReleaseReply(NotOwner{}));
        break;
    case Message::Kind::withdraw:
        reply(*request, no ? WithdrawReply(refused) : WithdrawReply(Released{message.named_another}));
        break;
    case Message::Kind::leave_line:
        // never answered
        break;
    }
}

void Link::notify(RangeId range, WatchEvent event)
{
    auto const number = watches_[static_cast<std::size_t>(range)].number;
    process_.on_strand([this, link = number_, range, event, number] {
        auto& watch = watches_[static_cast<std::size_t>(range)];
        if (link != number_ || watch.number != number || !watch.handler)
            return;
        // it may end its own watch
        auto const handler = watch.handler;
        handler(event);
    });
}

void Link::subscribe(RangeId range)
{
    auto const number = watches_[static_cast<std::size_t>(range)].number;
    world_.scheduler.at(
        world_.now() + network_.delay() * 2, *this, in_force,
        (std::uint64_t{number_} << 32U) | (std::uint64_t{number} << 8U) | static_cast<std::uint64_t>(range));
}

void Link::watch(RangeId range, WatchHandler handler)
{
    auto& watch = watches_[static_cast<std::size_t>(range)];
    watch.handler = std::move(handler);
    watch.number = (watch.number + 1) & 0xffffffU;
    watch.in_force = false;
    if (connected_)
        subscribe(range);
}

void Link::unwatch(RangeId range) noexcept
{
    auto& watch = watches_[static_cast<std::size_t>(range)];
    watch.handler = nullptr;
    watch.in_force = false;
}

void Link::leave_line(RangeId range)
{
    // best effort: a place that stays costs the others a moment
    if (!connected_)
        return;
    Message message;
    message.kind = Message::Kind::leave_line;
    message.range = range;
    message.from = process_.id();
    message.life = process_.life();
    message.link = number_;
    message.request = ++last_request_;
    world_.chronicle.write(Note::leaves_line, process_.id(), static_cast<std::uint8_t>(range));
    network_.send(message);
}

void Link::hinted(RangeId range, WatchEvent event)
{
    if (!listens(range))
        return;
    world_.chronicle.write(
        Note::hint_arrives, process_.id(), static_cast<std::uint8_t>(range), 0, static_cast<std::int64_t>(event));
    if (event == WatchEvent::others_turn)
        world_.checker.others_named(process_, range, Checker::NamedBy::another);
    else
        world_.checker.hinted(process_, range);
    notify(range, event);
}

void Link::connected_now()
{
    world_.chronicle.write(Note::connects, process_.id());
    connected_ = true;
    for (auto& request : requests_)
        if (request.handler && !request.written)
            write(request);
    for (std::size_t range = 0; range < range_count; ++range)
        if (watches_[range].handler)
            subscribe(static_cast<RangeId>(range));
    if (reachable_)
        process_.on_strand([handler = reachable_] { handler(); });
}

void Link::cut()
{
    if (connected_)
        disconnect();
}

void Link::disconnect()
{
    world_.chronicle.write(Note::disconnects, process_.id());
    network_.trouble(process_.id());
    connected_ = false;
    for (auto& request : requests_)
        if (request.handler && request.written)
            finish(request, true);
    for (std::size_t range = 0; range < range_count; ++range) {
        auto& watch = watches_[range];
        if (watch.handler && std::exchange(watch.in_force, false))
            notify(static_cast<RangeId>(range), WatchEvent::interrupted);
    }
    connect_soon();
}

void Link::happens(std::uint32_t what, std::uint64_t value)
{
    switch (what) {
    case give_up:
        if (auto* request = find(value)) {
            // some clients drop the connection, others ask again on a second one and leave this one alone
            if (random_.chance(5000) && connected_)
                disconnect();
            else
                finish(*request, true);
        }
        break;
    case connect:
        if (connected_)
            break;
        network_.trouble(process_.id());
        if (network_.reachable(process_.id()))
            connected_now();
        else
            connect_soon();
        break;
    case hedge:
        // the silent connection is still read
        if (find(value) != nullptr && connected_ && network_.reachable(process_.id()) && reachable_)
            reachable_();
        break;
    case expire:
        if (auto* request = find(value); request != nullptr && !request->written)
            finish(*request, false);
        break;
    default:
        break;
    }
}

void Link::on_event(std::uint32_t what, std::uint64_t value)
{
    if (what == in_force) {
        // the server knows of the subscription from here on, whatever the process is doing
        auto const range = static_cast<RangeId>(value & 0xffU);
        auto& watch = watches_[static_cast<std::size_t>(range)];
        if (value >> 32U != number_ || ((value >> 8U) & 0xffffffU) != watch.number || !connected_ || !watch.handler)
            return;
        if (world_.plan().settings.hints) {
            watch.in_force = true;
            world_.chronicle.write(
                Note::hint_arrives, process_.id(), static_cast<std::uint8_t>(range), 0,
                static_cast<std::int64_t>(WatchEvent::in_force));
            world_.checker.hinted(process_, range);
        }
        notify(range, world_.plan().settings.hints ? WatchEvent::in_force : WatchEvent::unavailable);
        return;
    }
    if (what == connect && value != number_)
        return;
    process_.on_strand([this, link = number_, what, value] {
        if (link == number_)
            happens(what, value);
    });
}

} // namespace tenure::simulation
