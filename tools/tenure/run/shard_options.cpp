// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/shard_options.hpp"

#include "command_line/settings.hpp"

#include <CLI/CLI.hpp>

#include <stdexcept>

namespace tenure::tool
{

void ShardSettings::check() const
{
    if (named() && count == 0)
        throw std::invalid_argument("--shards: say by --count N how many shards there are, in every program alike");
    if (!named() && count != 0)
        throw std::invalid_argument("--count is for --shards NAME");
}

std::vector<KeyRangePtr> ShardSettings::ranges() const
{
    check();
    check_key("--shards", name);
    return {numbered_keys(name + ":member:", max_members), numbered_keys(name + ":shard:", count)};
}

void add_shard_options(CLI::App& command, ShardSettings& settings, std::vector<std::string> const& others)
{
    auto* const name = command.add_option(
        "--shards", settings.name,
        "shards that all programs with this name share out among themselves: the keys NAME:member:I and NAME:shard:I");
    name->type_name("NAME");
    for (auto const& other : others)
        name->excludes(command.get_option(other));
    command.add_option("--count", settings.count, "how many shards there are, 1 to 65536, in every program alike")
        ->type_name("N")
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{65'536}));
    command
        .add_option(
            "--max-members", settings.max_members,
            "how many programs there may be, each counted with its weight, in every program alike (default: 256)")
        ->type_name("N")
        ->needs(name)
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{4'096}));
}

void add_member_options(CLI::App& command, ShardSettings& settings)
{
    auto* const name = command.get_option("--shards");
    command
        .add_option(
            "--weight", settings.weight,
            "with 2 this program owns twice as many shards as one with 1; 1 to 16 (default: 1)")
        ->type_name("N")
        ->needs(name)
        ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{16}));
    add_duration(
        command, "--drain", settings.drain,
        "how long a command may take to end after SIGTERM when its shard is given up (default: 5s)");
    add_duration(
        command, "--rebalance-pause", settings.rebalance_pause,
        "how long the shards of a program that has gone stay free for its successor; longer than a restart takes "
        "(default: 0s)");
    for (auto const* const option : {"--drain", "--rebalance-pause"})
        command.get_option(option)->needs(name);
}

} // namespace tenure::tool
