// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"

#include <tenure/stores/postgresql.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp init_help()
{
    return {
        .usage = "tenure init [URL] [--role NAME]... [--print] [OPTIONS]",
        .text = "Creates or upgrades the table and the functions in which a PostgreSQL database keeps leases, in one "
                "transaction. It may be run again. The URL is that of the owner of the database; programs use another "
                "role, which calls the functions and cannot change the table.",
        .examples =
            {{"tenure init postgresql://owner@db/app --role worker", "prepare the database for workers"},
             {"tenure init postgresql://db/app --print", "the statement, for a tool that migrates schemas"}},
        .exit_codes = {
            {"0", "done"},
            {"64", "the command line is wrong, or the store needs no preparation"},
            {"69", "the store cannot be reached or refuses"}}};
}

struct InitSettings {
    StoreSettings store;
    std::string url;
    std::vector<std::string> roles;
    bool prints = false;
};

/** As the value of an option in a URL. */
std::string encoded(std::string const& text)
{
    constexpr char const* digits = "0123456789ABCDEF";
    std::string result;
    for (char const each : text) {
        auto const c = static_cast<unsigned char>(each);
        bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (plain)
            result.push_back(each);
        else
            (result += '%').append({digits[c / 16], digits[c % 16]});
    }
    return result;
}

/** The URL that creates the schema for the roles. */
std::string creating_url(InitSettings const& settings)
{
    auto url = settings.url.empty() ? settings.store.url : settings.url;
    if (url.empty() && settings.prints)
        url = "postgresql://host/database"; // the statement is the same for all
    if (url.empty())
        throw std::invalid_argument("which database? Name it as tenure init URL, or in the variable TENURE_STORE");
    url += url.find('?') == std::string::npos ? '?' : '&';
    url += "create=true";
    for (auto const& role : settings.roles)
        url += (&role == &settings.roles.front() ? "&roles=" : "%2C") + encoded(role);
    return url;
}

asio::awaitable<int> create(InitSettings const& settings, Store store)
{
    auto const result = co_await store.async_ready(std::chrono::seconds{10}, as_result);
    if (auto const error = std::get<0>(result)) {
        settings.store.report().error(explain(store, error));
        co_return exit_code_for(error);
    }
    std::cout << store.describe() << ": the schema is ready\n";
    for (auto const& role : settings.roles)
        std::cout << "role " << role << " may use it\n";
    std::cout << std::flush;
    co_return success;
}

} // namespace

Command add_init_command(CLI::App& program)
{
    auto settings = std::make_shared<InitSettings>();
    auto* const options = program.add_subcommand("init", "prepare a PostgreSQL database");
    describe_command(*options, init_help());
    add_store_options(*options, settings->store);
    options->add_option("URL", settings->url, "the database, as its owner (default: that of --store)");
    options->add_option("--role", settings->roles, "a role that may use it; several times for several roles")
        ->type_name("NAME")
        ->expected(1)
        ->take_all();
    options->add_flag("--print", settings->prints, "print the statement, and connect to nothing");
    auto run = [settings](Invocation const&) {
        settings->store.url = creating_url(*settings);
        // refuses a URL of another kind of store
        auto const statement = postgresql_schema(settings->store.url);
        if (settings->prints) {
            std::cout << statement << ";\n" << std::flush;
            return static_cast<int>(success);
        }
        asio::io_context loop(1);
        return run_to_end(loop, create(*settings, settings->store.open_once(loop.get_executor())));
    };
    return {options, run};
}

} // namespace tenure::tool
