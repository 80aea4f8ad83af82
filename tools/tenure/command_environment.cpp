// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_environment.hpp"

#include <unistd.h>

#include <string_view>

namespace tenure::tool
{

std::vector<std::string> environment_for(Lease const& lease, std::optional<std::uint32_t> slot)
{
    std::vector<std::string> result;
    for (auto const* const* line = environ; *line != nullptr; ++line) {
        auto const text = std::string_view(*line);
        // a run inside a run: what the outer one holds is not what this command holds
        if (!text.starts_with("TENURE_SLOT=") && !text.starts_with("TENURE_KEY=") &&
            !text.starts_with("TENURE_FENCING_TOKEN="))
            result.emplace_back(text);
    }
    result.push_back("TENURE_KEY=" + lease.key());
    if (slot)
        result.push_back("TENURE_SLOT=" + std::to_string(*slot));
    if (lease.fencing_token() != 0)
        result.push_back("TENURE_FENCING_TOKEN=" + std::to_string(lease.fencing_token()));
    return result;
}

} // namespace tenure::tool
