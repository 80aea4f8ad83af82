// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "spread_look.hpp"

#include "store/redis/range_cache.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/script.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

// Of a survey, as many as of the largest look.
constexpr std::uint32_t keys_per_page = 4096;

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

    /** What takes the outcome of one more question to the node. `answered` is not called any more once the deadline has
     * passed. */
    template <class Answered>
    [[nodiscard]] OutcomeHandler handler(SlotNode const& node, Answered answered)
    {
        ++open_;
        return
            [self = shared_from_this(), node = node.follows, answered = std::move(answered)](Outcome const& outcome) {
                if (self->done_ == nullptr)
                    return;
                answered(*node, outcome);
                if (--self->open_ == 0)
                    self->end();
            };
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

KeyLook read_look(resp::Value const& reply)
{
    if (!reply.is_integer())
        return KeyLook::unreadable;
    switch (reply.as_integer()) {
    case 0:
        return KeyLook::free;
    case 1:
        return KeyLook::held;
    case 2:
        return KeyLook::own;
    default:
        return KeyLook::unreadable;
    }
}

ScriptCall call_for(Script const& script, KeyRange const& range, std::uint32_t index, Deadline deadline)
{
    ScriptCall call;
    call.script = &script;
    call.keys = encode_keys(range, index, 1);
    call.not_after = deadline;
    return call;
}

Failure reason(Node& node, Outcome const& outcome, std::string const& key)
{
    if (outcome.delivery == Delivery::answered) {
        auto failure = outcome.reply.is_error() ? node.refuse(outcome.reply, key) : nonsense(node, key);
        // the claim itself has not left
        failure.effect = Failure::Effect::not_sent;
        return failure;
    }
    auto const error = outcome.error ? outcome.error : make_error_code(errc::store_unavailable);
    return Failure::not_sent(error, node.where() + ": " + key + ": " + outcome.detail, outcome.fatal);
}

/** A survey under way, page by page: the largest pool must not fill one turn of the loop with its keys. */
class PagedSurvey : public std::enable_shared_from_this<PagedSurvey>
{
public:
    PagedSurvey(
        std::shared_ptr<SlotNodes> nodes, KeyRangePtr range, Deadline deadline,
        std::function<void(SpreadSurvey)> handler)
        : nodes_(std::move(nodes))
        , range_(std::move(range))
        , deadline_(deadline)
        , handler_(std::move(handler))
    {
    }

    void look()
    {
        auto const end = std::min(next_ + keys_per_page, range_->count);
        auto const questions = std::make_shared<Questions>(nodes_, [self = shared_from_this()] { self->looked(); });
        for (auto index = std::exchange(next_, end); index < end; ++index) {
            auto const& node = nodes_->of(*range_, index);
            if (node.way->is_lost())
                continue;
            auto answered = questions->handler(
                node, [self = shared_from_this()](Node&, Outcome const& outcome) { self->add(outcome); });
            run_script(node.way, call_for(scripts::survey(), *range_, index, deadline_), std::move(answered));
        }
        questions->wait(deadline_.at());
    }

private:
    void add(Outcome const& outcome)
    {
        if (outcome.delivery != Delivery::answered)
            return;
        auto const reply = read_page_reply(outcome.reply, 1, false);
        auto const* const held = reply ? std::get_if<PageHeld>(&*reply) : nullptr;
        if (held == nullptr)
            return;
        ++result_.seen;
        result_.foreign += held->foreign.value_or(0);
        auto const& expiry = held->earliest_expiry;
        if (expiry && (!result_.earliest_expiry || *expiry < *result_.earliest_expiry))
            result_.earliest_expiry = expiry;
    }

    void looked()
    {
        if (next_ < range_->count && !deadline_.over(nodes_->runtime().now()))
            look();
        else
            handler_(result_);
    }

    std::shared_ptr<SlotNodes> nodes_;
    KeyRangePtr range_;
    Deadline deadline_;
    std::function<void(SpreadSurvey)> handler_;
    /// the first key that was not looked at yet
    std::uint32_t next_ = 0;
    SpreadSurvey result_;
};

} // namespace

void look_at(
    std::shared_ptr<SlotNodes> const& nodes, SpreadPart const& part, std::string const& owner, Deadline deadline,
    bool searching, std::function<void(Looks)> handler)
{
    auto const looks = std::make_shared<Looks>();
    looks->keys.assign(part.count, KeyLook::unreadable);
    auto const questions = std::make_shared<Questions>(nodes, [nodes, looks, handler = std::move(handler), part] {
        auto const missing = std::ranges::find(looks->keys, KeyLook::unreadable);
        if (missing != looks->keys.end() && !looks->why) {
            auto const index = part.first + static_cast<std::uint32_t>(missing - looks->keys.begin());
            auto const& node = nodes->of(*part.range, index);
            looks->why = Failure::not_sent(
                errc::store_unavailable, node.follows->where() + ": " + part.range->key(index) +
                                             ": not looked at in time: " + node.way->last_error());
        }
        handler(std::move(*looks));
    });
    for (std::uint32_t i = 0; i < part.count; ++i) {
        auto const key = part.range->key(part.first + i);
        auto const& node = nodes->at(hash_slot(key));
        if (!searching && node.way->is_lost())
            continue;
        auto answered = questions->handler(node, [looks, i, key](Node& at, Outcome const& outcome) {
            if (outcome.delivery == Delivery::answered)
                looks->keys[i] = read_look(outcome.reply);
            if (looks->keys[i] == KeyLook::unreadable && !looks->why)
                looks->why = reason(at, outcome, key);
        });
        if (searching) {
            auto call = call_for(scripts::look(), *part.range, part.first + i, deadline);
            call.values.add(owner);
            run_script(node.way, std::move(call), std::move(answered));
        } else {
            node.way->execute(resp::Command("EXISTS", key), deadline, std::move(answered));
        }
    }
    questions->wait(deadline.at());
}

void survey(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr const& range, Deadline deadline,
    std::function<void(SpreadSurvey)> handler)
{
    std::make_shared<PagedSurvey>(nodes, range, deadline, std::move(handler))->look();
}

} // namespace tenure::redis
