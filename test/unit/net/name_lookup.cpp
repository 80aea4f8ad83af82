// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "net/name_lookup.hpp"
#include "harness/immovable.hpp"

#include "runtime/asio_runtime.hpp"

#include <tenure/log.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::net
{

namespace asio = boost::asio;

namespace
{

struct Answer {
    error_code error;
    NameLookup::Addresses addresses;
    std::string words;
};

/** While it lives this process has no descriptor left. */
class NoDescriptorLeft : test::Immovable
{
public:
    NoDescriptorLeft()
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto none = before_;
        none.rlim_cur = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

/** A loop that ends by itself once there is an answer. */
std::optional<Answer> look_up(std::string const& host, bool without_descriptors = false)
{
    asio::io_context context;
    auto const runtime = make_asio_runtime(context.get_executor(), silent_log_sink());
    std::optional<NoDescriptorLeft> limit;
    if (without_descriptors)
        limit.emplace();
    std::optional<Answer> answer;
    NameLookup const lookup(runtime, host, [&](StreamError const& error, NameLookup::Addresses addresses) {
        answer = Answer{error.code, std::move(addresses), error.text()};
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

// UndefinedBehaviorSanitizer needs a descriptor itself, and reports each object where there is none.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a lookup without a descriptor names the limit, not the name service")
{
    auto const found = look_up("localhost", true);
    REQUIRE(found);
    CHECK(found->error == boost::system::errc::too_many_files_open);
    CHECK_THAT(found->words, Catch::Matchers::ContainsSubstring("no file descriptor left (Too many open files)"));
    CHECK_THAT(found->words, Catch::Matchers::ContainsSubstring("ulimit -n"));
}
#endif

TEST_CASE("more lookups at a time than this process allows are told so, and addresses need no place")
{
    std::vector<std::shared_ptr<void>> places(most_lookups);
    std::ranges::generate(places, take_lookup_place);
    CHECK(take_lookup_place() == nullptr);
    auto const found = look_up("localhost");
    REQUIRE(found);
    CHECK(found->error);
    CHECK_THAT(found->words, Catch::Matchers::StartsWith("64 lookups of names are under way in this process"));
    auto const numeric = look_up("127.0.0.1");
    REQUIRE(numeric);
    CHECK_FALSE(numeric->error);
    places.clear();
    auto const later = look_up("localhost");
    REQUIRE(later);
    CHECK_FALSE(later->error);
}

TEST_CASE("a lookup that is dropped tells nothing, and leaves the loop nothing to do")
{
    asio::io_context context;
    auto const runtime = make_asio_runtime(context.get_executor(), silent_log_sink());
    bool told = false;
    for (auto const* const host : {"127.0.0.1", "localhost"})
        std::make_unique<NameLookup>(runtime, host, [&](StreamError const&, NameLookup::Addresses const&) {
            told = true;
        }).reset();
    context.run();
    CHECK_FALSE(told);
}

} // namespace tenure::net
