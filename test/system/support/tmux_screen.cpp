// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "tmux_screen.hpp"

#include "harness/child_process.hpp"
#include "harness/eventually.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

namespace tenure::test
{

void require_tmux()
{
    if (find_program("tmux").empty())
        SKIP("no tmux in PATH");
}

TmuxScreen::TmuxScreen(std::string const& command_line, std::size_t columns, std::size_t rows)
{
    // In a file, so that no words need quoting. The keys that end the command are not meant for the script. The sleep
    // ends the server in any case.
    std::ofstream(directory_.file("script")) << "trap : INT QUIT\n"
                                             << command_line << "\necho code=$?\nexec sleep 120\n";
    static_cast<void>(tmux(
        "-f /dev/null new-session -d -x " + std::to_string(columns) + " -y " + std::to_string(rows) + " sh " +
        directory_.file("script")));
}

TmuxScreen::~TmuxScreen()
{
    static_cast<void>(tmux("kill-server"));
}

std::vector<std::string> TmuxScreen::lines() const
{
    std::vector<std::string> result;
    std::istringstream stream(tmux("capture-pane -p -S -"));
    for (std::string line; std::getline(stream, line);)
        result.push_back(line);
    return result;
}

std::string TmuxScreen::text() const
{
    return tmux("capture-pane -p -J -S -");
}

std::string TmuxScreen::colored_text() const
{
    return tmux("capture-pane -p -e -S -");
}

bool TmuxScreen::shows(std::string const& text, std::chrono::milliseconds limit) const
{
    std::string seen;
    bool const found = eventually(
        [&] {
            seen = this->text();
            return seen.find(text) != std::string::npos;
        },
        limit, std::chrono::milliseconds{50});
    if (!found)
        UNSCOPED_INFO("the terminal shows:\n" << seen);
    return found;
}

void TmuxScreen::resize(std::size_t columns, std::size_t rows) const
{
    static_cast<void>(tmux("resize-window -x " + std::to_string(columns) + " -y " + std::to_string(rows)));
}

void TmuxScreen::press(std::string const& key) const
{
    static_cast<void>(tmux("send-keys " + key));
}

void TmuxScreen::type(std::string const& line) const
{
    static_cast<void>(tmux("send-keys -l '" + line + "'"));
    press("Enter");
}

bool TmuxScreen::is_alternate() const
{
    return tmux("display-message -p '#{alternate_on}'") == "1\n";
}

bool TmuxScreen::is_normal() const
{
    return tmux("display-message -p '#{alternate_on}#{cursor_flag}#{wrap_flag}'") == "011\n";
}

std::string TmuxScreen::tmux(std::string const& arguments) const
{
    auto const command = "tmux -S " + directory_.file("socket") + " " + arguments + " 2>&1";
    auto const pipe = std::unique_ptr<FILE, int (*)(FILE*)>(::popen(command.c_str(), "r"), ::pclose);
    std::string output;
    std::array<char, 4096> buffer{};
    while (auto const size = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
        output.append(buffer.data(), size);
    return output;
}

} // namespace tenure::test
