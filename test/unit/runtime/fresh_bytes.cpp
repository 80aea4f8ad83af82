// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/fresh_bytes.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

using Owner = std::array<std::byte, 16>;

struct Drawing {
    Owner draw()
    {
        Owner owner;
        bytes.draw(owner, now, [this](std::span<std::byte> asked) {
            fetched.push_back(asked.size());
            for (auto& byte : asked)
                byte = static_cast<std::byte>(++number);
        });
        return owner;
    }

    FreshBytes bytes;
    Instant now{1h};
    std::vector<std::size_t> fetched;
    unsigned char number = 0;
};

} // namespace

TEST_CASE("bytes that are drawn alone are fetched for this draw, and none are kept")
{
    Drawing test;
    for (int i = 0; i < 5; ++i) {
        (void)test.draw();
        test.now += FreshBytes::lifetime;
    }
    CHECK(test.fetched == std::vector<std::size_t>(5, 16));
}

TEST_CASE("draws that follow each other closely share fetches, which grow to a limit")
{
    Drawing test;
    for (int i = 0; i < 40; ++i) {
        (void)test.draw();
        test.now += 1us;
    }
    CHECK(test.fetched == std::vector<std::size_t>{16, 32, 64, 128, 256, 512});
}

TEST_CASE("no byte is handed out twice, or after its lifetime")
{
    Drawing test;
    std::set<std::byte> seen;
    std::size_t handed_out = 0;
    for (int i = 0; i < 5; ++i) {
        for (auto const byte : test.draw())
            seen.insert(byte);
        handed_out += 16;
        test.now += 1us;
    }
    CHECK(seen.size() == handed_out);
    auto const last = test.number;
    test.now += FreshBytes::lifetime;
    for (auto const byte : test.draw())
        CHECK(byte > static_cast<std::byte>(last));
    CHECK(test.fetched.back() == 16);
}

TEST_CASE("a draw beyond the limit is fetched as a whole")
{
    FreshBytes bytes;
    std::vector<std::byte> many(1000);
    std::vector<std::size_t> fetched;
    for (int i = 0; i < 2; ++i)
        bytes.draw(many, Instant{1h}, [&](std::span<std::byte> asked) { fetched.push_back(asked.size()); });
    CHECK(fetched == std::vector<std::size_t>{1000, 1000});
}

} // namespace tenure::test
