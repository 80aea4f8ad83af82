// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "leased_command.hpp"

#include "child_process.hpp"
#include "command_environment.hpp"
#include "duration.hpp"
#include "exit_code.hpp"
#include "guard.hpp"
#include "holders_text.hpp"
#include "inheritance.hpp"
#include "key_look.hpp"
#include "loop.hpp"
#include "signal_relay.hpp"
#include "store_error.hpp"
#include "supervision.hpp"
#include "terminal.hpp"
#include "time_limit.hpp"
#include "waiting.hpp"

#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

using std::chrono::milliseconds;

/// a store that does not answer must not keep the program from ending: the claim lapses by itself
constexpr milliseconds release_limit{2'000};
/// who has taken a lost key is told if the store answers within this time
constexpr milliseconds cause_limit{1'000};

/** Ends the guard before the child of the same scope is reaped, however the scope is left: from then on the group's
 * number may be a stranger's. */
class GuardDismissal
{
public:
    explicit GuardDismissal(Guard& guard) noexcept
        : guard_(guard)
    {
    }
    GuardDismissal(GuardDismissal const&) = delete;
    GuardDismissal& operator=(GuardDismissal const&) = delete;
    ~GuardDismissal() { guard_.dismiss(); }

private:
    Guard& guard_;
};

/** Everything that one `tenure run` does, on a loop of one thread. */
class LeasedCommand
{
public:
    LeasedCommand(RunSettings const& settings, Invocation const& invocation, Guard& guard)
        : settings_(settings)
        , invocation_(invocation)
        , report_(settings.store.report())
        , guard_(guard)
        , signals_(loop_.get_executor(), invocation.inheritance)
        , store_(settings.store.open(loop_.get_executor()))
    {
        LeaseOptions options;
        options.notice = settings.notice;
        auto const& target = settings.target;
        if (target.is_lock() && settings.reuse_after != std::chrono::milliseconds{0})
            throw std::invalid_argument("--reuse-after is for the numbers of a pool: a lock has none");
        if (target.is_lock())
            lock_.emplace(store_, LockConfig{target.lock, settings.ttl, options, settings.note});
        else
            pool_.emplace(
                store_,
                SlotPoolConfig{target.pool, target.size, settings.ttl, options, settings.reuse_after, settings.note});
    }

    int run()
    {
        signals_.start([this](int signal) { on_signal(signal); });
        return run_to_end(loop_, operate());
    }

private:
    asio::awaitable<int> operate()
    {
        auto const over = std::make_shared<bool>(false);
        asio::co_spawn(loop_, announce(wait(), report_, over), asio::detached);
        auto const error = co_await acquire();
        *over = true;
        if (asked_to_end_ != 0) {
            co_await release();
            co_return by_signal + asked_to_end_;
        }
        if (error) {
            auto reason = explain(store_, error);
            if (error == errc::timed_out)
                reason = co_await explain_end(wait());
            report_.error("no lease on " + settings_.target.range()->describe() + ": " + reason);
            co_return exit_code_for(error);
        }
        report_.info("holding " + lease_.key() + ", token " + std::to_string(lease_.fencing_token()));
        auto const code = co_await run_command();
        co_await release();
        co_return code;
    }

    [[nodiscard]] Wait wait() const { return Wait(store_, settings_.target.range(), settings_.wait); }

    asio::awaitable<error_code> acquire()
    {
        auto const options = AcquireOptions{settings_.wait, milliseconds{0}};
        auto token = asio::bind_cancellation_slot(cancel_.slot(), asio::as_tuple(asio::use_awaitable));
        if (lock_) {
            auto result = co_await lock_->async_acquire(options, token);
            lease_ = std::move(std::get<1>(result));
            co_return std::get<0>(result);
        }
        auto result = co_await pool_->async_acquire(options, token);
        if (!std::get<0>(result))
            slot_ = std::get<1>(result).id();
        lease_ = std::move(std::get<1>(result)).as_lease();
        co_return std::get<0>(result);
    }

    asio::awaitable<int> run_command()
    {
        Terminal terminal;
        ChildProcess child(invocation_.after_dashes, environment_for(lease_, slot_), invocation_.inheritance);
        GuardDismissal const dismissal(guard_);
        if (!guard_.watch(child.id(), deadlines(lease_))) {
            report_.error("no guard process can be started: the command is not run");
            co_return system_failed;
        }
        terminal.lend(child.id());
        // a process that was stopped until here must not start anything under a lease that has ended meanwhile; from
        // here on the guard would end it
        if (lease_.token().cancelled()) {
            report_.error("the lease on " + lease_.key() + " was lost before the command could start");
            co_return lease_lost;
        }
        child.open_gate();
        Supervision supervision(loop_.get_executor(), lease_, guard_, child, terminal, report_);
        supervision_ = &supervision;
        watch_token();
        auto const result = co_await supervision.run();
        supervision_ = nullptr;
        while (looks_for_cause_)
            co_await pause_for(milliseconds{5});
        co_return code_for(result);
    }

    /** The end of the token makes the supervision look at once. */
    void watch_token()
    {
        lease_.token().async_wait([this](error_code error) {
            if (error || supervision_ == nullptr)
                return;
            supervision_->wake();
            if (lease_.token().reason() == CancelReason::not_owner) {
                looks_for_cause_ = true;
                asio::co_spawn(loop_, tell_cause(), asio::detached);
            }
        });
    }

    /** The holder of a lost key learns who evicted it, or who holds it now. */
    asio::awaitable<void> tell_cause()
    {
        auto const look = co_await look_at_keys(store_, named_key(lease_.key()), cause_limit);
        if (!look.error)
            report_.error(describe_loss(lease_.key(), look.states.front()));
        looks_for_cause_ = false;
    }

    int code_for(Supervision::Result const& result) const
    {
        if (result.start_error != 0) {
            report_.error(
                "cannot run '" + invocation_.after_dashes.front() + "': " + std::strerror(result.start_error));
            return result.start_error == ENOENT ? not_found : not_executable;
        }
        if (result.lost) {
            if (guard_.has_acted())
                report_.error("the guard ended the command: this process had been stopped, or was stuck");
            return lease_lost;
        }
        return result.status.code();
    }

    asio::awaitable<void> release()
    {
        if (!lease_)
            co_return;
        TimeLimit const limit(loop_.get_executor(), release_limit);
        auto const result = co_await lease_.async_release(
            asio::bind_cancellation_slot(limit.slot(), asio::as_tuple(asio::use_awaitable)));
        auto const outcome = std::get<1>(result);
        if (std::get<0>(result) || outcome == ReleaseOutcome::unconfirmed)
            report_.warning(
                "the store has not confirmed the release: the claim lapses within " + describe(settings_.ttl));
    }

    void on_signal(int signal)
    {
        if (supervision_ != nullptr) {
            if (signal == SIGCHLD)
                supervision_->wake();
            else
                supervision_->forward(signal);
        } else if (asks_to_end(signal)) {
            if (asked_to_end_ == 0)
                asked_to_end_ = signal;
            cancel_.emit(asio::cancellation_type::terminal);
        } else if (signal == SIGTSTP) {
            // nothing runs yet that would need the lease
            ::raise(SIGSTOP);
        }
    }

    RunSettings const& settings_;
    Invocation const& invocation_;
    Report report_;
    Guard& guard_;
    asio::io_context loop_{1};
    SignalRelay signals_;
    Store store_;
    std::optional<SlotPool> pool_;
    std::optional<Lock> lock_;
    asio::cancellation_signal cancel_;
    Lease lease_;
    std::optional<std::uint32_t> slot_;
    /// while the command runs
    Supervision* supervision_ = nullptr;
    /// the store is being asked what has become of a lost key
    bool looks_for_cause_ = false;
    /// the first signal that asked to end before the command ran
    int asked_to_end_ = 0;
};

} // namespace

int run_leased(RunSettings const& settings, Invocation const& invocation)
{
    static_cast<void>(settings.target.range());
    if (settings.store.url.starts_with("memory:"))
        settings.store.report().warning(
            "memory:// is a store inside this very process: nobody else can see this lease");
    // before there is anything that a fork could take with it
    Guard guard;
    return LeasedCommand(settings, invocation, guard).run();
}

} // namespace tenure::tool
