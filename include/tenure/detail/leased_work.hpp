// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/handler_executor.hpp>
#include <tenure/detail/handler_memory.hpp>
#include <tenure/detail/leave_key.hpp>
#include <tenure/detail/on_cancel.hpp>
#include <tenure/detail/work.hpp>
#include <tenure/errc.hpp>
#include <tenure/error.hpp>
#include <tenure/lease.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tenure::detail
{

/** A lease and the work under it. */
template <class LeaseType, class Work>
struct HeldAlone {
    HeldAlone(LeaseType held, Work under_it, boost::asio::any_io_executor const&)
        : lease(std::move(held))
        , work(std::move(under_it))
    {
    }
    auto begin_work() { return std::invoke(work, lease); }

    LeaseType lease;
    Work work;
};

/** A lease, the work under it and its tasks. Exists until the last task has ended, which may be after the run. */
template <class LeaseType, class Work>
struct HeldWithTasks {
    HeldWithTasks(LeaseType held, Work under_it, boost::asio::any_io_executor const& strand)
        : lease(std::move(held))
        , work(std::move(under_it))
        , control(strand, lease.token(), name())
    {
    }
    [[nodiscard]] std::string name() const
    {
        if constexpr (requires { std::string(lease.key()); })
            return lease.key();
        else
            return "a lease";
    }
    auto begin_work() { return std::invoke(work, lease, control.tasks()); }

    LeaseType lease;
    Work work;
    TaskControl control;
};

/** One run of work under a lease: spawned on a strand of the caller's executor, cancelled when the lease is lost or the
 * caller cancels, and followed by the end of its tasks and the release. */
template <class LeaseType, class Work, class Handler>
class LeasedWork : public std::enable_shared_from_this<LeasedWork<LeaseType, Work, Handler>>
{
    static constexpr bool has_tasks = takes_tasks<Work, LeaseType>;
    using Held = std::conditional_t<has_tasks, HeldWithTasks<LeaseType, Work>, HeldAlone<LeaseType, Work>>;
    /// the result of the work: one value or none
    using Values = typename WorkSignature<WorkResult<Work, LeaseType>>::Values;

public:
    LeasedWork(LeaseType lease, Work work, Handler& handler)
        : token_(lease.token())
        , completes_on_(completion_executor(handler, lease.get_executor()))
        , strand_(handler_executor(handler, lease.get_executor()))
        , handler_(std::move(handler))
    {
        if constexpr (has_tasks)
            held_ = std::make_shared<Held>(std::move(lease), std::move(work), strand_);
        else
            held_.emplace(std::move(lease), std::move(work), strand_);
    }

    static void start(std::shared_ptr<LeasedWork> self)
    {
        auto cancel = [weak = std::weak_ptr(self)](boost::asio::cancellation_type type) {
            if (auto alive = weak.lock())
                boost::asio::dispatch(alive->strand_, [weak, type] {
                    if (auto working = weak.lock())
                        working->cancel(type);
                });
        };
        on_cancel(boost::asio::get_associated_cancellation_slot(self->handler_), every_cancellation, std::move(cancel));
        auto const strand = self->strand_;
        boost::asio::dispatch(strand, [self = std::move(self)] { self->spawn(); });
    }

    /** For `make_in_handler_memory`. */
    [[nodiscard]] Handler take_handler() noexcept { return std::move(handler_); }

private:
    void cancel(boost::asio::cancellation_type type)
    {
        if constexpr (has_tasks)
            held_->control.cancel(type);
        cancel_work(type);
    }

    void cancel_work(boost::asio::cancellation_type type)
    {
        last_cancellation_ = type;
        if (works_)
            cancel_work_.emit(type);
    }

    void spawn()
    {
        auto self = this->shared_from_this();
        // empty, or given away before by a release or detachment
        if (held_->lease.empty() || (token_.cancelled() && !is_loss(token_.reason()))) {
            failure_ = std::make_exception_ptr(error(make_error_code(errc::released)));
            values_.emplace();
            release();
            return;
        }
        begin_tasks(self);
        // started on the strand, so that its handler runs only after the work has begun
        token_.async_wait(boost::asio::bind_cancellation_slot(
            stop_waiting_.slot(), boost::asio::bind_executor(strand_, [weak = std::weak_ptr(self)](error_code error) {
                // work that releases its own lease continues
                if (auto const alive = weak.lock(); alive && !error && is_loss(alive->token_.reason()))
                    alive->lost();
            })));
        auto ended = [self](std::exception_ptr failure, auto... value) {
            self->finished(failure, Values(std::move(value)...));
        };
        works_ = true;
        try {
            boost::asio::co_spawn(
                strand_, as_awaitable(held_->begin_work()),
                boost::asio::bind_cancellation_slot(
                    cancel_work_.slot(), boost::asio::bind_executor(strand_, std::move(ended))));
        } catch (...) {
            finished(std::current_exception(), Values());
        }
    }

    void begin_tasks(std::shared_ptr<LeasedWork> const& self)
    {
        if constexpr (has_tasks)
            held_->control.begin(
                held_, self,
                [weak = std::weak_ptr(self)] {
                    if (auto const alive = weak.lock())
                        alive->cancel_work(boost::asio::cancellation_type::terminal);
                },
                [weak = std::weak_ptr(self)] {
                    if (auto const alive = weak.lock())
                        alive->cancel_work(alive->last_cancellation_);
                });
    }

    void lost()
    {
        if constexpr (has_tasks) {
            auto const& lease = held_->lease;
            held_->control.lost(lease.valid() ? std::optional(lease.valid_until()) : std::nullopt);
        }
        cancel_work(boost::asio::cancellation_type::terminal);
    }

    void finished(std::exception_ptr failure, Values values)
    {
        works_ = false;
        failure_ = std::move(failure);
        values_.emplace(std::move(values));
        // a loss from now on does not concern the work
        lost_ = is_loss(token_.reason());
        if constexpr (has_tasks) {
            // the work may have noticed it first
            if (lost_)
                lost();
            held_->control.join([weak = this->weak_from_this()](bool joined) {
                if (auto const self = weak.lock())
                    self->tasks_ended(joined);
            });
        } else {
            all_ended();
            release();
        }
    }

    void tasks_ended(bool joined)
    {
        if constexpr (has_tasks) {
            if (auto const failure = held_->control.failure(); failure && (!failure_ || is_aborted(failure_)))
                failure_ = failure;
        }
        all_ended();
        if (joined) {
            release();
            return;
        }
        LeaveKey<LeaseType>::of(held_->lease);
        boost::asio::post(strand_, [self = this->shared_from_this()]() mutable { complete(std::move(self)); });
    }

    void all_ended()
    {
        failure_ = outcome(failure_);
        stop_waiting_.emit(boost::asio::cancellation_type::terminal);
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.clear();
    }

    void release()
    {
        // the caller cannot cancel the release: the work has ended, and the answer takes one round trip
        held_->lease.async_release(
            boost::asio::bind_executor(strand_, [self = this->shared_from_this()](error_code, ReleaseOutcome) mutable {
                complete(std::move(self));
            }));
    }

    [[nodiscard]] static bool is_aborted(std::exception_ptr const& failure)
    {
        try {
            std::rethrow_exception(failure);
        } catch (boost::system::system_error const& thrown) {
            return thrown.code() == boost::asio::error::operation_aborted;
        } catch (...) {
            return false;
        }
    }

    /** Reports a loss, unless the work failed with another error. */
    [[nodiscard]] std::exception_ptr outcome(std::exception_ptr const& failure) const
    {
        if (!lost_ || (failure && !is_aborted(failure)))
            return failure;
        return std::make_exception_ptr(
            error(make_error_code(errc::lease_lost), std::string(describe(token_.reason()))));
    }

    /** @param self  the last owner: this object is freed before the handler is called */
    static void complete(std::shared_ptr<LeasedWork> self)
    {
        auto results = std::tuple_cat(std::tuple(std::move(self->failure_)), *std::move(self->values_));
        auto const executor = std::move(self->completes_on_);
        auto handler = std::move(self->handler_);
        self.reset();
        boost::asio::dispatch(executor, [handler = std::move(handler), results = std::move(results)]() mutable {
            std::apply(std::move(handler), std::move(results));
        });
    }

    CancellationToken token_;
    /// the handler's executor; kept running until the handler is called
    decltype(completion_executor(
        std::declval<Handler const&>(), std::declval<boost::asio::any_io_executor const&>())) completes_on_;
    /// everything here runs on it
    boost::asio::strand<boost::asio::any_io_executor> strand_;
    Handler handler_;
    /// shared with the tasks, if there can be any
    std::conditional_t<has_tasks, std::shared_ptr<Held>, std::optional<Held>> held_;
    /// the work has begun and not ended
    bool works_ = false;
    /// the lease was lost before the work ended
    bool lost_ = false;
    /// ends the work
    boost::asio::cancellation_signal cancel_work_;
    /// its last cancellation
    boost::asio::cancellation_type last_cancellation_ = boost::asio::cancellation_type::none;
    /// ends the wait for the cancellation token
    boost::asio::cancellation_signal stop_waiting_;
    std::exception_ptr failure_;
    std::optional<Values> values_;
};

inline constexpr auto executor_itself = [](boost::asio::any_io_executor const& executor) { return executor; };

inline constexpr auto start_with_lease = [](boost::asio::any_io_executor const&, auto lease, auto work, auto handler) {
    using Run = LeasedWork<decltype(lease), decltype(work), decltype(handler)>;
    Run::start(make_in_handler_memory<Run>(handler, std::move(lease), std::move(work), handler));
};

} // namespace tenure::detail
