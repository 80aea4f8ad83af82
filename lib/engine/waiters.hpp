// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "pending_handler.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::engine
{

using boost::system::error_code;

/** Handlers that wait for one event. Not thread-safe: its owner locks, and posts what it takes out after unlocking. */
class Waiters
{
public:
    using Handler = PendingHandler<void(error_code)>;
    using Id = std::uint64_t;

    Id add(Handler handler)
    {
        waiting_.emplace_back(++last_id_, std::move(handler));
        return last_id_;
    }

    [[nodiscard]] std::optional<Handler> take(Id id)
    {
        for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry)
            if (entry->first == id) {
                std::optional<Handler> handler(std::move(entry->second));
                waiting_.erase(entry);
                return handler;
            }
        return std::nullopt;
    }

    [[nodiscard]] std::vector<std::pair<Id, Handler>> take_all() noexcept { return std::exchange(waiting_, {}); }

    static void post_all(std::vector<std::pair<Id, Handler>>&& handlers, error_code error)
    {
        for (auto& [id, handler] : handlers)
            std::move(handler).post(error);
    }

private:
    std::vector<std::pair<Id, Handler>> waiting_;
    Id last_id_ = 0;
};

} // namespace tenure::engine
