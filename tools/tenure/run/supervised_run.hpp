// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "command_line/settings.hpp"
#include "output/held_lines.hpp"
#include "run/guard.hpp"
#include "run/guarded_command.hpp"
#include "run/held_keys.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The part of a program that runs commands under leases: a loop of one thread, its signals, and the store. */
class SupervisedRun
{
public:
    /** Everything named here outlives this object. */
    SupervisedRun(StoreSettings const& settings, Invocation const& invocation);
    SupervisedRun(SupervisedRun const&) = delete;
    SupervisedRun& operator=(SupervisedRun const&) = delete;
    virtual ~SupervisedRun() = default;

    [[nodiscard]] Ending run();

protected:
    /** Acquires keys, runs commands under them, gives them back. @return the exit code */
    [[nodiscard]] virtual asio::awaitable<int> operate() = 0;
    virtual void on_signal(int signal) = 0;

    /** The exit code after a signal that asked to end while no command ran. */
    [[nodiscard]] int end_by_signal() noexcept;

    Report const report_;
    asio::io_context loop_{1};
    /// of the store: a failure of the first moments is told once, by `report_`
    HeldLines lines_;
    /// ended children, and all that a command may be sent, except signals that the program's starter ignores
    asio::signal_set signals_;
    Store store_;
    /// cancels the acquisition, or the run, when a signal asks to end
    asio::cancellation_signal cancel_;
    /// the first signal that asked to end
    int asked_to_end_ = 0;
    /// of the wait or of the command
    Interruption interruption_ = Interruption::none;

private:
    /** Catches signals from then on, and opens the store. */
    [[nodiscard]] Store open(StoreSettings const& settings, Inheritance const& inheritance);
    void wait_for_signal();
};

/** True for a signal by which people and machines ask a program to end. */
[[nodiscard]] bool asks_to_end(int signal) noexcept;

/** The part that `tenure run` and `tenure elect` share: the keys that are held, and the one command that runs under
 * them. */
class CommandRun : public SupervisedRun
{
public:
    /** Everything named here outlives this object. */
    CommandRun(StoreSettings const& settings, Invocation const& invocation, Guard& guard);

protected:
    /** Runs the command under the keys that are held. @param more  `NAME=value` lines of its environment */
    [[nodiscard]] asio::awaitable<GuardedCommand::Result> run_command(std::vector<std::string> more);

    /** Gives the keys back, if any are held.
     *  @return false if the store has not confirmed it: the claims expire by themselves */
    [[nodiscard]] asio::awaitable<bool> give_back();

    void on_signal(int signal) override;

    GuardedCommand command_;
    HeldKeys held_;
};

/** Runs to the end under a guard that is forked first, and ends as the shell expects it. @return the exit code */
template <class Run, class Settings>
[[nodiscard]] int run_supervised(Settings const& settings, Invocation const& invocation)
{
    auto const run = [&] {
        // before there is anything that a fork could take with it
        Guard guard;
        return Run(settings, invocation, guard).run();
    };
    return carry_out(run());
}

} // namespace tenure::tool
