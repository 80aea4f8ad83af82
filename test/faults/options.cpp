// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "options.hpp"

#include "harness/options.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

namespace tenure::faults
{

namespace
{

/// slots, and locks: stores are asked for all of them in one step (etcd allows 128 operations in a transaction)
constexpr std::uint32_t most_keys = 50;

} // namespace

/** The kinds of shares by their name on the command line. */
std::string kinds_of(std::string_view name)
{
    static constexpr std::pair<std::string_view, char const*> all[] = {
        {"all", "frs"}, {"fair", "f"}, {"read-write", "r"}, {"semaphore", "s"}};
    for (auto const& [known, kinds] : all)
        if (name == known)
            return kinds;
    throw std::invalid_argument("--shares " + std::string{name} + ": all, fair, read-write or semaphore is needed");
}

Options read_options(int count, char const* const* arguments)
{
    Options options;
    test::OptionReader reader(count, arguments);
    while (reader.next()) {
        if (reader.is("--minutes"))
            options.time = std::chrono::milliseconds{static_cast<std::int64_t>(reader.number(0.1, 10'000.0) * 60'000)};
        else if (reader.is("--store"))
            options.store = reader.value();
        else if (reader.is("--seed"))
            options.seed = reader.number<std::uint64_t>(0, 1'000'000'000);
        else if (reader.is("--mutant"))
            options.mutant = reader.value();
        else if (reader.is("--workers"))
            options.workers = reader.number<std::size_t>(2, 100);
        else if (reader.is("--slots"))
            options.slots = reader.number<std::uint32_t>(1, most_keys);
        else if (reader.is("--locks"))
            options.locks = reader.number<std::uint32_t>(0, most_keys);
        else if (reader.is("--shares")) {
            options.kinds = kinds_of(reader.value());
            options.slots = 0;
            options.workers = 8;
        } else if (reader.is("--calm"))
            options.calm = true;
        else if (reader.is("--only"))
            options.only = reader.value();
        else if (reader.is("--expect-violation"))
            options.expect_violation = true;
        else if (reader.is("--help") || reader.is("-h"))
            options.help = true;
        else
            reader.refuse();
    }
    if (options.calm && options.kinds.empty())
        throw std::invalid_argument("--calm needs --shares");
    if (!options.kinds.empty() && (options.slots != 0 || options.locks == 0))
        throw std::invalid_argument("--shares needs locks, and no slots");
    return options;
}

char const* usage() noexcept
{
    return "tenure_faults [--minutes N] [--store SCHEME] [--seed S] [--mutant NAME] [--workers N] "
           "[--slots N] [--locks N] [--shares KIND] [--calm] [--only TEXT] [--expect-violation]\n"
           "Real servers and worker processes under one fault after the other (docs/contributors/testing.md).\n"
           "  --minutes N         how long faults are made, default 2.5\n"
           "  --store SCHEME      what is attacked, see below; default redis\n"
           "  --seed S            decides which faults come and when, default 1\n"
           "  --mutant NAME       workers run with this bug planted (test/mutants)\n"
           "  --workers N         how many worker processes, default 10\n"
           "  --slots N           size of the pool that they share, 1 to 50, default 5\n"
           "  --locks N           how many locks they contend for besides, 0 to 50, default 3\n"
           "  --shares KIND       the locks are held in shares: fair, read-write, semaphore, or all in turn; no pool,\n"
           "                      8 workers\n"
           "  --calm              no faults; only with --shares\n"
           "  --only TEXT         only faults whose names contain this\n"
           "  --expect-violation  stop at the first violation, and fail without one\n"
           "Exit status: 0 without violations, 1 with, 2 for a wrong option, 4 if the store's servers are not "
           "installed.\n";
}

} // namespace tenure::faults
