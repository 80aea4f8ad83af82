// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "announcer.hpp"

#include "redis/key_names.hpp"
#include "redis/server_error.hpp"

#include <tenure/errc.hpp>

#include <chrono>

namespace tenure::redis
{

namespace
{

// Who waits finds the key by its own timer long before.
constexpr std::chrono::seconds worth_sending{1};

} // namespace

bool Announcer::is_needed(KeyRange const& range, std::uint32_t index)
{
    auto const slot = hash_slot(range.key(index));
    // PUBLISH, where there are no shards, knows no slots
    return hash_slot(channel_of(range)) != slot && nodes_->at(slot).follows->announces_in_shard();
}

void Announcer::announce(KeyRange const& range)
{
    pending_.insert(channel_of(range));
    if (pending_.size() == 1)
        nodes_->runtime().post([self = shared_from_this()] { self->flush(); });
}

void Announcer::flush()
{
    for (auto const& channel : std::exchange(pending_, {})) {
        auto const node = nodes_->at(hash_slot(channel)).follows;
        // of a node that is not connected yet nothing is known
        bool const forbidden = node->route()->generation() != 0 && !node->may_publish();
        if (nodes_->cluster().closed() || forbidden)
            continue;
        node->route()->execute(
            resp::Command("SPUBLISH", channel, "1"), nodes_->runtime().now() + worth_sending,
            [node, channel](Outcome const& outcome) {
                bool const refused = outcome.delivery == Delivery::answered && outcome.reply.is_error();
                if (refused && classify(outcome.reply.as_string()).error == errc::permission_denied)
                    node->publish_refused(channel);
            });
    }
}

} // namespace tenure::redis
