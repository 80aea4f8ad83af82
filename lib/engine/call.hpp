// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "completion.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/errc.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace tenure::engine
{

using boost::system::error_code;

/** One asynchronous call of a user that waits for an answer: completed once, by the answer or by the user's
 * cancellation, whichever the strand sees first. The requested operation continues without it. */
template <class... Results>
class Call
{
public:
    using Handler = Completion<void(error_code, Results...)>;

    /** On the thread of the initiating call, which is the only one that may touch the handler's cancellation slot.
     *  @tparam Kind  what is made: a call, or something that is one */
    template <class Kind = Call>
    [[nodiscard]] static std::shared_ptr<Kind> start(Handler handler, std::shared_ptr<Runtime> const& runtime)
    {
        auto call = std::make_shared<Kind>(std::move(handler));
        if (auto slot = call->handler_->slot(); slot.is_connected())
            slot.assign([weak = std::weak_ptr(call), runtime = std::weak_ptr(runtime)](asio::cancellation_type) {
                auto const strand = runtime.lock();
                if (auto alive = weak.lock(); alive && strand)
                    strand->post([alive] { alive->complete(asio::error::operation_aborted, Results{}...); });
            });
        return call;
    }

    /** A call without a handler. */
    Call() = default;
    explicit Call(Handler handler) noexcept
        : handler_(std::move(handler))
    {
    }

    /** On the strand. Later results are dropped. */
    void complete(error_code error, Results... results)
    {
        if (auto handler = std::exchange(handler_, std::nullopt))
            std::move(*handler).post(error, std::move(results)...);
    }

    /** Drops the handler without calling it. */
    void forget() noexcept { handler_.reset(); }

    [[nodiscard]] bool done() const noexcept { return !handler_; }

private:
    std::optional<Handler> handler_;
};

/** The error for a caller. A dropped request is reported as unavailable: it proves nothing about the store, but got no
 * answer.
 */
[[nodiscard]] inline error_code error_for_caller(Failure const& failure)
{
    return failure.error ? failure.error : make_error_code(errc::store_unavailable);
}

} // namespace tenure::engine
