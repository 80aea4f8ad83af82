// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/owner_mark.hpp"

#include <charconv>
#include <cstddef>

namespace tenure::test
{

std::uint64_t owner_mark(std::string_view value) noexcept
{
    constexpr std::size_t digits = 32;
    auto const slash = value.rfind('/');
    if (slash == std::string_view::npos)
        return 0;
    auto const random = value.substr(slash + 1);
    if (random.size() != digits || random.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return 0;
    std::uint64_t mark = 0;
    std::from_chars(random.data(), random.data() + digits / 2, mark, 16);
    return mark;
}

} // namespace tenure::test
