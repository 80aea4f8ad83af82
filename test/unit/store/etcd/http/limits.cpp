// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The limits of this store's requests keep those of etcd and its gateway, with the longest names and IDs.
#include "store/etcd/http/limits.hpp"

#include "harness/paths.hpp"
#include "store/etcd/http/messages.hpp"
#include "store/etcd/steps.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

using namespace tenure;
using namespace tenure::etcd;

namespace
{

/// names of keys have at most 1 KiB
std::string const longest_name(1024, 'k');
constexpr auto longest_number = std::numeric_limits<std::int64_t>::max();

} // namespace

TEST_CASE("a proof of renewals keeps the server's limits", "[etcd]")
{
    CHECK(keys_per_proof <= server_operations);
    Transaction transaction;
    for (std::size_t i = 0; i < keys_per_proof; ++i)
        transaction.if_modified_at(longest_name, longest_number).then_read({longest_name, {}}, {0, true});
    CHECK(transaction.body().size() < server_request_bytes / 2);
}

TEST_CASE("a keep-alive request is read before its first answer", "[etcd]")
{
    CHECK(most_keep_alive_bytes <= certainly_read);
    CHECK(most_keep_alive_bytes >= 2 * lease_body(longest_number).size());
}

TEST_CASE("one request creates a bounded number of watches", "[etcd]")
{
    auto const longest = watch_body(longest_number, {longest_name, longest_name}, longest_number).size();
    CHECK(longest * 10 < most_watch_bytes);
    // reverse proxies often take bodies of up to 1 MiB
    CHECK(most_watch_bytes + never_discarded < 1024 * 1024);
}

TEST_CASE("the replies to reads of pages are bounded", "[etcd]")
{
    KeyRange const range{longest_name, 0, 1U << 20U, true};
    CHECK(reply_bytes(range, 2 * keys_seen_on_conflict) < most_page_bytes);
    CHECK(reply_bytes(range, keys_per_page_with_values) < most_page_bytes);
}

TEST_CASE("the table of limits in the documentation has the values of the code", "[etcd]")
{
    std::ifstream file(test::source_path("docs/integrators/etcd-protocol.md"));
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    for (auto const& [name, value] :
         {std::pair{"server_request_bytes", server_request_bytes},
          {"server_operations", server_operations},
          {"certainly_read", certainly_read},
          {"never_discarded", never_discarded},
          {"most_keep_alive_bytes", most_keep_alive_bytes},
          {"keys_per_proof", keys_per_proof},
          {"most_watch_bytes", most_watch_bytes},
          {"keys_per_page", keys_per_page},
          {"keys_per_page_with_values", keys_per_page_with_values},
          {"keys_seen_on_conflict", keys_seen_on_conflict},
          {"most_page_bytes", most_page_bytes},
          {"most_reply_bytes", most_reply_bytes},
          {"most_line_bytes", most_line_bytes},
          {"most_leases_inspected", most_leases_inspected}}) {
        CAPTURE(name, value);
        CHECK(text.find('`' + std::string(name) + "` = " + std::to_string(value)) != std::string::npos);
    }
}
