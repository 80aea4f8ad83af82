// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/command_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace tenure::tool
{

namespace
{

constexpr std::string_view fencing_token = "TENURE_FENCING_TOKEN";

void add_token(std::vector<std::string>& environment, std::string const& name, Lease const& lease)
{
    if (lease.fencing_token() != 0)
        environment.push_back(name + "=" + std::to_string(lease.fencing_token()));
}

} // namespace

bool tells_what_is_held(std::string_view line)
{
    static constexpr std::array names = {
        std::string_view("TENURE_ELECTION"), std::string_view("TENURE_KEY"), std::string_view("TENURE_KEYS"),
        std::string_view("TENURE_SLOT"), fencing_token};
    auto const name = line.substr(0, line.find('='));
    auto const numbered = name.starts_with(fencing_token) ? name.substr(fencing_token.size()) : std::string_view();
    return std::ranges::find(names, name) != names.end() || numbered.starts_with('_');
}

std::vector<std::string> environment_for(HeldKeys const& held)
{
    std::vector<std::string> result;
    for (auto const* const* line = environ; *line != nullptr; ++line)
        if (!tells_what_is_held(*line))
            result.emplace_back(*line);
    result.push_back("TENURE_KEY=" + held[0].key());
    if (held.slot())
        result.push_back("TENURE_SLOT=" + std::to_string(*held.slot()));
    if (held.size() == 1) {
        add_token(result, std::string(fencing_token), held[0]);
        return result;
    }
    // a token guards one key: none stands for all of them
    std::string keys;
    for (std::size_t index = 0; index < held.size(); ++index) {
        // no key has a line break
        keys += (index == 0 ? "" : "\n") + held[index].key();
        add_token(result, std::string(fencing_token) + "_" + std::to_string(index + 1), held[index]);
    }
    result.push_back("TENURE_KEYS=" + keys);
    return result;
}

} // namespace tenure::tool
