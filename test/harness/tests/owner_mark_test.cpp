// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/owner_mark.hpp"

#include <catch2/catch_test_macros.hpp>

using tenure::test::owner_mark;

TEST_CASE("an owner's mark is the first half of its random part", "[harness]")
{
    CHECK(owner_mark("host:12/1764000000/0123456789abcdef76543210fedcba98") == 0x0123456789abcdef);
    CHECK(owner_mark("host:12/call 555/0123/1764000000/ffffffffffffffff0000000000000000") == 0xffffffffffffffff);
    // the format of version 1
    CHECK(owner_mark("host:12/0123456789abcdef76543210fedcba98") == 0x0123456789abcdef);
}

TEST_CASE("a value that is not an owner has no mark", "[harness]")
{
    for (auto const* const value :
         {"", "stranger", "/", "evicted/operator", "0123456789abcdef76543210fedcba98",
          "host:12/1764000000/0123456789abcdef76543210fedcba9", "host:12/1764000000/0123456789ABCDEF76543210FEDCBA98",
          "host:12/1764000000/0123456789abcdef76543210fedcba980"}) {
        CAPTURE(value);
        CHECK(owner_mark(value) == 0);
    }
}
