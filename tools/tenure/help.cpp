// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <sstream>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::size_t option_width = 34;
constexpr std::size_t text_width = 78;

/** Broken into lines; CLI11 indents them. */
std::string wrapped(std::string const& text, std::size_t width)
{
    std::string result;
    std::size_t line = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (line != 0 && line + 1 + word.size() > width) {
            result += '\n';
            line = 0;
        }
        result += (line != 0 ? " " : "") + word;
        line += (line != 0 ? 1 : 0) + word.size();
    }
    return result;
}

/** CLI11's own usage line would not show which options belong together, nor the command after `--`. */
class HelpFormatter : public CLI::Formatter
{
public:
    HelpFormatter(std::string usage, std::string text)
        : usage_(std::move(usage))
        , text_(std::move(text))
    {
        column_width(option_width);
    }

    std::string make_option_desc(CLI::Option const* option) const override
    {
        return wrapped(CLI::Formatter::make_option_desc(option), text_width);
    }

    std::string make_usage(CLI::App const*, std::string) const override { return "Usage: " + usage_ + "\n"; }
    std::string make_description(CLI::App const*) const override { return text_ + "\n"; }

private:
    std::string usage_;
    std::string text_;
};

} // namespace

void describe_command(CLI::App& command, CommandHelp const& help)
{
    command.formatter(std::make_shared<HelpFormatter>(help.usage, help.text));
    command.footer(help.footer);
}

} // namespace tenure::tool
