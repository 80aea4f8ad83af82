// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The limits of servers, and the constants that keep each request far from them.
#include "harness/paths.hpp"

#include "store/redis/claim/claim.hpp"
#include "store/redis/claim/range_cache.hpp"
#include "store/redis/cluster/slot_contexts.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/link/connection_machine.hpp"
#include "store/redis/link/hedged_link.hpp"
#include "store/redis/operations.hpp"
#include "store/redis/releases.hpp"
#include "store/redis/renewals.hpp"
#include "store/redis/scripts/script_parts.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/shares/places.hpp"
#include "store/redis/shares/script_parts.hpp"
#include "store/redis/shares/scripts.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tenure::test
{

namespace
{

namespace scripts = redis::scripts;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
/// keys, and prefixes of pools with a number
constexpr std::size_t longest_key = kib + 10;
constexpr std::size_t longest_owner = 256;

std::string protocol_page()
{
    std::ostringstream page;
    page << std::ifstream(source_path("docs/integrators/redis-protocol.md")).rdbuf();
    return page.str();
}

} // namespace

TEST_CASE("no script passes more values to a command than Lua can", "[redis][limits]")
{
    constexpr std::size_t lua_stack = 8000;
    CHECK(redis::max_keys_per_call <= lua_stack / 1.5);
    CHECK(redis::renewals_per_call <= lua_stack / 1.5);
    // a release looks at two names of a line for each key
    CHECK(2 * redis::Releases::releases_per_call <= lua_stack / 1.5);
    CHECK(redis::Claims::owners_per_call + 1 <= lua_stack / 1.5);
}

TEST_CASE("no command comes near the number and size of arguments that servers take", "[redis][limits]")
{
    CHECK(redis::max_keys_per_call + redis::Claims::owners_per_call + 16 < kib * kib / 10);
    for (auto const* const script :
         {&scripts::first_free_each_after_failover(), &scripts::own_or_first_free_after_failover(),
          &scripts::release().in_shard, &scripts::release_each().in_shard, &scripts::withdraw().in_shard,
          &scripts::renew_noting_ttl(), &scripts::inspect()})
        CHECK(script->text.size() < 8 * kib);
}

TEST_CASE("the bytes that a blocked server must keep of a connection stay far below its limit", "[redis][limits]")
{
    constexpr std::size_t query_buffer_limit = kib * mib;
    auto const largest_command = redis::max_keys_per_call * (longest_key + 16);
    CHECK(redis::ConnectionMachine::most_unanswered_bytes + largest_command < query_buffer_limit / 10);
}

TEST_CASE("confirmations and messages of subscriptions fit into the output buffer of a subscriber", "[redis][limits]")
{
    constexpr std::size_t soft_limit = 8 * mib;
    CHECK(redis::ConnectionMachine::most_owed * (longest_key + 64) < soft_limit / 2);
    constexpr std::size_t name_and_blank = 33;
    auto const longest_message = scripts::longest_line * name_and_blank + longest_key + 64;
    CHECK(longest_message < redis::ConnectionOptions().max_reply_bytes);
    // a colon and a number follow the name of each place
    CHECK(
        redis::place_scripts::most_places * (name_and_blank + 21) + longest_key + 64 <
        redis::ConnectionOptions().max_reply_bytes);
    CHECK(
        redis::place_scripts::claim().plain.text.find(
            "count >= " + std::to_string(redis::place_scripts::most_places)) != std::string::npos);
    CHECK(scripts::join_line_text.find("length < " + std::to_string(scripts::longest_line)) != std::string_view::npos);
}

TEST_CASE("a call for renewals has a bounded size, whatever is held", "[redis][limits]")
{
    CHECK(redis::renewals_per_call * (longest_key + longest_owner + 32) < mib);
}

TEST_CASE("the page of the protocol names each limit with its constant", "[redis][limits]")
{
    auto const page = protocol_page();
    auto const named = [&](std::string const& constant, std::size_t value) {
        INFO(constant);
        CHECK(page.find("`" + constant + "` = " + std::to_string(value) + " |") != std::string::npos);
    };
    named("max_keys_per_call", redis::max_keys_per_call);
    named("renewals_per_call", redis::renewals_per_call);
    named("Claims::owners_per_call", redis::Claims::owners_per_call);
    named("Releases::releases_per_call", redis::Releases::releases_per_call);
    named("Places::places_per_call", redis::Places::places_per_call);
    named("most_places", redis::place_scripts::most_places);
    named("ConnectionMachine::most_unanswered_bytes", redis::ConnectionMachine::most_unanswered_bytes);
    named("ConnectionMachine::most_owed", redis::ConnectionMachine::most_owed);
    named("longest_line", scripts::longest_line);
    named("keys_per_inspection", redis::keys_per_inspection);
    named("HedgedLink::most_claims", redis::HedgedLink::most_claims);
    named("SlotContexts::most_searches", redis::SlotContexts::most_searches);
}

} // namespace tenure::test
