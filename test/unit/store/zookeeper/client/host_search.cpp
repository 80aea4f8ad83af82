// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The addresses of servers when not all of their names can be resolved.
#include "store/zookeeper/client/host_search.hpp"
#include "runtime/asio_runtime.hpp"

#include <tenure/log.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace asio = boost::asio;

TEST_CASE("a name that cannot be found stands for what it stood for before", "[zookeeper]")
{
    asio::io_context context;
    auto const runtime = make_asio_runtime(context.get_executor(), silent_log_sink());
    // longer than any name may be, so no server is asked for it
    std::vector<Endpoint> const servers{{"127.0.0.1", 2181}, {std::string(300, 'x'), 2182}};
    auto const find = [&](HostSearch::Addresses known) {
        std::optional<HostSearch::Result> result;
        HostSearch const search{
            runtime, servers, std::move(known), [&](HostSearch::Result const& found) { result = found; }};
        context.restart();
        context.run();
        REQUIRE(result);
        return *result;
    };
    auto const first = find({});
    CHECK(first.servers == "127.0.0.1:2181");
    CHECK_THAT(first.error, Catch::Matchers::StartsWith("cannot resolve xxx"));
    auto const again = find({{"10.0.0.1:2181"}, {"10.0.0.2:2182", "10.0.0.3:2182"}});
    CHECK(again.servers == "127.0.0.1:2181,10.0.0.2:2182,10.0.0.3:2182");
    CHECK(again.addresses == HostSearch::Addresses{{"127.0.0.1:2181"}, {"10.0.0.2:2182", "10.0.0.3:2182"}});
}

} // namespace tenure::zookeeper
