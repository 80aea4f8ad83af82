// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"
#include "runtime/names.hpp"

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
    using Handlers = std::vector<std::pair<std::uint64_t, Handler>>;

    /** Call it with the mutex locked: after the unlock the handler may run, and its cancellation slot may get another
     *  use.
     *  @param mutex  of the owner, and keeps the owner alive */
    void add(Handler handler, std::shared_ptr<std::mutex> const& mutex)
    {
        if (!waiting_)
            waiting_ = std::make_unique<Waiting>();
        auto const id = ++waiting_->last_id;
        auto slot = handler.slot();
        waiting_->handlers.emplace_back(id, std::move(handler));
        detail::on_cancel(
            slot, detail::every_cancellation, [this, weak = std::weak_ptr(mutex), id](asio::cancellation_type) {
                if (auto const alive = weak.lock())
                    cancel(id, *alive);
            });
    }

    [[nodiscard]] Handlers take_all() noexcept { return waiting_ ? std::exchange(waiting_->handlers, {}) : Handlers(); }

    static void post_all(Handlers&& handlers, error_code error)
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
        auto& handlers = waiting_->handlers;
        for (auto entry = handlers.begin(); entry != handlers.end(); ++entry)
            if (entry->first == id) {
                std::optional<Handler> handler(std::move(entry->second));
                handlers.erase(entry);
                return handler;
            }
        return std::nullopt;
    }

    struct Waiting {
        Handlers handlers;
        std::uint64_t last_id = 0;
    };

    /// null before the first wait: most leases never have one
    std::unique_ptr<Waiting> waiting_;
};

} // namespace tenure::engine
