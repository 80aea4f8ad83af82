// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A single member that stays silent for a while: the requests that it gets, and when the store is reachable again.
// In virtual time, with a member that executes a number of requests a second.
#include "paced_member.hpp"

#include "harness/immovable.hpp"
#include "harness/renewals.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** A backend of one member. */
class OneMember : Immovable
{
public:
    explicit OneMember(std::uint32_t connections)
        : backend(etcd::make_backend(runtime, config_of(connections), member.streams()))
    {
        backend->on_reachable([this] { ++reached; });
        backend->shortest_ttl(10s);
    }
    ~OneMember()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    template <class Reply>
    using Answer = std::shared_ptr<std::optional<Reply>>;

    Answer<ClaimReply> claim(std::string const& key)
    {
        ClaimRequest request;
        request.range = named_key(key);
        request.owner = "me/" + key;
        request.ttl = 10s;
        request.not_after = runtime->now() + 60s;
        auto answer = std::make_shared<std::optional<ClaimReply>>();
        backend->claim(request, [answer](ClaimReply&& reply) { *answer = std::move(reply); });
        return answer;
    }

    ClaimPtr held(std::string const& key)
    {
        auto const answer = claim(key);
        member.run_for(100ms);
        auto claim = std::make_shared<Claim>();
        claim->range = named_key(key);
        claim->owner = "me/" + key;
        claim->handle = std::get<Granted>(answer->value()).handle;
        return claim;
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    PacedMember member{runtime, 1000};
    std::shared_ptr<Backend> backend;
    int reached = 0;

private:
    static EtcdConfig config_of(std::uint32_t connections)
    {
        EtcdConfig config{{{"127.0.0.1", 2379}}};
        config.connections = connections;
        return config;
    }
};

} // namespace

TEST_CASE("a silent member is asked on one new connection at a time, and is reachable with its first answer", "[etcd]")
{
    OneMember test(32);
    auto const claim = test.held("lock");
    REQUIRE(test.reached == 1);
    auto const connections = test.member.connections;
    test.member.silent = true;
    auto const replies = renew_together(*test.backend, {{claim, 10s, test.runtime->now() + 9s}});
    test.member.run_for(3500ms);
    CHECK(test.member.connections - connections == 3);
    CHECK(test.reached == 1);
    CHECK_FALSE(replies[0]->has_value());
    test.member.silent = false;
    test.member.run_for(20ms);
    CHECK(test.reached == 2);
    // the first answer counts as well
    REQUIRE(replies[0]->has_value());
}

TEST_CASE("claims that a silent connection leaves unanswered do not keep others from beginning", "[etcd]")
{
    OneMember test(2);
    static_cast<void>(test.held("lock"));
    test.member.silent = true;
    auto const first = test.claim("a");
    auto const second = test.claim("b");
    auto const third = test.claim("c");
    test.member.run_for(900ms);
    test.member.lose_requests();
    test.member.silent = false;
    test.member.run_for(300ms);
    CHECK_FALSE(first->has_value());
    CHECK_FALSE(second->has_value());
    REQUIRE(third->has_value());
    CHECK(std::holds_alternative<Granted>(**third));
}

TEST_CASE("one connection that lost its request is given up while others are answered", "[etcd]")
{
    OneMember test(4);
    auto const claim = test.held("lock");
    test.member.silent = true;
    auto const replies = renew_together(*test.backend, {{claim, 10s, test.runtime->now() + 9s}});
    test.member.run_for(10ms);
    test.member.lose_requests();
    test.member.silent = false;
    for (int i = 0; i < 20; ++i) {
        static_cast<void>(test.claim("other" + std::to_string(i)));
        test.member.run_for(100ms);
    }
    REQUIRE(replies[0]->has_value());
    CHECK(failed_as(**replies[0], Failure::Effect::unknown));
    // the member was not left
    CHECK(test.reached == 1);
}
