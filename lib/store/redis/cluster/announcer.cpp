// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "announcer.hpp"

#include "script_within.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/replies.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <chrono>
#include <utility>

namespace tenure::redis
{

namespace
{

// A waiter finds the key by its own timer soon, and a release is not delayed for longer.
constexpr std::chrono::seconds worth_telling{1};

void hand_over(std::vector<Announcer::Handler> handlers, bool named_another)
{
    for (auto& handler : handlers)
        std::move(handler)(named_another);
}

} // namespace

bool Announcer::is_needed(KeyRange const& range, std::uint32_t index)
{
    return hash_slot(line_of(range)) != hash_slot(range.key(index));
}

void Announcer::announce(KeyRangePtr range, std::uint32_t index, std::uint32_t freed, Handler handler)
{
    auto pending = pending_.lock();
    if (!pending) {
        pending = std::make_shared<FreedByStem>();
        pending_ = pending;
        nodes_->runtime().post([self = shared_from_this(), pending] { self->flush(std::move(*pending)); });
    }
    auto& entry = (*pending)[stem_of(*range)];
    entry.in_shard = nodes_->of(*range, index).follows->announces_in_shard();
    entry.range = std::move(range);
    entry.keys += freed;
    entry.handlers.push_back(std::move(handler));
}

void Announcer::flush(FreedByStem all)
{
    pending_.reset();
    for (auto& [stem, freed] : all)
        tell(stem, std::move(freed));
}

void Announcer::tell(std::string const& stem, Freed freed)
{
    auto const line = line_of(*freed.range);
    auto const node = nodes_->at(hash_slot(line)).follows;
    if (nodes_->cluster().closed() || !node->may_publish()) {
        hand_over(std::move(freed.handlers), false);
        return;
    }
    // of a node that is not connected yet nothing is known
    bool const in_shard = node->route()->generation() != 0 ? node->announces_in_shard() : freed.in_shard;
    ScriptCall call;
    call.script = in_shard ? &scripts::tell_freed_in_shard() : &scripts::tell_freed();
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->add(1).add(line);
    call.keys = std::move(keys);
    call.values.add(node->name_in_line()).add(stem).add(freed.keys);
    auto const limit = nodes_->runtime().now() + worth_telling;
    call.not_after = limit;
    run_script_within(
        nodes_->cluster().runtime(), node->route(), std::move(call), limit,
        [node, freed = std::move(freed)](Outcome&& outcome) mutable {
            // an error reply has no flags: a slot without its node, a server that is loading
            auto const flags =
                outcome.delivery == Delivery::answered ? read_release_flags(outcome.reply, 1) : std::nullopt;
            if (flags)
                take_notes(*node, *freed.range, flags->notes);
            hand_over(std::move(freed.handlers), flags && flags->keys == "2");
        });
}

} // namespace tenure::redis
