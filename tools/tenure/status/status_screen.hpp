// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/live_screen.hpp"
#include "status/slot_listing.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The lines of one picture of `tenure status --watch`.
 *  @param trouble  why the listing is not newer, broken into lines; empty while all is well */
[[nodiscard]] std::vector<std::string>
status_picture(SlotListing const& listing, std::vector<std::string> const& trouble, TableLook look);

/** The screen of `tenure status --watch` on a terminal. The destructor leaves the last listing on the normal screen. */
class StatusScreen
{
public:
    StatusScreen(boost::asio::any_io_executor const& executor, TableLook look);
    StatusScreen(StatusScreen const&) = delete;
    StatusScreen& operator=(StatusScreen const&) = delete;
    ~StatusScreen();

    void show(SlotListing listing);
    /** Shows an error or a message of the store until the next listing. */
    void trouble(std::string const& text);

private:
    void draw() const;
    /** The trouble in lines that the screen has room for. */
    [[nodiscard]] std::vector<std::string> trouble_lines() const;

    /// without the width, which follows the terminal
    TableLook look_;
    std::optional<SlotListing> listing_;
    std::string trouble_;
    std::optional<LiveScreen> screen_;
};

} // namespace tenure::tool
