// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "demo/view.hpp"
#include "output/style.hpp"
#include "output/table.hpp"
#include "output/text_layout.hpp"
#include "status/status_screen.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using Lines = std::vector<std::string>;

namespace
{

Lines rows_of(std::string const& name, std::size_t count)
{
    Lines lines = {name};
    for (std::size_t row = 1; row < count; ++row)
        lines.push_back(name + " row " + std::to_string(row));
    return lines;
}

DemoPicture picture_of(std::size_t slots, std::size_t workers, std::size_t events)
{
    DemoPicture picture;
    picture.title = "title";
    picture.slots = rows_of("SLOT", slots + 1);
    picture.workers = rows_of("WORKER", workers + 1);
    for (std::size_t event = 1; event <= events; ++event)
        picture.events.push_back(" 1.0 s  event " + std::to_string(event));
    return picture;
}

bool has(Lines const& lines, std::string const& part)
{
    return std::ranges::any_of(lines, [&](auto const& line) { return line.find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("text is broken between its words", "[tool]")
{
    CHECK(wrapped("a bb  ccc\ndd", 4) == Lines{"a bb", "ccc", "dd"});
    CHECK(wrapped("longer-than-the-width a", 4) == Lines{"longer-than-the-width", "a"});
    CHECK(wrapped("", 4) == Lines{""});
}

TEST_CASE("colours take no columns, and end where a line is cut", "[tool]")
{
    auto const red = styled("error", Style::bad, true);
    CHECK(visible_width(red) == 5);
    CHECK(cropped(red + " text", 10) == red + " text");
    CHECK(cropped("x" + red, 3) == "x\x1b[31mer\x1b[0m");
    CHECK(cropped("plain text", 5) == "plain");
    CHECK(styled("error", Style::bad, false) == "error");

    Table table({"A", "B"}, true);
    table.add({{"x", Style::good}, {"y"}});
    CHECK(table.text() == "\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m\n\x1b[32mx\x1b[0m  y\n");
}

TEST_CASE("rows that do not fit are counted", "[tool]")
{
    CHECK(fitted(rows_of("A", 5), 5).back() == "A row 4");
    CHECK(fitted(rows_of("A", 5), 3) == Lines{"A", "A row 1", "... 3 more"});
    CHECK(fitted(rows_of("A", 5), 0).empty());
}

TEST_CASE("blocks side by side keep their columns", "[tool]")
{
    CHECK(beside({"ab", "c"}, {"x", "y", "z"}, 2) == Lines{"ab  x", "c   y", "    z"});
}

TEST_CASE("a picture of the demo never has more rows than its screen, nor a line that is too long", "[tool]")
{
    auto const size = GENERATE(
        ScreenSize{1, 80}, ScreenSize{3, 10}, ScreenSize{5, 40}, ScreenSize{10, 80}, ScreenSize{24, 80},
        ScreenSize{30, 100}, ScreenSize{50, 200});
    for (std::size_t const slots : {1U, 3U, 32U})
        for (std::size_t const workers : {2U, 5U, 32U})
            for (std::size_t const events : {0U, 1U, 40U}) {
                auto const lines = arranged(picture_of(slots, workers, events), size);
                INFO(size.rows << " rows, " << slots << " slots, " << workers << " workers, " << events << " events");
                CHECK(lines.size() <= size.rows);
                if (size.rows > 1)
                    CHECK(lines.front() == "title");
            }
}

TEST_CASE("a picture that fits leaves nothing out", "[tool]")
{
    auto const narrow = arranged(picture_of(3, 5, 8), {24, 29});
    CHECK(has(narrow, "SLOT row 3"));
    CHECK(has(narrow, "WORKER row 5"));
    CHECK(has(narrow, "event 1"));
    CHECK_FALSE(has(narrow, "more"));
    auto const wide = arranged(picture_of(32, 32, 10), {50, 200});
    CHECK(has(wide, "SLOT row 32"));
    CHECK(has(wide, "WORKER row 32"));
    CHECK(has(wide, "event 1"));
    CHECK(std::ranges::count(wide, "SLOT             WORKER") == 1);
}

TEST_CASE("on a low screen old events go before rows of tables, and the newest stay", "[tool]")
{
    auto const lines = arranged(picture_of(3, 5, 30), {20, 29});
    CHECK(has(lines, "WORKER row 5"));
    CHECK(has(lines, "event 30"));
    CHECK(std::ranges::count(lines, " 1.0 s  event 1") == 0);
    CHECK_FALSE(has(lines, " more"));
    auto const low = arranged(picture_of(10, 20, 30), {20, 29});
    CHECK(has(low, "event 30"));
    CHECK(has(low, "SLOT row 1"));
    CHECK(has(low, "WORKER row 1"));
    CHECK(std::ranges::count_if(low, [](auto const& line) { return line.ends_with(" more"); }) == 2);
}

TEST_CASE("a watched listing says when it was taken, and what keeps it from being newer", "[tool]")
{
    SlotListing listing;
    listing.store = "redis://host:6379/0";
    listing.ranges = {tenure::numbered_keys("job:", 2)};
    listing.states.resize(2);
    listing.states[1].index = 1;
    auto const well = status_picture(listing, {}, {});
    REQUIRE(well.size() == 5);
    CHECK(well[0] == "job:0..1 on redis://host:6379/0: 0 of 2 held");
    CHECK(well[1].starts_with("as of "));
    CHECK(well[1].ends_with(", again each second until ^C"));
    auto const ill = status_picture(listing, {"no answer:", "check that it runs"}, {});
    REQUIRE(ill.size() == 7);
    CHECK(ill[1].ends_with(", not newer:"));
    CHECK(ill[3] == "check that it runs");
}
