// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace tenure
{

/** One timer for an owner, of which it is a part, that runs on an executor of its own and not on the store's strand.
 *  A call that is on its way may outlive the owner. */
class Alarm
{
public:
    explicit Alarm(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }

    /** Calls `(owner.*run)()` on the executor at `when`. Replaces an earlier setting. */
    template <class Owner>
    void at(Instant when, std::weak_ptr<Owner> owner, asio::any_io_executor executor, void (Owner::*run)())
    {
        due_ = when;
        set(when, [this, owner = std::move(owner), executor = std::move(executor), run] {
            asio::dispatch(executor, [this, owner, run] {
                // an earlier setting may still be on its way
                if (auto const self = owner.lock(); self && runtime_->now() >= due_)
                    std::invoke(run, *self);
            });
        });
    }

    void cancel()
    {
        if (std::exchange(due_, Instant::max()) != Instant::max())
            set(std::nullopt, {});
    }

    /** When it fires; max: it does not. */
    [[nodiscard]] Instant due() const noexcept { return due_; }

private:
    void set(std::optional<Instant> when, std::function<void()> call)
    {
        runtime_->post([runtime = runtime_, id = id_, when, call = std::move(call)]() mutable {
            runtime->cancel(std::exchange(*id, 0));
            if (when)
                *id = runtime->call_at(*when, [id, call = std::move(call)] {
                    *id = 0;
                    call();
                });
        });
    }

    std::shared_ptr<Runtime> runtime_;
    Instant due_ = Instant::max();
    /// used on the store's strand
    std::shared_ptr<Runtime::TimerId> id_ = std::make_shared<Runtime::TimerId>(0);
};

} // namespace tenure
