// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "status/status_screen.hpp"

#include "output/style.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "output/time_text.hpp"

#include <iostream>
#include <iterator>
#include <utility>

namespace tenure::tool
{

namespace
{

/// the server's text is untrusted
constexpr std::size_t longest_trouble = 2'000;

} // namespace

std::vector<std::string>
status_picture(SlotListing const& listing, std::vector<std::string> const& trouble, TableLook look)
{
    auto lines = table_lines(listing, look);
    auto const time = "as of " + local_time(listing.taken_at);
    auto const below = lines.begin() + std::ssize(summary_lines(listing, look.width));
    auto const at =
        lines.insert(below, trouble.empty() ? time + ", again each second until ^C" : time + ", not newer:");
    lines.insert(at + 1, trouble.begin(), trouble.end());
    return lines;
}

StatusScreen::StatusScreen(boost::asio::any_io_executor const& executor, TableLook look)
    : look_(look)
{
    screen_.emplace(executor, [this] { draw(); });
}

StatusScreen::~StatusScreen()
{
    auto look_now = look_;
    look_now.width = screen_->size().columns;
    screen_.reset();
    if (listing_)
        std::cout << as_table(*listing_, look_now);
    if (!trouble_.empty())
        std::cout << styled(trouble_, Style::bad, look_.color) << '\n';
    std::cout << std::flush;
}

void StatusScreen::show(SlotListing listing)
{
    listing_ = std::move(listing);
    trouble_.clear();
    draw();
}

void StatusScreen::trouble(std::string const& text)
{
    trouble_ = printable(text, longest_trouble);
    draw();
}

void StatusScreen::draw() const
{
    auto look_now = look_;
    look_now.width = screen_->size().columns;
    if (listing_)
        screen_->show(status_picture(*listing_, trouble_lines(), look_now));
    else
        screen_->show(trouble_lines());
}

std::vector<std::string> StatusScreen::trouble_lines() const
{
    if (trouble_.empty())
        return {};
    auto lines = wrapped(trouble_, screen_->size().columns);
    for (auto& line : lines)
        line = styled(line, Style::bad, look_.color);
    return lines;
}

} // namespace tenure::tool
