// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/shard_commands.hpp"

#include "command_line/exit_code.hpp"
#include "exporter/metrics_page.hpp"
#include "exporter/metrics_server.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"
#include "run/processes.hpp"
#include "run/supervised_run.hpp"
#include "run/waiting.hpp"

#include <tenure/error.hpp>
#include <tenure/shard_group.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

using std::chrono::milliseconds;

/** The lease of a shard, which holds while its command is given time to end. */
class ShardLease final : public CommandLease
{
public:
    ShardLease(Shard const& shard, milliseconds ttl)
        : shard_(shard)
        , ttl_(ttl)
    {
    }
    [[nodiscard]] CancellationToken token() const override { return shard_.token(); }
    [[nodiscard]] std::optional<CancelReason> loss() const override
    {
        if (auto const reason = shard_.token().reason(); is_loss(reason))
            return reason;
        return shard_.valid() ? std::nullopt : std::optional(CancelReason::expired);
    }
    [[nodiscard]] std::string lost_key() const override { return shard_.key(); }
    [[nodiscard]] Instant valid_until() const override { return shard_.valid_until(); }
    [[nodiscard]] Instant stop_at() const override { return shard_.stop_at(); }
    [[nodiscard]] milliseconds ttl() const override { return ttl_; }
    [[nodiscard]] std::string describe() const override { return printable(shard_.key(), 256); }

private:
    Shard const& shard_;
    milliseconds ttl_;
};

std::vector<std::string> environment_for(Shard const& shard)
{
    auto environment = inherited_environment();
    environment.push_back("TENURE_KEY=" + shard.key());
    environment.push_back("TENURE_SHARD=" + std::to_string(shard.number()));
    if (shard.has_fencing_token())
        environment.push_back("TENURE_FENCING_TOKEN=" + std::to_string(shard.fencing_token()));
    return environment;
}

/** A command could not be started: none of them could. */
struct NotStarted : std::runtime_error {
    explicit NotStarted(int code)
        : std::runtime_error("a command could not be started")
        , exit_code(code)
    {
    }
    int exit_code;
};

