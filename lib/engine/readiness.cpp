// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Readiness: repeats the query until the store is ready.
#include "readiness.hpp"

#include "core.hpp"
#include "engine/machines/lease_terms.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace tenure::engine
{

namespace
{

constexpr Clock::duration first_pause_when_not_ready = milliseconds{50};
constexpr Clock::duration longest_pause_when_not_ready = milliseconds{1000};
/// The store stops trying this long before the timeout, so that its answer can name the cause.
constexpr Clock::duration longest_margin_to_timeout = milliseconds{100};

} // namespace

void Readiness::begin(std::shared_ptr<Handle> handle, milliseconds timeout)
{
    if (done())
        return;
    auto const core = handle->core();
    if (!core->add(shared_from_this())) {
        complete(make_error_code(errc::closed));
        return;
    }
    handle_ = std::move(handle);
    pause_ = first_pause_when_not_ready;
    auto const now = core->runtime()->now();
    auto const until = later(now, std::max(timeout, milliseconds{0}));
    ask_until_ = until - std::min<Clock::duration>((until - now) / 10, longest_margin_to_timeout);
    pause_timer_.emplace(*core->runtime());
    timeout_timer_.emplace(*core->runtime()).at(until, weak_from_this(), &Readiness::time_is_over);
    ask();
}

void Readiness::ask()
{
    Deadline const not_after(ask_until_, Deadline::Mark(shared_from_this(), &mark_));
    handle_->core()->backend().ready(
        not_after, [self = shared_from_this()](ReadyReply const& reply) { self->answered(reply); });
}

void Readiness::answered(ReadyReply const& reply)
{
    if (handle_ == nullptr)
        return;
    auto const* const failure = std::get_if<Failure>(&reply);
    if (failure == nullptr) {
        complete({});
        return;
    }
    if (!failure->was_dropped()) {
        handle_->core()->store_log().failed(*failure, StoreLog::Asked::by_caller);
        last_ = failure->error;
        last_detail_ = failure->detail;
    }
    if (failure->fatal) {
        FailsWith const failing(failure->detail);
        complete(failure->error);
    } else
        ask_later();
}

void Readiness::ask_later()
{
    auto const at = handle_->core()->runtime()->now() + pause_;
    pause_ = std::min(pause_ * 2, longest_pause_when_not_ready);
    // after that only the timeout is left
    if (at < ask_until_)
        pause_timer_->at(at, weak_from_this(), &Readiness::ask);
}

void Readiness::time_is_over()
{
    if (!last_) {
        last_ = make_error_code(errc::store_unavailable);
        auto& store_log = handle_->core()->store_log();
        last_detail_ =
            store_log.store() + ": no answer before the timeout: check the address, and that the server runs";
        store_log.record_error(last_, last_detail_);
    }
    FailsWith const failing(last_detail_);
    complete(last_);
}

void Readiness::complete(error_code error)
{
    mark_.ended.store(true, std::memory_order_release);
    stop_timers();
    if (auto const handle = std::exchange(handle_, nullptr)) {
        auto const keep = shared_from_this();
        handle->core()->remove(*this);
        if (error == asio::error::operation_aborted || error == errc::closed)
            handle->core()->drop_abandoned();
        Call<>::complete(error);
        return;
    }
    Call<>::complete(error);
}

void Readiness::abandon() noexcept
{
    mark_.ended.store(true, std::memory_order_release);
    stop_timers();
    handle_.reset();
}

void Readiness::stop_timers() noexcept
{
    timeout_timer_.reset();
    pause_timer_.reset();
}

} // namespace tenure::engine
