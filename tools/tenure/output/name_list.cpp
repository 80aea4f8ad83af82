// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/name_list.hpp"

#include <algorithm>

namespace tenure::tool
{

std::string listed(std::vector<std::string> const& items)
{
    std::string text;
    for (std::size_t index = 0; index < std::min(items.size(), most_named); ++index)
        text += (index == 0 ? "" : ", ") + items[index];
    if (items.size() > most_named)
        text += ", ... " + std::to_string(items.size() - most_named) + " more";
    return text;
}

} // namespace tenure::tool
