// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// async_serve: runs operations until a signal or a failure, and ends them in order.
#include <tenure/serve.hpp>

#include "engine/completion.hpp"
#include "engine/core.hpp"
#include "runtime/alarm.hpp"

#include <tenure/detail/on_cancel.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/strand.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

namespace
{

/// for operations that got `terminal`
constexpr std::chrono::seconds longest_end{1};

using ServiceOperations = std::vector<std::unique_ptr<detail::ServedOperation>>;
using ServiceHandler = engine::Completion<void(std::exception_ptr)>;

/** One service. Everything but `start` runs on its strand. */
class Service : public std::enable_shared_from_this<Service>
{
public:
    Service(
        Store store, std::shared_ptr<Runtime> runtime, asio::any_io_executor const& executor,
        ServeOptions const& options, ServiceOperations operations, ServiceHandler handler)
        : store_(std::move(store))
        , runtime_(std::move(runtime))
        , executor_(executor)
        , strand_(asio::make_strand(executor))
        , options_(options)
        , handler_(std::move(handler))
        , alarm_(runtime_)
    {
        for (auto& operation : operations)
            running_.push_back(std::make_shared<Running>(executor_, std::move(operation)));
        left_ = running_.size();
        for (auto const signal : options_.signals)
            if (signal != 0)
                (signals_ ? *signals_ : signals_.emplace(asio::any_io_executor(strand_))).add(signal);
    }

    /** Call it on the thread of the initiating call. */
    static void start(std::shared_ptr<Service> const& self)
    {
        detail::on_cancel(
            self->handler_->slot(), detail::every_cancellation, [weak = std::weak_ptr(self)](asio::cancellation_type) {
                if (auto const alive = weak.lock())
                    asio::dispatch(alive->strand_, [alive] { alive->signalled(); });
            });
        asio::post(self->strand_, [self] {
            self->wait_for_signal();
            for (auto const& operation : self->running_)
                self->begin(operation);
        });
    }

private:
    /** An operation, on a strand of its own. */
    struct Running {
        Running(asio::any_io_executor const& executor, std::unique_ptr<detail::ServedOperation> begins)
            : strand(asio::make_strand(executor))
            , operation(std::move(begins))
        {
        }
        asio::strand<asio::any_io_executor> strand;
        /// until it begins
        std::unique_ptr<detail::ServedOperation> operation;
        asio::cancellation_signal cancel;
        bool ended = false;
    };
    enum class Stage { serves, drains, terminates, closes };

    void begin(std::shared_ptr<Running> const& running)
    {
        auto ended = [self = shared_from_this(), running](std::exception_ptr failure) {
            running->ended = true;
            asio::post(self->strand_, [self, failure = std::move(failure)] { self->ended(failure); });
        };
        asio::post(running->strand, [running, ended = std::move(ended)]() mutable {
            auto const operation = std::move(running->operation);
            // ended before it began
            if (running->ended) {
                ended(nullptr);
                return;
            }
            operation->start({running->strand, running->cancel.slot(), std::move(ended)});
        });
    }

    void emit(asio::cancellation_type type)
    {
        for (auto const& running : running_)
            asio::post(running->strand, [running, type] {
                // what has not begun does not begin
                if (running->operation)
                    running->ended = true;
                else if (!running->ended)
                    running->cancel.emit(type);
            });
    }

    void wait_for_signal()
    {
        if (!signals_)
            return;
        signals_->async_wait([weak = weak_from_this()](error_code error, int) {
            auto const self = weak.lock();
            if (error || self == nullptr)
                return;
            self->signalled();
            self->wait_for_signal();
        });
    }

    void signalled()
    {
        if (stage_ == Stage::serves)
            stop();
        else if (stage_ == Stage::drains)
            terminate();
    }

    void ended(std::exception_ptr const& failure)
    {
        --left_;
        if (stage_ == Stage::serves && failure) {
            failure_ = failure;
            stop();
        }
        if (left_ == 0 && stage_ != Stage::closes)
            close();
    }

    void stop()
    {
        // also without a drain: after it `terminal` ends the drain of a TaskGroup
        emit(asio::cancellation_type::total);
        if (options_.drain <= std::chrono::milliseconds{0}) {
            terminate();
            return;
        }
        stage_ = Stage::drains;
        wake_at(runtime_->now() + options_.drain);
    }

    void terminate()
    {
        stage_ = Stage::terminates;
        emit(asio::cancellation_type::terminal);
        wake_at(runtime_->now() + longest_end);
    }

    void wake_at(Instant when) { alarm_.at(when, weak_from_this(), strand_, &Service::time_is_over); }

    void time_is_over()
    {
        if (stage_ == Stage::drains)
            terminate();
        else if (stage_ == Stage::terminates)
            close();
    }

    void close()
    {
        stage_ = Stage::closes;
        alarm_.cancel();
        if (left_ > 0)
            runtime_->post([runtime = runtime_, left = left_] {
                runtime->log(
                    LogLevel::error, "the service ends, and " + std::to_string(left) +
                                         " of its operations have not ended a second after their cancellation: they "
                                         "ignore it, or a store does not answer a release");
            });
        store_.async_close(options_.close_within, asio::bind_executor(strand_, [self = shared_from_this()](error_code) {
                               self->signals_.reset();
                               std::move(*std::exchange(self->handler_, std::nullopt)).post(self->failure_);
                           }));
    }

    Store store_;
    std::shared_ptr<Runtime> runtime_;
    /// of the user's handler
    asio::any_io_executor executor_;
    asio::strand<asio::any_io_executor> strand_;
    ServeOptions options_;
    /// until it is called
    std::optional<ServiceHandler> handler_;
    Alarm alarm_;
    /// unset: none are waited for
    std::optional<asio::signal_set> signals_;
    std::vector<std::shared_ptr<Running>> running_;
    /// operations that have not ended
    std::size_t left_ = 0;
    Stage stage_ = Stage::serves;
    /// the first failure, unless a signal came before
    std::exception_ptr failure_;
};

} // namespace

void detail::Serve::start(
    Store const& store, ServeOptions const& options, ServiceOperations operations,
    asio::any_io_executor const& executor, asio::any_completion_handler<void(std::exception_ptr)> handler)
{
    auto const& runtime = store.handle_->core()->runtime();
    Service::start(std::make_shared<Service>(
        store, runtime, executor, options, std::move(operations), ServiceHandler(std::move(handler), runtime.get())));
}

} // namespace tenure
