// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** Rows under headings, in columns as wide as they need to be. */
class Table
{
public:
    explicit Table(std::vector<std::string> headings);

    /** @param cells  as many as there are headings */
    void add(std::vector<std::string> cells);

    /** Ends with a line break. */
    [[nodiscard]] std::string text() const;

private:
    /// the headings first
    std::vector<std::vector<std::string>> rows_;
};

/** What came from a store, made safe for a terminal: everything but printable ASCII becomes '?', and what is too long
 * is cut. */
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 128);

} // namespace tenure::tool
