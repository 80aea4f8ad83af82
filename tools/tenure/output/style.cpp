// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/style.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace tenure::tool
{

namespace
{

std::string_view parameter_of(Style style) noexcept
{
    switch (style) {
    case Style::heading:
        return "1";
    case Style::good:
        return "32";
    case Style::caution:
        return "33";
    case Style::bad:
        return "31";
    case Style::plain:
        break;
    }
    return {};
}

} // namespace

bool is_capable_terminal(int descriptor) noexcept
{
    auto const* const kind = std::getenv("TERM");
    return ::isatty(descriptor) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

std::size_t columns_of(int descriptor) noexcept
{
    ::winsize window = {};
    if (::isatty(descriptor) == 0 || ::ioctl(descriptor, TIOCGWINSZ, &window) != 0)
        return 0;
    return window.ws_col;
}

bool uses_color(int descriptor, ColorChoice choice) noexcept
{
    if (choice != ColorChoice::automatic)
        return choice == ColorChoice::always;
    auto const* const refusal = std::getenv("NO_COLOR");
    return (refusal == nullptr || *refusal == '\0') && is_capable_terminal(descriptor);
}

std::string styled(std::string_view text, Style style, bool color)
{
    auto const parameter = parameter_of(style);
    if (!color || parameter.empty())
        return std::string(text);
    return "\x1b[" + std::string(parameter) + "m" + std::string(text) + "\x1b[0m";
}

} // namespace tenure::tool
