// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/leased_command.hpp"

#include "command_line/exit_code.hpp"
#include "exporter/metrics_page.hpp"
#include "exporter/metrics_server.hpp"
#include "keys/key_look.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"
#include "run/supervised_run.hpp"
#include "run/waiting.hpp"

#include <tenure/lock.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/semaphore.hpp>
#include <tenure/slot_pool.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

/// how often a run that waits for an occurrence looks whether it has been run meanwhile
constexpr milliseconds between_looks{1'000};

using Source = std::variant<Lock, MultiLock, Semaphore, SlotPool>;

/** The lock, locks, semaphore or pool of the settings. @throws std::invalid_argument */
Source source_of(RunSettings const& settings, Store const& store)
{
    LeaseOptions options;
    options.notice = settings.notice;
    auto const& target = settings.target;
    if (!target.is_lock())
        return SlotPool(store, {target.pool, target.size, settings.ttl, options, settings.reuse_after, settings.note});
    auto const key = settings.ranges().front()->key(0);
    if (settings.reuse_after != milliseconds{0} && (target.locks.size() > 1 || settings.share.has_places()))
        throw std::invalid_argument("--reuse-after is for a pool or one --lock: leave it out");
    switch (settings.share.kind) {
    case ShareSettings::Kind::shared:
        return ReadWriteLock(store, {key, settings.ttl, options, settings.note}).read_lock();
    case ShareSettings::Kind::exclusive:
        return ReadWriteLock(store, {key, settings.ttl, options, settings.note}).write_lock();
    case ShareSettings::Kind::semaphore:
        return Semaphore(store, {key, settings.share.permits, settings.ttl, options, settings.note});
    case ShareSettings::Kind::fair:
    case ShareSettings::Kind::plain:
        break;
    }
    if (target.locks.size() > 1)
        return MultiLock(store, {target.locks, settings.ttl, options, settings.note});
    bool const fair = settings.share.kind == ShareSettings::Kind::fair;
    return Lock(store, {key, settings.ttl, options, settings.note, fair, settings.reuse_after});
}

/** @param held  gets what was acquired */
template <class Kind>
asio::awaitable<error_code>
acquire_from(Kind const& source, AcquireOptions options, asio::cancellation_slot cancel, HeldKeys& held)
{
    auto result = co_await source.async_acquire(options, cancelled_by(cancel));
    held = HeldKeys(std::move(std::get<1>(result)));
    co_return std::get<0>(result);
}

/** Everything that one `tenure run` does. */
class LeasedCommand : public CommandRun
{
public:
    LeasedCommand(RunSettings const& settings, Invocation const& invocation, Guard& guard)
        : CommandRun(settings.store, invocation, guard)
        , settings_(settings)
        , source_(source_of(settings, store_))
        , wait_{store_, settings.ranges(), settings.wait_limit(), settings.share.noun()}
    {
        if (settings.window)
            settings.window->check(store_);
        if (!settings.metrics.empty()) {
            server_.emplace(
                loop_.get_executor(), settings.metrics,
                MetricsPages{
                    .metrics = [this] { return metrics(); },
                    .ready = [this] { return command_.running() && !held_.token().cancelled(); }});
        }
    }

    Ending run()
    {
        if (server_) {
            server_->start();
            report_.info("serving metrics on " + server_->url());
        }
        return SupervisedRun::run();
    }

private:
    asio::awaitable<int> operate() override
    {
        // a signal that came before there was an acquisition to cancel
        if (asked_to_end_ != 0)
            co_return end_by_signal();
        auto const over = std::make_shared<bool>(false);
        asio::co_spawn(loop_, announce(wait_, report_, over), asio::detached);
        if (settings_.window && settings_.window->names_occurrence())
            asio::co_spawn(loop_, stop_when_run(over), asio::detached);
        auto const error = co_await acquire();
        auto const granted = Clock::now();
        *over = true;
        if (asked_to_end_ != 0 || has_been_run_) {
            co_await release();
            co_return asked_to_end_ != 0 ? end_by_signal() : window_taken;
        }
        if (error)
            co_return co_await notify_end(error);
        report_.info("holding " + held_.describe() + ", token " + std::to_string(held_[0].fencing_token()));
        auto const result = co_await run_command(std::vector<std::string>());
        if (settings_.window && result.ending.code == success)
            co_await keep(granted);
        else
            co_await release();
        co_return result.ending.code;
    }

    asio::awaitable<std::string> metrics() { co_return page_of(store_); }

    asio::awaitable<error_code> acquire()
    {
        auto const options = AcquireOptions{.wait = settings_.wait_limit(), .permits = settings_.share.take};
        return std::visit(
            [&](auto const& source) { return acquire_from(source, options, cancel_.slot(), held_); }, source_);
    }

    /** A process that waits to take over an occurrence stops waiting when the other one has run it. */
    asio::awaitable<void> stop_when_run(std::shared_ptr<bool const> over)
    {
        for (; !*over; co_await pause_for(between_looks)) {
            auto const look = co_await look_at_keys(store_, wait_.ranges, between_looks);
            if (*over || look.error || look.states.front().kind != KeyState::Kind::kept)
                continue;
            has_been_run_ = true;
            notify_refusal(look.states.front());
            cancel_.emit(asio::cancellation_type::terminal);
            co_return;
        }
    }

    /** No lease was granted. @return the exit code */
    asio::awaitable<int> notify_end(error_code error)
    {
        lines_.drop();
        if (error != errc::timed_out) {
            report_.error("no lease on " + wait_.names() + ": " + explain(store_, error));
            co_return exit_code_for(error);
        }
        if (!settings_.window) {
            auto const reason = co_await explain_end(wait_);
            report_.error("no lease on " + wait_.names() + ": " + reason);
            co_return none_free;
        }
        auto const look = co_await look_at_keys(store_, wait_.ranges, between_looks);
        if (look.error)
            report_.say("not run: another process runs it in this window, or has run it");
        else
            notify_refusal(look.states.front());
        co_return window_taken;
    }

    void notify_refusal(KeyState const& state) const
    {
        report_.say(
            "not run: " + settings_.window->describe_refusal(settings_.target.locks.front(), state) + " (" +
            store_.describe() + ")");
    }

    /** The command has succeeded: its lock stays taken for the rest of the window. */
    asio::awaitable<void> keep(Instant granted)
    {
        auto const now = Clock::now();
        auto const rest = settings_.window->rest(granted, now);
        if (rest <= milliseconds{0}) {
            report_.warning(settings_.window->describe_overrun(std::chrono::floor<milliseconds>(now - granted)));
            co_await release();
            co_return;
        }
        if (!can_keep_for(rest)) {
            co_await pause_for(rest);
            co_await release();
            co_return;
        }
        auto lease = held_.take();
        auto result = co_await lease.async_detach(rest, as_result);
        auto error = std::get<0>(result);
        if (error == errc::store_unavailable) {
            // the detachment is retried in the background until the key would have expired
            co_await store_.async_close(settings_.ttl, cancelled_by(cancel_.slot()));
            if (store_.statistics().detached > 0)
                error = {};
        }
        if (error == errc::lease_lost)
            report_.warning(
                "the lease on " + lease.key() +
                " was lost when the command had ended: another process may run it in this window");
        else if (error)
            report_.warning(
                "the store has not confirmed that it keeps " + lease.key() +
                ": another process may run the command in this window");
    }

    /** The last moments of a window may be shorter than what a store can keep a key for. */
    [[nodiscard]] bool can_keep_for(milliseconds rest) const
    try {
        store_.check_detach(rest);
        return true;
    } catch (std::invalid_argument const&) {
        return false;
    }

    asio::awaitable<void> release()
    {
        bool const confirmed = co_await give_back();
        if (!confirmed)
            report_.warning(
                "the store has not confirmed the release: the claim expires within " + describe(settings_.ttl));
    }

    RunSettings const& settings_;
    Source source_;
    Wait wait_;
    /// where --metrics asks for it
    std::optional<MetricsServer> server_;
    /// the occurrence was run while this process waited for its lock
    bool has_been_run_ = false;
};

} // namespace

std::vector<KeyRangePtr> RunSettings::ranges() const
{
    auto result = target.ranges();
    if (window)
        result.front() = named_key(window->key_for(target.locks.front()));
    if (share.has_places())
        result.front() = shared_key(target.locks.front());
    return result;
}

int run_leased(RunSettings const& settings, Invocation const& invocation)
{
    static_cast<void>(settings.target.ranges());
    settings.share.check();
    if (settings.store.url.starts_with("memory:"))
        settings.store.report().warning(
            "memory:// is a store inside this very process: no other program sees this lease");
    return run_supervised<LeasedCommand>(settings, invocation);
}

} // namespace tenure::tool
