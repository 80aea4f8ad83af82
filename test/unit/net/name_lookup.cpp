// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "net/name_lookup.hpp"

#include "runtime/asio_runtime.hpp"

#include <tenure/log.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::net
{

namespace
{

struct Answer {
    error_code error;
    NameLookup::Addresses addresses;
};

/** A loop that ends by itself once there is an answer. */
std::optional<Answer> look_up(std::string const& host)
{
    asio::io_context context;
    auto const runtime = engine::make_asio_runtime(context.get_executor(), silent_log_sink());
    std::optional<Answer> answer;
    NameLookup const lookup(runtime, host, [&](error_code error, NameLookup::Addresses addresses) {
        answer = Answer{error, std::move(addresses)};
    });
    CHECK_FALSE(answer);
    context.run();
    return answer;
}

} // namespace

TEST_CASE("a numeric address stands for itself")
{
    auto const four = look_up("127.0.0.1");
    REQUIRE(four);
    CHECK_FALSE(four->error);
    CHECK(four->addresses == NameLookup::Addresses{asio::ip::make_address("127.0.0.1")});
    auto const six = look_up("::1");
    REQUIRE(six);
    CHECK(six->addresses == NameLookup::Addresses{asio::ip::make_address("::1")});
}

TEST_CASE("a name stands for the addresses that the system knows")
{
    auto const found = look_up("localhost");
    REQUIRE(found);
    CHECK_FALSE(found->error);
    CHECK(std::ranges::any_of(found->addresses, [](auto const& address) { return address.is_loopback(); }));
}

TEST_CASE("a name that cannot be one has no addresses")
{
    // longer than any name may be, so no server is asked for it
    auto const found = look_up(std::string(300, 'x'));
    REQUIRE(found);
    CHECK(found->error);
    CHECK(found->addresses.empty());
}

TEST_CASE("a lookup that is dropped tells nothing, and leaves the loop nothing to do")
{
    asio::io_context context;
    auto const runtime = engine::make_asio_runtime(context.get_executor(), silent_log_sink());
    bool told = false;
    for (auto const* const host : {"127.0.0.1", "localhost"})
        std::make_unique<NameLookup>(runtime, host, [&](error_code, NameLookup::Addresses const&) {
            told = true;
        }).reset();
    context.run();
    CHECK_FALSE(told);
}

} // namespace tenure::net
