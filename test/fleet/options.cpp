// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/options.hpp"

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tenure::fleet
{

namespace
{

double read_scale(std::string_view from, std::string_view text)
{
    double value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0.001 || value > 100)
        throw std::invalid_argument(
            std::string{from} + " " + std::string{text} + ": a number from 0.001 to 100 is needed");
    return value;
}

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
        options.size.scale = read_scale("TENURE_FLEET_SCALE", scale);
    for (int i = 1; i < count; ++i) {
        std::string_view const option = arguments[i];
        auto const value = [&]() -> std::string_view {
            if (++i == count)
                throw std::invalid_argument(std::string{option} + " needs a value");
            return arguments[i];
        };
        if (option == "--store")
            options.store = value();
        else if (option == "--case")
            options.name = value();
        else if (option == "--label")
            options.label = value();
        else if (option == "--scale")
            options.size.scale = read_scale(option, value());
        else if (option == "--help" || option == "-h")
            options.help = true;
        else
            throw std::invalid_argument("unknown option " + std::string{option});
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
