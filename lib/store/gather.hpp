// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request.hpp"
#include "runtime/names.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

namespace tenure::store
{

/** Begins operations together, and completes when all have replied, or at the deadline. Later replies are dropped. It
 *  completes in a later turn of the loop even if no operation has begun.
 *
 *  @param runtime  outlives the request
 *  @param begin  called as `begin(reply_to)`. `reply_to(take)` makes the handler of one more operation: `take` gets its
 *    reply, as long as the request waits for it, so it may refer to the request's locals. An exception of `begin` ends
 *    the request, as of any step */
template <class Begin>
[[nodiscard]] Step<std::monostate> gather(Runtime& runtime, Instant deadline, Begin begin)
{
    struct Pending {
        Pending(Runtime& timers, OneShot<void(std::monostate&&)> completed)
            : handler(std::move(completed))
            , limit(timers)
        {
        }

        /// empty: it has completed. Owns the request, which owns the runtime, so `limit` is destroyed first
        OneShot<void(std::monostate&&)> handler;
        Timer limit;
        /// operations without a reply, and one more until all have begun
        std::size_t open = 1;

        void finish()
        {
            limit.cancel();
            if (auto complete = std::exchange(handler, nullptr))
                complete({});
        }
    };
    return Step<std::monostate>(
        [&runtime, deadline, begin = std::move(begin)](OneShot<void(std::monostate&&)> handler) mutable {
            auto const pending = std::make_shared<Pending>(runtime, std::move(handler));
            begin([&pending](auto take) {
                ++pending->open;
                return [pending, take = std::move(take)](auto&&... reply) mutable {
                    if (!pending->handler)
                        return;
                    take(std::forward<decltype(reply)>(reply)...);
                    if (--pending->open == 0)
                        pending->finish();
                };
            });
            if (--pending->open == 0)
                runtime.post([pending] { pending->finish(); });
            else if (deadline != Instant::max())
                pending->limit.at(deadline, std::weak_ptr(pending), &Pending::finish);
        });
}

} // namespace tenure::store
