// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/scratch_directory.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tenure::test
{

/** Skips the test if there is no tmux. */
void require_tmux();

/** A command line on a terminal of its own, as a person would see it. When the command has ended, `code=N` stands on
 * the terminal. */
class TmuxScreen : Immovable
{
public:
    TmuxScreen(std::string const& command_line, std::size_t columns, std::size_t rows);
    ~TmuxScreen();

    /** The lines on the terminal now, with all that have left it at the top. */
    [[nodiscard]] std::vector<std::string> lines() const;
    /** The same as one text in which lines that the terminal broke are whole again. */
    [[nodiscard]] std::string text() const;
    /** The same with the control sequences of colours. */
    [[nodiscard]] std::string colored_text() const;

    [[nodiscard]] bool shows(std::string const& text, std::chrono::milliseconds limit = std::chrono::seconds{15}) const;

    void resize(std::size_t columns, std::size_t rows) const;
    /** @param key  as tmux calls it, e.g. C-c */
    void press(std::string const& key) const;
    void type(std::string const& line) const;

    /** True while the normal screen is set aside. */
    [[nodiscard]] bool is_alternate() const;
    /** True if the cursor is seen and long lines are wrapped, as a shell expects. */
    [[nodiscard]] bool is_normal() const;

private:
    /** @return the output of tmux */
    [[nodiscard]] std::string tmux(std::string const& arguments) const;

    ScratchDirectory directory_;
};

} // namespace tenure::test
