// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/command.hpp"
#include "command_line/exit_code.hpp"
#include "command_line/help.hpp"
#include "command_line/settings.hpp"
#include "keys/holder.hpp"
#include "keys/loop.hpp"
#include "keys/store_error.hpp"
#include "output/time_text.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

CommandHelp evict_help()
{
    return {
        .usage = "tenure evict (--size N [--pool PREFIX] --slot I | --lock NAME) [--yes] [OPTIONS]",
        .text = "Takes a slot or lock away from its holder. The holder's token is cancelled at its next renewal, and "
                "the key "
                "frees when the claim's present ttl has passed, so that the holder's validity has surely ended before "
                "any other holder gets it. The holder learns by whom: the name is that of --worker.",
        .examples =
            {{"tenure evict --size 16 --slot 3", "asks first"},
             {"tenure evict --lock nightly --yes --worker admin", "does not ask"}},
        .exit_codes = {
            {"0", "evicted"},
            {"1", "there was nothing to evict, the key is another program's, the holder has changed, or you said no"},
            {"64", "the command line is wrong"},
            {"69", "the store cannot be reached or refuses"}}};
}

struct EvictSettings {
    StoreSettings store;
    TargetSettings target;
    std::optional<std::uint32_t> slot;
    bool yes = false;

    /** The index within the range. @throws std::invalid_argument */
    [[nodiscard]] std::uint32_t index(KeyRange const& range) const
    {
        if (target.is_lock())
            return 0;
        if (!slot)
            throw std::invalid_argument("which slot? Name it by --slot I");
        if (*slot >= range.count)
            throw std::invalid_argument(
                "--slot: " + std::to_string(*slot) + " is not below the pool's size, " + std::to_string(range.count));
        return *slot;
    }
};

bool agrees(std::string const& question)
{
    if (::isatty(STDIN_FILENO) == 0)
        throw std::invalid_argument("no terminal to confirm on: give --yes to evict without a question");
    std::cout << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

/** The message if there is nothing to evict. */
std::optional<std::string> objection(std::string const& key, Holder const& holder, KeyState const& state)
{
    if (state.kind == KeyState::Kind::foreign && state.remaining)
        return key +
               " is held by another program, whose value is not a string (Redisson's locks are such). It frees in " +
               describe(*state.remaining) + " unless that program renews it: release it there";
    auto const left = describe(state.remaining.value_or(std::chrono::milliseconds{0}));
    switch (holder.kind) {
    case Holder::Kind::nobody:
        return key + " is free";
    case Holder::Kind::evicted:
        return key + " has been evicted by " + holder.name + " already, and frees in " + left;
    case Holder::Kind::resting:
        return key + " has no holder: it is resting, and frees in " + left;
    case Holder::Kind::kept:
        return key + " has no holder: its last holder left it to expire, and it frees in " + left;
    case Holder::Kind::foreign:
        return key + " bears no lease: it never expires. Find out whose it is, and delete it there";
    case Holder::Kind::worker:
    case Holder::Kind::other_software:
        break;
    }
    return std::nullopt;
}

asio::awaitable<int> evict(EvictSettings const& settings, Store store, KeyRangePtr range, std::uint32_t index)
{
    auto looked = co_await store.async_inspect(range, as_result);
    auto const& states = std::get<1>(looked);
    if (auto const error = std::get<0>(looked)) {
        settings.store.report().error(explain(store, error));
        co_return exit_code_for(error);
    }
    std::cout << store.describe() << '\n';
    auto const key = range->key(index);
    auto const& state = states.at(index);
    auto const holder = holder_of(state);
    if (auto const text = objection(key, holder, state)) {
        std::cout << *text << '\n';
        co_return attention;
    }
    auto description_of_holder = key + " is held by " + describe(holder);
    if (state.held_for)
        description_of_holder += " for " + describe(*state.held_for);
    std::cout << description_of_holder << '\n';
    if (!settings.yes && !agrees("take it away?"))
        co_return attention;
    auto const result = co_await store.async_evict(state, store.worker_name(), as_result);
    auto const error = std::get<0>(result);
    if (error == errc::lease_lost) {
        std::cout << key << " has another holder by now, or none: nothing was changed\n";
        co_return attention;
    }
    if (error) {
        settings.store.report().error(explain(store, error));
        co_return error == errc::key_conflict ? attention : exit_code_for(error);
    }
    std::cout << "evicted: " << key << " frees in " << describe(std::get<1>(result)) << '\n';
    co_return success;
}

} // namespace

Command add_evict_command(CLI::App& program)
{
    auto settings = std::make_shared<EvictSettings>();
    auto* const options = program.add_subcommand("evict", "take a slot or lock away from its holder");
    describe_command(*options, evict_help());
    add_store_options(*options, settings->store);
    add_target_options(*options, settings->target);
    options->add_option("--slot", settings->slot, "which slot of the pool")->type_name("I");
    options->add_flag("--yes,-y", settings->yes, "do not ask");
    auto run = [settings](Invocation const&) {
        auto const range = settings->target.range();
        auto const index = settings->index(*range);
        asio::io_context loop(1);
        return run_to_end(loop, evict(*settings, settings->store.open(loop.get_executor()), range, index));
    };
    return {options, run};
}

} // namespace tenure::tool
