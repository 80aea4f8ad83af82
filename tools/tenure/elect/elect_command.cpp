// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/command_words.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "elect/leader_text.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/table.hpp"
#include "output/time_text.hpp"
#include "run/supervised_run.hpp"

#include <tenure/election.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

/// a campaign that takes no longer is not worth a line
constexpr std::chrono::milliseconds silent_campaign{1'000};

CommandHelp elect_help()
{
    return {
        .usage = "tenure elect NAME [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        .text =
            "Campaigns for the election NAME, and runs a command while this program leads. The command begins with the "
            "first word after NAME that is not an option, or after --.\n\n"
            "When the leadership is lost, the command is ended as that of tenure run, before another program can lead. "
            "Then the program campaigns again, and starts the command again. It ends when the command ends by itself, "
            "with its exit code.\n\n"
            "The command gets TENURE_ELECTION, which is NAME, TENURE_KEY, which is the same, and TENURE_FENCING_TOKEN, "
            "which is greater for every later leader.",
        .examples =
            {{"tenure elect scheduler ./scheduler", "one of many machines runs the scheduler"},
             {"tenure elect scheduler --contact 10.0.0.7:8080 ./scheduler", "and the others see where"},
             {"tenure leader scheduler", "who leads"}},
        .exit_codes = {
            {"any", "the command's own, or 128 + the signal that ended it"},
            {"64", "the command line is wrong"},
            {"69", "the store refuses, and asking again cannot help"},
            {"70", "no process could be started"},
            {"126", "the command cannot be executed"},
            {"127", "there is no such command"},
            {"128+N", "ended by signal N while the command did not run"}}};
}

struct ElectSettings {
    StoreSettings store;
    std::string name;
    std::string contact;
    std::chrono::milliseconds ttl{10'000};
    /// 0: the library's default for the ttl
    std::optional<std::chrono::milliseconds> notice;
};

ElectionConfig config_of(ElectSettings const& settings)
{
    return {
        .name = settings.name, .contact = settings.contact, .ttl = settings.ttl, .lease = {.notice = settings.notice}};
}

/** Campaigns, runs the command while this program leads, and does so again whenever the leadership was lost. */
class ElectedCommand : public CommandRun
{
public:
    ElectedCommand(ElectSettings const& settings, Invocation const& invocation, Guard& guard)
        : CommandRun(settings.store, invocation, guard)
        , settings_(settings)
        , election_(store_, config_of(settings))
    {
    }

private:
    asio::awaitable<int> operate() override
    {
        while (asked_to_end_ == 0) {
            auto const error = co_await campaign();
            if (asked_to_end_ != 0)
                break;
            if (error) {
                lines_.drop();
                report_.error("no leadership of " + printable(settings_.name, 256) + ": " + explain(store_, error));
                co_return exit_code_for(error);
            }
            report_.info("leading " + held_.describe() + ", token " + std::to_string(held_[0].fencing_token()));
            std::vector<std::string> more(1, "TENURE_ELECTION=" + settings_.name);
            auto const result = co_await run_command(std::move(more));
            co_await resign();
            if (!result.lost)
                co_return result.ending.code;
            report_.say("campaigning again for " + printable(settings_.name, 256));
        }
        co_await resign();
        co_return end_by_signal();
    }

    asio::awaitable<error_code> campaign()
    {
        auto const over = std::make_shared<bool>(false);
        asio::co_spawn(loop_, announce(over), asio::detached);
        auto result = co_await election_.async_campaign(cancelled_by(cancel_.slot()));
        *over = true;
        held_ = HeldKeys(std::move(std::get<1>(result)));
        co_return std::get<0>(result);
    }

    /** Says after a second who leads instead. */
    asio::awaitable<void> announce(std::shared_ptr<bool const> over)
    {
        co_await pause_for(silent_campaign);
        if (*over)
            co_return;
        auto const leader = election_.leader();
        auto const where = store_.describe();
        if (leader.state == Leader::State::unknown)
            report_.say("campaigning on " + explain(store_, errc::store_unavailable));
        else
            report_.say(
                "campaigning on " + where + ": " +
                as_text({store_.describe(), settings_.name, leader, std::chrono::system_clock::now()}));
    }

    asio::awaitable<void> resign()
    {
        bool const confirmed = co_await give_back();
        if (!confirmed)
            report_.warning(
                "the store has not confirmed the resignation: the claim expires within " + describe(settings_.ttl));
    }

    ElectSettings const& settings_;
    Election election_;
};

/** @return the exit code */
int run_elected(ElectSettings const& settings, Invocation const& invocation)
{
    check_key("NAME", settings.name);
    if (settings.store.url.starts_with("memory:"))
        settings.store.report().warning(
            "memory:// is a store inside this very process: no other program takes part in this election");
    return run_supervised<ElectedCommand>(settings, invocation);
}

} // namespace

Command add_elect_command(CLI::App& program)
{
    auto settings = std::make_shared<ElectSettings>();
    auto* const options = program.add_subcommand("elect", "run a command while this program leads");
    describe_command(*options, elect_help());
    settings->store.may_be_local = true;
    add_store_options(*options, settings->store);
    options->add_option("NAME", settings->name, "the election: the key NAME")->type_name("NAME")->required();
    options
        ->add_option("--contact", settings->contact, "where the others reach this program while it leads; not secret")
        ->type_name("TEXT");
    add_duration(
        *options, "--ttl", settings->ttl, "how long the store keeps a leader that does not renew (default: 10s)");
    add_duration(
        *options, "--kill-after,--notice", settings->notice,
        "the time the command has to end between SIGTERM and the end of the leadership (default: ttl/10, at least "
        "20ms; at most ttl/3)");
    options->prefix_command();
    auto run = [settings, options](Invocation const& invocation) {
        return run_elected(*settings, with_command(invocation, *options));
    };
    return {options, run};
}

} // namespace tenure::tool
