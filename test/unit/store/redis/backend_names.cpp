// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/claim/range_cache.hpp"
#include "store/redis/key_names.hpp"
#include "store/redis/scripts/scripts.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace tenure;
using namespace tenure::redis;

TEST_CASE("fence keys and channels share the hash slot of their key", "[redis][names]")
{
    CHECK(fence_key("job") == "{job}:fence");
    CHECK(fence_key("{jobs}:nightly") == "{jobs}:nightly:fence");
    CHECK(fence_key("a{}b") == "{a{}b}:fence");
    CHECK(channel_of(*named_key("job")) == "{job}:free");
    for (auto const& range : {named_key("job"), numbered_keys("{ids}:", 4)}) {
        CHECK(channel_of(*range) == stem_of(*range) + ":free");
        CHECK(line_of(*range) == stem_of(*range) + ":waiting");
        CHECK(watched_key_of(*range) == stem_of(*range) + ":watched");
    }
    CHECK(channel_of(*named_key("{jobs}:nightly")) == "{jobs}:nightly:free");
    CHECK(channel_of(*numbered_keys("thread_id_lock:", 4)) == "{thread_id_lock:}:free");
    CHECK(channel_of(*numbered_keys("{ids}:", 4)) == "{ids}::free");
}

TEST_CASE("scripts are named by the SHA-1 that servers compute", "[redis][names]")
{
    CHECK(sha1_hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    CHECK(sha1_hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(sha1_hex(std::string(55, 'a')) == "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    CHECK(sha1_hex(std::string(56, 'a')) == "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    CHECK(sha1_hex(std::string(64, 'a')) == "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    CHECK(sha1_hex(std::string(1000, 'a')) == "291e9a6c66994949b57ba5e650361e98fc36b1ba");
    CHECK(scripts::renew().sha == sha1_hex(scripts::renew().text));
}

TEST_CASE("the keys of a range in use are encoded once, page by page", "[redis][names]")
{
    RangeCache cache;
    auto range = numbered_keys("pool:", 5000);
    REQUIRE(page_count(*range) == 2);
    auto const first = cache.keys(range, 0);
    CHECK(first->count() == 4096);
    CHECK(first->bytes().starts_with("$6\r\npool:0\r\n$6\r\npool:1\r\n"));
    auto const second = cache.keys(range, 1);
    CHECK(second->count() == 904);
    CHECK(second->bytes().ends_with("pool:4999\r\n"));
    CHECK(cache.keys(range, 0) == first);
    CHECK(cache.keys(numbered_keys("pool:", 5000), 0) != first);

    // A range made where another one was is not taken for it.
    std::weak_ptr<resp::EncodedArguments const> const gone = first;
    for (int i = 0; i < 100; ++i) {
        auto const other = numbered_keys("other" + std::to_string(i) + ":", 2);
        CHECK(cache.keys(other, 0)->bytes().find("other" + std::to_string(i) + ":1") != std::string_view::npos);
    }
}

TEST_CASE("the state kept about a range goes with it", "[redis][names]")
{
    RangeCache cache;
    auto range = numbered_keys("pool:", 100);
    std::weak_ptr<resp::EncodedArguments const> const keys = cache.keys(range, 0);
    CHECK_FALSE(keys.expired());
    range.reset();
    auto const other = numbered_keys("other:", 100);
    static_cast<void>(cache.keys(other, 0));
    CHECK(keys.expired());
}
