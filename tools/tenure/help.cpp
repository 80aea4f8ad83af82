// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <utility>

namespace tenure::tool
{

namespace
{

/** CLI11's own usage line would not show which options belong together, nor the command after `--`. */
class HelpFormatter : public CLI::Formatter
{
public:
    HelpFormatter(std::string usage, std::string text)
        : usage_(std::move(usage))
        , text_(std::move(text))
    {
        column_width(34);
    }

    std::string make_usage(CLI::App const*, std::string) const override { return "Usage: " + usage_ + "\n"; }
    std::string make_description(CLI::App const*) const override { return text_ + "\n"; }

private:
    std::string usage_;
    std::string text_;
};

} // namespace

void describe_command(CLI::App& command, std::string usage, std::string text, std::string footer)
{
    command.formatter(std::make_shared<HelpFormatter>(std::move(usage), std::move(text)));
    command.footer(std::move(footer));
}

} // namespace tenure::tool