/** Everything that one `tenure run --shards` does. */
class ShardCommands : public SupervisedRun
{
public:
    ShardCommands(RunSettings const& settings, Invocation const& invocation)
        : SupervisedRun(settings.store, invocation)
        , settings_(settings)
        , invocation_(invocation)
        , group_(store_, config())
    {
        if (!settings.metrics.empty())
            server_.emplace(
                loop_.get_executor(), settings.metrics,
                MetricsPages{.metrics = [this] { return metrics(); }, .ready = [this] { return *joined_; }});
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
    [[nodiscard]] ShardGroupConfig config()
    {
        auto const& shards = settings_.shards;
        LeaseOptions lease;
        lease.notice = settings_.notice;
        return {
            .name = shards.name,
            .shards = shards.count,
            .max_members = shards.max_members,
            .ttl = settings_.ttl,
            .weight = shards.weight,
            .drain = shards.drain,
            .rebalance_pause = shards.rebalance_pause,
            .lease = lease,
            .note = settings_.note,
            .on_event = [this](ShardEvent const& event) { tell(event); }};
    }

    asio::awaitable<int> operate() override
    {
        if (asked_to_end_ != 0)
            co_return end_by_signal();
        std::vector<KeyRangePtr> members(1, group_.member_range());
        Wait wait{store_, std::move(members), milliseconds::max()};
        asio::co_spawn(loop_, announce(std::move(wait), report_, joined_), asio::detached);
        auto const work = [this](Shard& shard) { return run_one(shard); };
        auto const result = co_await async_run(group_, work, cancelled_by(cancel_.slot()));
        auto const& failure = std::get<0>(result);
        *joined_ = true; // nothing is announced any longer
        if (failure && asked_to_end_ == 0)
            co_return explain_failure(failure);
        auto const by_commands = asked_to_end_ == SIGINT ? std::nullopt : ended_with_;
        auto const by_us = end_by_signal();
        co_return by_commands.value_or(by_us);
    }

    /** The exit code of a run that nothing asked to end. */
    int explain_failure(std::exception_ptr const& failure)
    try {
        lines_.drop();
        std::rethrow_exception(failure);
    } catch (NotStarted const& not_started) {
        return not_started.exit_code;
    } catch (tenure::error const& error) {
        report_.error(
            "no membership in " + printable(settings_.shards.name, 256) + ": " + explain(store_, error.code()));
        return exit_code_for(error.code());
    }

    /** Runs the command of a shard until it ends, or is cancelled. */
    asio::awaitable<void> run_one(Shard& shard)
    {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await asio::this_coro::throw_if_cancelled(false);
        Guard guard;
        ShardLease const lease(shard, settings_.ttl);
        GuardedCommand command(store_, invocation_, guard, report_, Input::none);
        commands_.push_back(&command);
        report_.info("holding " + lease.describe() + ", token " + std::to_string(token_of(shard)));
        auto environment = environment_for(shard);
        auto const result = co_await command.run(lease, std::move(environment));
        std::erase(commands_, &command);
        if (result.failed) {
            fails_ = true;
            throw NotStarted(result.ending.code);
        }
        if (result.lost)
            co_return;
        auto const state = co_await asio::this_coro::cancellation_state;
        auto const code = result.ending.code;
        if (state.cancelled() != asio::cancellation_type::none) {
            // the first that did not succeed
            if (asked_to_end_ != 0 && ended_with_.value_or(success) == success)
                ended_with_ = code;
            co_return;
        }
        if (code == success)
            report_.info(
                "the command of " + lease.describe() + " has ended well: its shard stays held without a command");
        else
            report_.warning(
                "the command of " + lease.describe() + " has ended with exit code " + std::to_string(code) +
                ": its shard stays held without a command");
    }

    static std::uint64_t token_of(Shard const& shard) { return shard.has_fencing_token() ? shard.fencing_token() : 0; }

    void tell(ShardEvent const& event)
    {
        auto const name = printable(settings_.shards.name, 256);
        switch (event.kind) {
        case ShardEvent::Kind::joined:
            *joined_ = true;
            lines_.let_through();
            report_.info("joined " + name);
            break;
        case ShardEvent::Kind::membership_lost:
            report_.warning(
                "the membership in " + name + " was lost: joining again; the shards are kept for " +
                describe(settings_.ttl));
            break;
        case ShardEvent::Kind::left:
            if (asked_to_end_ == 0 && !fails_)
                report_.warning("leaving " + name + " for a while, because no shard could be claimed");
            break;
        case ShardEvent::Kind::giving_up:
            report_.info("giving up shard " + std::to_string(event.shard.value_or(0)));
            break;
        case ShardEvent::Kind::acquired:
        case ShardEvent::Kind::terminated:
        case ShardEvent::Kind::abandoned:
        case ShardEvent::Kind::finished:
        case ShardEvent::Kind::released:
        case ShardEvent::Kind::lost:
            break;
        }
    }

    /** The first signal that asks to end lets the commands drain, the second one kills them. Others are for the
     * commands. */
    void on_signal(int signal) override
    {
        if (asks_to_end(signal)) {
            bool const first = asked_to_end_ == 0;
            if (first)
                asked_to_end_ = signal;
            cancel_.emit(first ? asio::cancellation_type::total : asio::cancellation_type::terminal);
        } else if (signal == SIGTSTP) {
            // the guards end the commands before their leases expire
            ::raise(SIGSTOP);
        } else if (commands_.empty()) {
            if (signal == SIGCHLD)
                reap_orphans();
        } else {
            for (auto* const command : commands_)
                command->on_signal(signal);
        }
    }

    asio::awaitable<std::string> metrics() { co_return page_of(store_); }

    RunSettings const& settings_;
    Invocation const& invocation_;
    /// it is, or was, a member
    std::shared_ptr<bool> joined_ = std::make_shared<bool>(false);
    ShardGroup group_;
    /// a command could not be started
    bool fails_ = false;
    /// that run now
    std::vector<GuardedCommand*> commands_;
    /// exit code of the commands that were ended with this program
    std::optional<int> ended_with_;
    /// where --metrics asks for it
    std::optional<MetricsServer> server_;
};

} // namespace

int run_shards(RunSettings const& settings, Invocation const& invocation)
{
    static_cast<void>(settings.shards.ranges());
    if (settings.store.url.starts_with("memory:"))
        settings.store.report().warning(
            "memory:// is a store inside this very process: no other program shares these shards");
    return carry_out(ShardCommands(settings, invocation).run());
}

} // namespace tenure::tool
