// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What an inspection asks of etcd.
#include "unit/store/etcd/gateway.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;

TEST_CASE("an inspection reads the lease of each key, and one of names only reads none", "[etcd]")
{
    EtcdGateway gateway(EtcdConfig{}.connections, numbered_keys("pool:", 1));
    auto const grant = gateway.claim();
    static_cast<void>(gateway.take("kv/range") + gateway.take("lease/timetolive"));
    for (bool const names_only : {false, true}) {
        CAPTURE(names_only);
        auto const reply = gateway.inspect(names_only);
        REQUIRE(std::holds_alternative<std::vector<KeyState>>(reply));
        auto const state = std::get<std::vector<KeyState>>(reply).at(0);
        CHECK(state.kind == KeyState::Kind::held);
        CHECK(state.remaining.has_value() == !names_only);
        CHECK(gateway.take("kv/range") == 1);
        CHECK(gateway.take("lease/timetolive") == (names_only ? 0 : 1));
    }
    gateway.release(grant);
}
