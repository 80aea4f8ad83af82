// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
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
    using Handler = Completion<void(error_code)>;

    /** With the owner's mutex held: once it is released the handler may run, and its cancellation slot be used for
     * something else.
     *  @param mutex  of the owner, and keeps the owner alive */
    void add(Handler handler, std::shared_ptr<std::mutex> const& mutex)
    {
        auto const id = ++last_id_;
        auto slot = handler.slot();
        waiting_.emplace_back(id, std::move(handler));
        if (slot.is_connected())
            slot.assign([this, weak = std::weak_ptr(mutex), id](asio::cancellation_type) {
                if (auto const alive = weak.lock())
                    cancel(id, *alive);
            });
    }

    [[nodiscard]] std::vector<std::pair<std::uint64_t, Handler>> take_all() noexcept
    {
        return std::exchange(waiting_, {});
    }

    static void post_all(std::vector<std::pair<std::uint64_t, Handler>>&& handlers, error_code error)
    {
        for (auto& [id, handler] : handlers)
            std::move(handler).post(error);
    }

private:
    void cancel(std::uint64_t id, std::mutex& mutex)
    {
        std::unique_lock lock(mutex);
        auto handler = take(id);
        lock.unlock();
        if (handler)
            std::move(*handler).post(asio::error::operation_aborted);
    }

    [[nodiscard]] std::optional<Handler> take(std::uint64_t id)
    {
        for (auto entry = waiting_.begin(); entry != waiting_.end(); ++entry)
            if (entry->first == id) {
                std::optional<Handler> handler(std::move(entry->second));
                waiting_.erase(entry);
                return handler;
            }
        return std::nullopt;
    }

    std::vector<std::pair<std::uint64_t, Handler>> waiting_;
    std::uint64_t last_id_ = 0;
};

} // namespace tenure::engine
