// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_context.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace tenure::redis
{

/** Keeps the key `<stem>:watched` of one range while an observer watches. */
class WatchedKey;

/** The observers of a store.
 *
 *  While one watches, the key `<stem>:watched` exists, so that releases are announced also without waiters; it is
 * written anew every 20 seconds and lives for 60. The watch is in force once the key is there: a release before would
 * not have been announced. Whose turn it is does not matter to an observer: it hears hints. */
class Observers
{
public:
    using Handler = std::function<void(WatchEvent)>;
    using Subscribe = std::function<std::unique_ptr<Watch>(Handler)>;

    /** Makes the watch of an observer out of a subscription to the channel of the range; `server` has the key. */
    [[nodiscard]] std::unique_ptr<Watch>
    watch(ServerPtr server, KeyRange const& range, Subscribe const& subscribe, Handler handler);

    /** Ends everything: the handlers of watches that still exist are not called again. */
    void close() noexcept;

private:
    std::vector<std::weak_ptr<WatchedKey>> keys_;
};

} // namespace tenure::redis
