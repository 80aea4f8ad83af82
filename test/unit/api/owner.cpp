// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "engine/owner_text.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenure::test
{

namespace
{

constexpr std::chrono::sys_seconds claimed{std::chrono::seconds{1'764'000'000}};

std::string made(std::string const& worker, std::string const& note)
{
    OwnerDigits digits{};
    std::ranges::copy(
        std::array{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10} |
            std::views::transform([](int digit) { return static_cast<std::byte>(digit); }),
        digits.begin());
    return make_owner(owner_prefix(worker, note), claimed, digits);
}

} // namespace

TEST_CASE("an owner names worker, note and second, and ends with 128 random bits")
{
    CHECK(made("host:12", "") == "host:12/1764000000/0123456789abcdeffedcba9876543210");
    CHECK(made("host:12", "a b/c") == "host:12/a b/c/1764000000/0123456789abcdeffedcba9876543210");
    CHECK(
        make_owner("w/", std::chrono::sys_seconds{std::chrono::seconds{-5}}, OwnerDigits{}) ==
        "w/0/00000000000000000000000000000000");
    CHECK(
        make_owner("w/", std::chrono::sys_seconds::max(), OwnerDigits{}) ==
        "w/999999999999/00000000000000000000000000000000");
}

TEST_CASE("the text of an owner can be read with any note")
{
    for (std::string const note : {"", "on call: 555-0123", "https://10.0.0.7:8080/", "/", "//", "1764", "7/8"}) {
        auto const text = read_owner(made("host:12", note));
        REQUIRE(text);
        CHECK(text->worker == "host:12");
        CHECK(text->note == note);
        CHECK(text->claimed_at == claimed);
    }
}

TEST_CASE("an owner of an earlier version is read without its second, and another program's value is not read")
{
    std::string const random = "0123456789abcdef0123456789abcdef";
    auto const text = read_owner("host:12/" + random);
    REQUIRE(text);
    CHECK(text->worker == "host:12");
    CHECK(text->note.empty());
    CHECK_FALSE(text->claimed_at);

    std::vector<std::string> const others{
        "",
        "/",
        "/" + random,
        random,
        "host:12/" + random.substr(1),
        "host:12/" + random + "0",
        "host:12/0123456789abcdef0123456789abcdeX",
        "evicted/me",
        "host/note/" + random,
        "host/note/12x/" + random,
        "host/note//" + random,
        "/5/" + random,
        "//5/" + random,
        "host/1764000000000/" + random,
        "de305d54-75b4-431b-adb2-eb6b9e546014"};
    for (auto const& other : others)
        CHECK_FALSE(read_owner(other));
}

TEST_CASE("a note is printable ASCII of at most 128 bytes")
{
    CHECK_NOTHROW(check_note("X::note", std::string(128, '~')));
    CHECK_NOTHROW(check_note("X::note", ""));
    CHECK_THROWS_AS(check_note("X::note", std::string(129, 'a')), std::invalid_argument);
    for (std::string const bad : {"a\nb", "tab\t", "\x7f", "\xc3\xa9", "\x1b[2J"})
        CHECK_THROWS_AS(check_note("X::note", bad), std::invalid_argument);
}

} // namespace tenure::test
