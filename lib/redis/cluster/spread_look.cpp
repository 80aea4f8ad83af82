// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "spread_look.hpp"

#include "redis/server_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenure::redis
{

namespace
{

/** Questions to many nodes, answered in any order, some of them never. */
class Questions : public std::enable_shared_from_this<Questions>
{
public:
    Questions(std::shared_ptr<SlotNodes> nodes, std::function<void()> done)
        : nodes_(std::move(nodes))
        , done_(std::move(done))
    {
    }

    [[nodiscard]] SlotNodes& nodes() const noexcept { return *nodes_; }

    /** `answered` is not called any more once the deadline has passed. */
    template <class Answered>
    void ask(SlotNode const& node, resp::Command command, Instant deadline, Answered answered)
    {
        ++open_;
        node.way->execute(
            std::move(command), deadline,
            [self = shared_from_this(), node = node.follows, answered = std::move(answered)](Outcome const& outcome) {
                if (self->done_ == nullptr)
                    return;
                answered(*node, outcome);
                if (--self->open_ == 0)
                    self->end();
            });
    }

    /** All have been asked. */
    void wait(Instant deadline)
    {
        auto& runtime = nodes_->runtime();
        if (open_ == 0)
            runtime.post([self = shared_from_this()] { self->end(); });
        else
            timer_ = runtime.call_at(deadline, [weak = weak_from_this()] {
                if (auto const self = weak.lock())
                    self->end();
            });
    }

private:
    void end()
    {
        nodes_->runtime().cancel(std::exchange(timer_, 0));
        if (auto const done = std::exchange(done_, nullptr))
            done();
    }

    std::shared_ptr<SlotNodes> nodes_;
    /// null: all is over
    std::function<void()> done_;
    std::size_t open_ = 0;
    Runtime::TimerId timer_ = 0;
};

KeyLook read_kind(resp::Value const& reply, std::string const& owner)
{
    if (reply.is_null())
        return KeyLook::free;
    if (reply.is_string())
        return reply.as_string() == owner ? KeyLook::own : KeyLook::held;
    if (reply.error_word() == "WRONGTYPE")
        return KeyLook::held;
    return KeyLook::unreadable;
}

NotSent reason(Node& node, Outcome const& outcome, std::string const& key)
{
    if (outcome.delivery == Delivery::answered && outcome.reply.is_error()) {
        auto refused = node.refuse(outcome.reply, key);
        return {refused.error, std::move(refused.detail), refused.fatal};
    }
    if (outcome.delivery == Delivery::answered) {
        auto unknown = nonsense(node, key);
        return {unknown.error, std::move(unknown.detail), false};
    }
    auto const error = outcome.error ? outcome.error : make_error_code(errc::store_unavailable);
    return {error, node.where() + ": " + key + ": " + outcome.detail, outcome.fatal};
}

} // namespace

void look_at(
    std::shared_ptr<SlotNodes> const& nodes, SpreadPart const& part, std::string const& owner, Instant deadline,
    bool patient, std::function<void(Looks)> handler)
{
    auto const looks = std::make_shared<Looks>();
    looks->keys.assign(part.count, KeyLook::unreadable);
    auto const questions = std::make_shared<Questions>(nodes, [nodes, looks, handler = std::move(handler), part] {
        auto const missing = std::ranges::find(looks->keys, KeyLook::unreadable);
        if (missing != looks->keys.end() && !looks->why) {
            auto const index = part.first + static_cast<std::uint32_t>(missing - looks->keys.begin());
            auto const& node = nodes->of(*part.range, index);
            looks->why = NotSent{
                errc::store_unavailable,
                node.follows->where() + ": " + part.range->key(index) +
                    ": not looked at in time: " + node.way->last_error(),
                false};
        }
        handler(std::move(*looks));
    });
    for (std::uint32_t i = 0; i < part.count; ++i) {
        auto key = part.range->key(part.first + i);
        auto const& node = nodes->at(hash_slot(key));
        if (!patient && node.way->is_lost())
            continue;
        resp::Command get("GET", key);
        questions->ask(
            node, std::move(get), deadline, [looks, i, owner, key = std::move(key)](Node& at, Outcome const& outcome) {
                if (outcome.delivery == Delivery::answered)
                    looks->keys[i] = read_kind(outcome.reply, owner);
                if (looks->keys[i] == KeyLook::unreadable && !looks->why)
                    looks->why = reason(at, outcome, key);
            });
    }
    questions->wait(deadline);
}

void survey(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr const& range, Instant deadline,
    std::function<void(SpreadSurvey)> handler)
{
    auto const result = std::make_shared<SpreadSurvey>();
    auto const questions =
        std::make_shared<Questions>(nodes, [result, handler = std::move(handler)] { handler(*result); });
    auto const foreign = std::make_shared<std::vector<bool>>(range->count);
    for (std::uint32_t i = 0; i < range->count; ++i) {
        auto const key = range->key(i);
        auto const& node = nodes->at(hash_slot(key));
        if (node.way->is_lost())
            continue;
        auto const count_foreign = [result, foreign, i] {
            if (!(*foreign)[i])
                ++result->foreign;
            (*foreign)[i] = true;
        };
        questions->ask(
            node, resp::Command("PTTL", key), deadline, [result, count_foreign](Node&, Outcome const& outcome) {
                if (outcome.delivery != Delivery::answered || !outcome.reply.is_integer())
                    return;
                ++result->seen;
                auto const left = outcome.reply.as_integer();
                if (left == -1) {
                    count_foreign();
                    return;
                }
                std::chrono::milliseconds const expiry{std::clamp<std::int64_t>(left, 0, 365 * 86'400'000LL)};
                if (!result->earliest_expiry || expiry < *result->earliest_expiry)
                    result->earliest_expiry = expiry;
            });
        // another type counts as foreign even where it has a ttl
        questions->ask(node, resp::Command("GET", key), deadline, [count_foreign](Node&, Outcome const& outcome) {
            if (outcome.delivery == Delivery::answered && outcome.reply.error_word() == "WRONGTYPE")
                count_foreign();
        });
    }
    questions->wait(deadline);
}

} // namespace tenure::redis
