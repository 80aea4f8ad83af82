// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/share_options.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <stdexcept>
#include <vector>

namespace tenure::tool
{

namespace
{

struct Flag {
    ShareSettings::Kind kind;
    char const* name;
    char const* text;
};

constexpr std::array flags = {
    Flag{
        ShareSettings::Kind::fair, "--fair",
        "a lock that is granted strictly in the order in which processes began to wait"},
    Flag{
        ShareSettings::Kind::shared, "--shared",
        "a read-write lock, held together with others that name it by --shared, as flock -s"},
    Flag{ShareSettings::Kind::exclusive, "--exclusive", "a read-write lock, held by this run alone, as flock -x"},
    Flag{ShareSettings::Kind::semaphore, "--semaphore", "permits of a semaphore; --permits says how many there are"}};

} // namespace

void ShareSettings::check() const
{
    if (kind == Kind::semaphore && permits == 0)
        throw std::invalid_argument(
            "--semaphore: say by --permits N how many permits there are, in every program alike");
    if (kind != Kind::semaphore && (permits != 0 || take != 1))
        throw std::invalid_argument("--permits and --take are for --semaphore NAME");
    if (kind == Kind::semaphore && take > permits)
        throw std::invalid_argument(
            "--take is " + std::to_string(take) + ": at most the " + std::to_string(permits) + " of --permits");
}

void add_share_options(CLI::App& command, ShareSettings& settings, TargetSettings& target)
{
    std::vector<CLI::Option*> names = {
        command.get_option("--lock"), command.get_option("--pool"), command.get_option("--size")};
    for (auto const& flag : flags) {
        auto const take = [&settings, &target, flag](std::string const& name) {
            check_key(flag.name, name);
            settings.kind = flag.kind;
            target.locks = {name};
        };
        auto* const option = command.add_option_function<std::string>(flag.name, take, flag.text)->type_name("NAME");
        for (auto* const other : names)
            option->excludes(other);
        names.push_back(option);
    }
    auto const count = CLI::Range(std::uint32_t{1}, std::uint32_t{1'000'000});
    command.add_option("--permits", settings.permits, "how many permits the semaphore has, 1 to 1000000")
        ->type_name("N")
        ->check(count);
    command.add_option("--take", settings.take, "how many permits the command takes, all or none (default: 1)")
        ->type_name("N")
        ->check(count);
}

} // namespace tenure::tool
