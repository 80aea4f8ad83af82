// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// PlaceMessage, and the keys of scripts for one place.
#include "message.hpp"

#include "store/redis/key_names.hpp"
#include "store/redis/publish.hpp"
#include "store/redis/wire/server_error.hpp"

#include <tenure/errc.hpp>

namespace tenure::redis
{

std::string_view PlaceMessage::begin(ServerContext const& server, bool notifies)
{
    bool const may_use_watched = watched_.declare(server);
    notifies_ = notifies && server.may_publish();
    if (!notifies_ || !may_use_watched)
        return "";
    return server.publishes_in_scripts() && server.announces_in_shard() ? "s" : how_to_publish(server);
}

void PlaceMessage::end(ServerPtr const& server, KeyRange const& range, std::string_view note) const
{
    if (!notifies_ || note.empty())
        return;
    if (note.front() == '!') {
        auto const error = note.substr(1);
        if (classify(error).error == errc::permission_denied) {
            server->publish_refused(channel_of(range));
            return;
        }
        server->publish_in_scripts_refused(error);
    }
    publish(server, range, message_for_all);
}

void add_place(ScriptCall& call, ServerContext const& server, KeyRange const& range, std::string_view how)
{
    if (!how.empty())
        call.names.add(watched_key_of(range));
    if (server.delays_after_failover())
        call.names.add(server.marker());
    call.names.add(range.key(0));
    call.with_run_id = server.delays_after_failover();
}

} // namespace tenure::redis
