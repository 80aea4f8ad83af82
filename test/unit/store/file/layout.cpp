// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/file/layout.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>
#include <utility>

using namespace tenure;
using namespace tenure::file;

namespace
{

std::pair<std::string, std::uint32_t> place(std::string const& key)
{
    auto const found = place_of(*named_key(key), 0);
    return {found.stem, found.slot};
}

} // namespace

TEST_CASE("a key is a stem and a number without leading zeros, or a stem alone", "[file]")
{
    CHECK(place("nightly") == std::pair{std::string("nightly"), 0U});
    CHECK(place("pool:7") == std::pair{std::string("pool:"), 8U});
    CHECK(place("pool:0") == std::pair{std::string("pool:"), 1U});
    CHECK(place("a07") == std::pair{std::string("a0"), 8U});
    CHECK(place("a00") == std::pair{std::string("a0"), 1U});
    CHECK(place("100") == std::pair{std::string(), 101U});
    CHECK(place("a1048575") == std::pair{std::string("a"), 1048576U});
    CHECK(place("a1048576") == std::pair{std::string("a1048576"), 0U});
    CHECK(place("a20000000000000000000") == std::pair{std::string("a20000000000000000000"), 0U});
}

TEST_CASE("a slot of a pool and the lock of that name are one key, whatever the prefix ends with", "[file]")
{
    for (auto const* const prefix : {"pool:", "a", "a0", "a1", "job2024", "7"}) {
        auto const range = numbered_keys(prefix, 1200);
        std::uint32_t index = 0;
        for (auto const& segment : segments_of(*range)) {
            CHECK(segment.index == index);
            for (std::uint32_t i = 0; i < segment.count; ++i, ++index) {
                auto const expected = place(range->key(index));
                CAPTURE(prefix, index);
                REQUIRE(segment.stem == expected.first);
                REQUIRE(segment.slot + i == expected.second);
                auto const one = place_of(*range, index);
                REQUIRE(std::pair{one.stem, one.slot} == expected);
            }
        }
        CHECK(index == range->count);
    }
    CHECK(segments_of(*numbered_keys("pool:", 1024)).size() == 1);
}

TEST_CASE("names of files are plain, short, and different for different stems", "[file]")
{
    CHECK(file_name_of("thread_id_lock:") == "=thread_id_lock:");
    CHECK(file_name_of("a/b c%") == "=a%2fb%20c%25");
    CHECK(file_name_of("") == "=");
    CHECK(file_name_of("..") == "=..");
    std::set<std::string> names;
    for (char const last : {'a', 'b', 'c', '/'}) {
        auto const name = file_name_of(std::string(1000, 'x') + last);
        CHECK(name.size() < 255);
        CHECK(name.find('/') == std::string::npos);
        names.insert(name);
    }
    CHECK(names.size() == 4);
}

TEST_CASE("the newer copy of a record counts if it is whole, else the older one", "[file]")
{
    RecordPair pair;
    CHECK(current(pair).sequence == 0);
    CHECK(current(pair).value().empty());
    pair[0].sequence = 4;
    pair[0].set_value("worker/4");
    seal(pair[0]);
    CHECK(current(pair).value() == "worker/4");
    pair[1].sequence = 5;
    pair[1].set_value("worker/5 with a longer value");
    seal(pair[1]);
    CHECK(current(pair).value() == "worker/5 with a longer value");
    // any byte that differs shows
    for (std::size_t byte = 0; byte < offsetof(Record, text) + pair[1].length; ++byte) {
        auto torn = pair;
        reinterpret_cast<unsigned char*>(&torn[1])[byte] ^= 0x40;
        CAPTURE(byte);
        CHECK(current(torn).sequence == 4);
    }
}

TEST_CASE("a cell whose parts are of two writes is not valid", "[file]")
{
    Cell cell{0, 7, 1'000};
    seal(cell);
    CHECK(is_whole(cell));
    cell.until = 2'000;
    CHECK_FALSE(is_whole(cell));
}
