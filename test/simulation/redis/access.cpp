// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "access.hpp"
#include "harness/immovable.hpp"

#include "stream.hpp"

#include "../world.hpp"

#include <store/redis/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::simulation
{

namespace
{

using Kind = Message::Kind;

Ns to_ns(std::chrono::milliseconds time)
{
    return std::chrono::nanoseconds(time).count();
}

Message about(Kind kind, KeyRange const& range, std::string_view owner, std::chrono::milliseconds ttl = {})
{
    Message message;
    message.kind = kind;
    message.range = range_id(range);
    message.owner = owner_id(owner);
    message.ttl = to_ns(ttl);
    return message;
}

Message about(Kind kind, Claim const& claim, std::chrono::milliseconds ttl = {})
{
    auto message = about(kind, *claim.range, claim.owner, ttl);
    message.index = static_cast<std::uint8_t>(claim.index);
    return message;
}

class ObservedWatch final : public Watch, test::Immovable
{
public:
    ObservedWatch(RedisAccess& access, RangeId range, std::unique_ptr<Watch> watch) noexcept
        : access_(access)
        , range_(range)
        , watch_(std::move(watch))
    {
        access_.watched(range_, 1);
    }
    ~ObservedWatch() override { access_.watched(range_, -1); }

private:
    RedisAccess& access_;
    RangeId range_;
    std::unique_ptr<Watch> watch_;
};

/** Between the engine and the backend that ships: passes everything on, and tells the checker. */
class ObservedBackend final : public Backend
{
public:
    ObservedBackend(RedisAccess& access, std::shared_ptr<Backend> backend) noexcept
        : access_(access)
        , backend_(std::move(backend))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override { return backend_->capabilities(); }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        auto message = about(Kind::claim, *request.range, request.owner, request.ttl);
        message.waits = request.waits;
        message.index = static_cast<std::uint8_t>(request.range->first);
        message.only = request.range->count == 1;
        auto const number = access_.asks(message);
        backend_->claim(std::move(request), observe(number, std::move(handler)));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        std::vector<std::uint64_t> numbers;
        numbers.reserve(requests.size());
        for (auto const& request : requests)
            numbers.push_back(access_.asks(about(Kind::renew, *request.claim, request.ttl)));
        backend_->renew(
            std::move(requests), [&access = access_, numbers = std::move(numbers),
                                  handler = std::move(handler)](std::span<RenewAnswer> answers) {
                for (auto& answer : answers)
                    if (access.ended(numbers[answer.request], answer.reply))
                        handler(std::span(&answer, 1));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        auto const number = access_.asks(about(Kind::release, *request.claim));
        backend_->release(std::move(request), observe(number, std::move(handler)));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        auto const number = access_.asks(about(Kind::withdraw, *request.range, request.owner));
        backend_->withdraw(std::move(request), observe(number, std::move(handler)));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        auto const id = range_id(*range);
        auto watch = backend_->watch(
            std::move(range), as, [&access = access_, id, handler = std::move(handler)](WatchEvent event) {
                access.heard(id, event);
                // a copy: it may end its own watch
                auto const to = handler;
                to(event);
            });
        return std::make_unique<ObservedWatch>(access_, id, std::move(watch));
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        backend_->ready(std::move(not_after), std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        backend_->inspect(std::move(request), std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        backend_->evict(std::move(request), std::move(handler));
    }
    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        backend_->examine(ttl, not_after, std::move(handler));
    }
    void leave_line(KeyRangePtr range) override
    {
        access_.leaves_line(range_id(*range));
        backend_->leave_line(std::move(range));
    }
    void drop_abandoned() override { backend_->drop_abandoned(); }
    void on_reachable(std::function<void()> handler) override { backend_->on_reachable(std::move(handler)); }
    void shortest_ttl(std::chrono::milliseconds ttl) override { backend_->shortest_ttl(ttl); }
    [[nodiscard]] std::string describe() const override { return backend_->describe(); }
    void shutdown() noexcept override { backend_->shutdown(); }

private:
    template <class Reply>
    [[nodiscard]] ReplyHandler<Reply> observe(std::uint64_t number, ReplyHandler<Reply> handler)
    {
        return [&access = access_, number, handler = std::move(handler)](Reply reply) mutable {
            if (access.ended(number, reply))
                std::move(handler)(std::move(reply));
        };
    }

    RedisAccess& access_;
    std::shared_ptr<Backend> backend_;
};

/** Reports the answer to the checker; false: none came. */
template <class Reply>
bool read_answer(Reply const& reply, Message& message)
{
    using Answer = Message::Answer;
    if constexpr (std::is_same_v<Reply, ClaimReply>) {
        if (auto const* const granted = std::get_if<Granted>(&reply)) {
            message.answer = Answer::granted;
            message.index = static_cast<std::uint8_t>(message.index + granted->index);
            message.token = granted->fencing_token;
            return true;
        }
        message.answer = Answer::busy;
        if (std::holds_alternative<Busy>(reply))
            return true;
    } else if constexpr (std::is_same_v<Reply, RenewReply>) {
        message.answer = Answer::renewed;
        if (std::holds_alternative<Renewed>(reply))
            return true;
    } else {
        message.answer = Answer::released;
        if (auto const* const released = std::get_if<Released>(&reply)) {
            message.named_another = released->named_another;
            return true;
        }
    }
    if constexpr (!std::is_same_v<Reply, WithdrawReply> && !std::is_same_v<Reply, ClaimReply>) {
        if (std::holds_alternative<NotOwner>(reply)) {
            message.answer = Answer::not_owner;
            return true;
        }
    }
    message.answer = Answer::refused;
    return failed_as(reply, Failure::Effect::refused);
}

} // namespace

RedisAccess::RedisAccess(World& world, ByteNetwork& network, Process& process, RedisConfig const& config) noexcept
    : world_(world)
    , network_(network)
    , process_(process)
    , config_(config)
{
}

void RedisAccess::begin(std::uint64_t)
{
    last_number_ = 0;
    asked_.clear();
    watches_ = {};
    in_force_ = {};
}

std::shared_ptr<Backend> RedisAccess::make_backend(std::shared_ptr<Runtime> runtime)
{
    auto backend =
        redis::make_backend(std::move(runtime), config_, [this](std::shared_ptr<Runtime> const&, RedisConfig const&) {
            return make_stream(network_, process_);
        });
    return std::make_shared<ObservedBackend>(*this, std::move(backend));
}

void RedisAccess::clear() noexcept
{
    network_.close_all(process_.id());
    asked_.clear();
    watches_ = {};
    in_force_ = {};
}

bool RedisAccess::idle() const noexcept
{
    return asked_.empty() && !network_.is_open(process_.id());
}

void RedisAccess::cut()
{
    network_.cut(process_.id());
}

bool RedisAccess::asking(OwnerId owner) const noexcept
{
    return std::ranges::any_of(asked_, [&](Asked const& one) { return one.message.owner == owner; });
}

bool RedisAccess::claiming(RangeId range) const noexcept
{
    return std::ranges::any_of(
        asked_, [&](Asked const& one) { return one.message.kind == Kind::claim && one.message.range == range; });
}

unsigned RedisAccess::claims_of(OwnerId owner) const noexcept
{
    return static_cast<unsigned>(std::ranges::count_if(
        asked_, [&](Asked const& one) { return one.message.kind == Kind::claim && one.message.owner == owner; }));
}

std::uint64_t RedisAccess::asks(Message message)
{
    message.from = process_.id();
    message.life = process_.life();
    message.asked = world_.now();
    world_.chronicle.write(
        Note::asks, process_.id(), key_of(message.range, message.index), message.owner,
        static_cast<std::int64_t>(message.waits), static_cast<std::uint8_t>(message.kind));
    world_.checker.asks(process_, message);
    asked_.push_back({++last_number_, message});
    return last_number_;
}

template <class Reply>
bool RedisAccess::ended(std::uint64_t number, Reply const& reply)
{
    auto const found = std::ranges::find(asked_, number, &Asked::number);
    if (found == asked_.end())
        return false;
    auto message = found->message;
    asked_.erase(found);
    if (read_answer(reply, message)) {
        world_.chronicle.write(
            Note::answer_arrives, process_.id(), key_of(message.range, message.index), message.owner,
            static_cast<std::int64_t>(message.answer), static_cast<std::uint8_t>(message.kind));
        world_.checker.told(process_, message);
        if (message.named_another)
            world_.checker.others_named(process_, message.range, Checker::NamedBy::its_release);
        return true;
    }
    world_.chronicle.write(
        failed_as(reply, Failure::Effect::unknown) ? Note::gives_up_waiting : Note::not_sent, process_.id(),
        key_of(message.range, message.index), message.owner, 0, static_cast<std::uint8_t>(message.kind));
    world_.checker.asked(message.owner);
    if (message.kind == Kind::claim)
        world_.checker.claim_ended(process_, message.range);
    return true;
}

void RedisAccess::heard(RangeId range, WatchEvent event)
{
    auto const note = [&] {
        world_.chronicle.write(
            Note::hint_arrives, process_.id(), static_cast<std::uint8_t>(range), 0, static_cast<std::int64_t>(event));
    };
    switch (event) {
    case WatchEvent::in_force:
        in_force_[static_cast<std::size_t>(range)] = true;
        note();
        world_.checker.hinted(process_, range);
        break;
    case WatchEvent::interrupted:
    case WatchEvent::unavailable:
        in_force_[static_cast<std::size_t>(range)] = false;
        break;
    case WatchEvent::hint:
    case WatchEvent::our_turn:
    case WatchEvent::others_turn:
        // the checker knows when the message came, whatever was made of it
        note();
        break;
    }
}

void RedisAccess::leaves_line(RangeId range)
{
    world_.chronicle.write(Note::leaves_line, process_.id(), static_cast<std::uint8_t>(range));
}

bool RedisAccess::listens(RangeId range) const noexcept
{
    return watches_[static_cast<std::size_t>(range)] > 0 && in_force_[static_cast<std::size_t>(range)];
}

} // namespace tenure::simulation
