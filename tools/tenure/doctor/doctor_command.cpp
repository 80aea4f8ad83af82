// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "doctor/findings_report.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <iostream>
#include <memory>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp doctor_help()
{
    return {
        .usage = "tenure doctor [OPTIONS]",
        .text = "Connects to the store and examines it on behalf of leases: version, round trip against the ttl, "
                "persistence, eviction of keys, replicas and their clocks, permissions. Each finding says what was "
                "seen, what it means and what to do.",
        .examples =
            {{"tenure doctor", "the store that TENURE_STORE names"},
             {"tenure doctor --ttl 500ms --json", "for short leases, and for programs"}},
        .exit_codes = {
            {"0", "nothing is wrong; what could not be verified is listed"},
            {"1", "warnings"},
            {"2", "errors: leases will not work or cannot be relied on"},
            {"64", "the command line is wrong"}}};
}

struct DoctorSettings {
    StoreSettings store;
    std::chrono::milliseconds ttl{10'000};
    bool json = false;
};

asio::awaitable<int> examine(DoctorSettings const& settings, Store store)
{
    auto result = co_await store.async_examine(settings.ttl, as_result);
    if (auto const error = std::get<0>(result)) {
        settings.store.report().error(explain(store, error));
        co_return exit_code_for(error);
    }
    auto const& findings = std::get<1>(result);
    auto const color = uses_color(STDOUT_FILENO, settings.store.color);
    std::cout << (settings.json ? as_json(store.describe(), findings)
                                : as_text(store.describe(), findings, color, columns_of(STDOUT_FILENO)))
              << std::flush;
    co_return exit_code_of(findings);
}

} // namespace

Command add_doctor_command(CLI::App& program)
{
    auto settings = std::make_shared<DoctorSettings>();
    auto* const options = program.add_subcommand("doctor", "examine the store, with advice");
    describe_command(*options, doctor_help());
    add_store_options(*options, settings->store);
    add_duration(*options, "--ttl", settings->ttl, "the ttl of the leases that it is to serve (default: 10s)");
    options->add_flag("--json", settings->json, "one JSON object, for programs");
    auto run = [settings](Invocation const&) {
        asio::io_context loop(1);
        return run_to_end(loop, examine(*settings, settings->store.open_once(loop.get_executor())));
    };
    return {options, run};
}

} // namespace tenure::tool
