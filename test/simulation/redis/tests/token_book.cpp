// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "simulation/redis/token_book.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace tenure::simulation;

namespace
{

constexpr KeyId key = 0;
constexpr OwnerId first = 11;
constexpr OwnerId second_owner = 13;
constexpr OwnerId third_owner = 15;

bool good(TokenBook const& book, OwnerId owner, std::uint64_t token)
{
    return book.against(key, owner, token).empty();
}

/** One step: the key is granted, and the token drawn before or after it. */
void grant(TokenBook& book, OwnerId owner, std::uint64_t token)
{
    book.granted(key, owner);
    book.drawn(key, token);
    book.step_ends();
}

TokenBook new_book()
{
    TokenBook book;
    book.begin();
    return book;
}

} // namespace

TEST_CASE("a token is good if it was drawn in the step of the grant, or later")
{
    auto book = new_book();
    grant(book, first, 100);
    CHECK(good(book, first, 100));
    book.drawn(key, 101);
    book.step_ends();
    CHECK(good(book, first, 101));
    CHECK_FALSE(good(book, first, 99));
    CHECK_FALSE(good(book, second_owner, 101));
}

TEST_CASE("a token that was drawn before the step of the grant is wrong")
{
    auto book = new_book();
    book.drawn(key, 100);
    book.step_ends();
    book.granted(key, first);
    book.step_ends();
    CHECK_FALSE(good(book, first, 100));
    CHECK_FALSE(good(book, first, 0));
    book.drawn(key, 101);
    book.step_ends();
    CHECK(good(book, first, 101));
}

TEST_CASE("a token that was drawn after the key had gone to the next owner is wrong for the one before")
{
    auto book = new_book();
    book.granted(key, first);
    book.step_ends();
    grant(book, second_owner, 100);
    book.drawn(key, 101);
    book.step_ends();
    CHECK_FALSE(good(book, first, 100));
    CHECK_FALSE(good(book, first, 101));
    CHECK(good(book, second_owner, 100));
}

TEST_CASE("after a loss tokens must go on to rise, unless the server's clock is behind")
{
    auto book = new_book();
    grant(book, first, 100);
    SECTION("ahead")
    {
        book.lost(key, 100);
        grant(book, second_owner, 1);
        CHECK_FALSE(good(book, second_owner, 1));
    }
    SECTION("behind")
    {
        book.lost(key, 99);
        grant(book, second_owner, 1);
        CHECK(good(book, second_owner, 1));
        CHECK(good(book, first, 100));
    }
    SECTION("behind only after a jump")
    {
        book.lost(key, 100);
        book.clock_jumped(50);
        grant(book, second_owner, 50);
        CHECK(good(book, second_owner, 50));
    }
    SECTION("a jump after the counter was drawn from again excuses nothing")
    {
        book.lost(key, 100);
        grant(book, second_owner, 101);
        book.clock_jumped(50);
        grant(book, third_owner, 60);
        CHECK_FALSE(good(book, third_owner, 60));
    }
    SECTION("the present owner draws again, behind")
    {
        book.lost(key, 99);
        book.drawn(key, 98);
        book.step_ends();
        CHECK(good(book, first, 98));
    }
}
