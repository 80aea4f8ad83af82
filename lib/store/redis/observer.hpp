// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "server_context.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace tenure::redis
{

/** Keeps the key `<stem>:watched` of one range alive while an observer watches. */
class WatchedKey;

/** The observers of a store.
 *
 *  While an observer watches, the key `<stem>:watched` exists, so that releases are published even without waiters. It
 *  is written every 20 seconds and lives for 60. The watch is in force once the key exists, because an earlier release
 *  would not have been published. Observers get only hints: `named` is for waiters. */
class Observers
{
public:
    using Handler = WatchHandler;
    using Subscribe = std::function<std::unique_ptr<Watch>(Handler)>;

    /** Makes the watch of an observer from a subscription to the channel of the range. The key is written on `server`.
     */
    [[nodiscard]] std::unique_ptr<Watch>
    watch(ServerPtr server, KeyRange const& range, Subscribe const& subscribe, Handler handler);

    /** Ends all watches: their handlers are not called again. */
    void close() noexcept;

private:
    std::vector<std::weak_ptr<WatchedKey>> keys_;
};

} // namespace tenure::redis
