// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/options.hpp"

#include "harness/options.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace tenure::fleet
{

namespace
{

constexpr double least_scale = 0.001;
constexpr double greatest_scale = 100;

template <class Things>
void check_name(std::string_view option, std::string const& name, Things const& things)
{
    std::string known;
    for (auto const& thing : things) {
        if (name.empty() || thing.name == name)
            return;
        known.append(known.empty() ? "" : ", ").append(thing.name);
    }
    throw std::invalid_argument(std::string{option} + " " + name + ": there are " + known);
}

} // namespace

Options read_options(int count, char const* const* arguments)
{
    Options options;
    if (char const* const scale = std::getenv("TENURE_FLEET_SCALE"))
        options.size.scale = test::number_in("TENURE_FLEET_SCALE", scale, least_scale, greatest_scale);
    test::OptionReader reader(count, arguments);
    while (reader.next()) {
        if (reader.is("--store"))
            options.store = reader.value();
        else if (reader.is("--case"))
            options.name = reader.value();
        else if (reader.is("--label"))
            options.label = reader.value();
        else if (reader.is("--scale"))
            options.size.scale = reader.number(least_scale, greatest_scale);
        else if (reader.is("--help") || reader.is("-h"))
            options.help = true;
        else
            reader.refuse();
    }
    check_name("--store", options.store, store_kinds());
    check_name("--case", options.name, cases());
    return options;
}

std::string usage()
{
    std::string text = "tenure_fleet [--store STORE] [--case CASE] [--scale FACTOR] [--label NAME]\n"
                       "One process with as many leases and waiters as a fleet has, on real servers of its own "
                       "(docs/contributors/testing.md).\n"
                       "  --store STORE   one kind of store; without it all in turn:";
    for (auto const& kind : store_kinds())
        text.append(" ").append(kind.name);
    text += "\n  --case CASE     one case; without it all in turn:\n";
    for (auto const& each : cases())
        text.append("                    ").append(each.name).append(": ").append(each.title).append("\n");
    text += "  --scale FACTOR  multiplies the numbers of leases and waiters; default 1, or TENURE_FLEET_SCALE\n"
            "  --label NAME    what the table calls the store\n"
            "TENURE_REDIS_SERVER names another server program for Redis. Exit status: 0 if all rows passed, 1 if not, "
            "2 for a\nwrong option, 3 if a case could not be run, 4 if the store's servers are not installed.\n";
    return text;
}

} // namespace tenure::fleet
