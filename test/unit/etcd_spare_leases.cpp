// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a release asks, and what becomes of the server's lease: from when it counts for the next claim, and when it is
// given up. In virtual time, with a gateway that the test plays.
#include "fake_runtime.hpp"
#include "fake_stream.hpp"

#include "etcd/backend.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 20s;
/// of every answer of the gateway
constexpr auto round_trip = 1ms;

class Gateway
{
public:
    Gateway()
        : backend(etcd::make_backend(
              runtime, EtcdConfig{{{"127.0.0.1", 2379}}},
              [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, EtcdConfig::Endpoint const&) {
                  streams_.push_back(std::make_shared<FakeStream>(strand));
                  return streams_.back();
              }))
    {
    }
    Gateway(Gateway const&) = delete;
    Gateway& operator=(Gateway const&) = delete;
    ~Gateway()
    {
        backend->shutdown();
        runtime->run_ready(); // what was under way is told
    }

    Granted claim()
    {
        ClaimRequest request;
        request.range = range_;
        request.owner = "me/1";
        request.ttl = ttl;
        request.not_after = runtime->now() + 5s;
        auto reply = answer_of<ClaimReply>([&](auto handler) { backend->claim(request, std::move(handler)); });
        REQUIRE(std::holds_alternative<Granted>(reply));
        return std::get<Granted>(std::move(reply));
    }

    [[nodiscard]] ClaimPtr held(Granted const& grant) const
    {
        auto claim = std::make_shared<Claim>();
        claim->range = range_;
        claim->owner = "me/1";
        claim->handle = grant.handle;
        return claim;
    }

    void release(Granted const& grant)
    {
        auto const reply = answer_of<ReleaseReply>(
            [&](auto handler) { backend->release({held(grant), runtime->now() + 5s}, std::move(handler)); });
        REQUIRE(std::holds_alternative<Released>(reply));
    }

    void run_for(std::chrono::milliseconds time)
    {
        auto const end = runtime->now() + time;
        while (runtime->now() < end) {
            runtime->run_for(round_trip);
            serve();
        }
    }

    /** How many requests of this kind there were since the last time. */
    [[nodiscard]] std::ptrdiff_t take(std::string_view path)
    {
        auto const count = std::ranges::count(asked_, path);
        std::erase(asked_, path);
        return count;
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Backend> backend;
    /// of those who answer
    int term_of_keep_alives = 2;
    int term_of_transactions = 2;
    /// a keep-alive finds no lease
    bool forgotten = false;
    /// transactions are carried out, and nobody hears of it
    bool mute = false;
    std::string last_transaction;

private:
    template <class Reply, class Ask>
    Reply answer_of(Ask ask)
    {
        std::optional<Reply> reply;
        ask([&](Reply answer) { reply = std::move(answer); });
        for (int turn = 0; turn < 100 && !reply; ++turn) {
            runtime->run_for(round_trip);
            serve();
            runtime->run_ready();
        }
        REQUIRE(reply);
        return std::move(*reply);
    }

    void serve()
    {
        for (auto const& stream : std::vector(streams_)) {
            if (stream->closed)
                continue;
            if (stream->connecting)
                stream->accept();
            runtime->run_ready();
            if (auto const request = stream->take_received(); !request.empty()) {
                auto const body = answer(request);
                if (mute && asked_.back() == "kv/txn")
                    continue;
                stream->send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
            }
        }
        runtime->run_ready();
    }

    std::string answer(std::string const& request)
    {
        auto const begin = request.find("/v3/") + 4;
        auto const path = request.substr(begin, request.find(' ', begin) - begin);
        asked_.push_back(path);
        auto const header = [](int term) {
            return R"("header":{"revision":"7","raft_term":")" + std::to_string(term) + R"("})";
        };
        if (path == "lease/keepalive")
            return R"({"result":{)" + header(term_of_keep_alives) + (forgotten ? "" : R"(,"TTL":"20")") + "}}";
        if (path == "lease/grant")
            return "{" + header(2) + R"(,"TTL":"20"})";
        last_transaction = request.substr(request.find("\r\n\r\n") + 4);
        return "{" + header(term_of_transactions) + R"(,"succeeded":true})";
    }

    std::vector<std::shared_ptr<FakeStream>> streams_;
    std::vector<std::string> asked_;
    KeyRangePtr range_ = named_key("lock");
};

} // namespace

TEST_CASE("a young lease serves the next claim as it is, and counts from its grant", "[etcd]")
{
    Gateway gateway;
    auto const first = gateway.claim();
    CHECK(gateway.take("lease/grant") == 1);
    gateway.release(first);
    gateway.run_for(500ms);
    auto const second = gateway.claim();
    CHECK(second.since == first.since);
    CHECK(gateway.take("lease/grant") == 0);
    CHECK(gateway.take("lease/keepalive") == 0);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("an older lease serves the next claim after a keep-alive, and counts from there", "[etcd]")
{
    Gateway gateway;
    auto grant = gateway.claim();
    for (int i = 0; i < 5; ++i) {
        gateway.release(grant);
        gateway.run_for(9s);
        auto const before = gateway.runtime->now();
        grant = gateway.claim();
        CHECK(grant.since >= before);
        CHECK(grant.since <= gateway.runtime->now());
        CHECK(gateway.take("lease/keepalive") == 1);
    }
    CHECK(gateway.take("lease/grant") == 1);
    CHECK(gateway.take("lease/revoke") == 0);
}

TEST_CASE("a keep-alive that a leader of another term has answered does not count", "[etcd]")
{
    Gateway gateway;
    auto const first = gateway.claim();
    gateway.release(first);
    gateway.run_for(6s);
    gateway.term_of_transactions = 3;
    auto const second = gateway.claim();
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(second.since == first.since);
    // nor is it believed later, when the term is the same by chance
    gateway.release(second);
    gateway.term_of_transactions = 2;
    gateway.term_of_keep_alives = 1;
    auto const third = gateway.claim();
    CHECK(third.since == first.since);
}

TEST_CASE("a spare lease that the server does not know any more is replaced", "[etcd]")
{
    Gateway gateway;
    gateway.release(gateway.claim());
    gateway.run_for(6s);
    CHECK(gateway.take("lease/grant") == 1);
    gateway.forgotten = true;
    auto const before = gateway.runtime->now();
    CHECK(gateway.claim().since >= before);
    CHECK(gateway.take("lease/keepalive") == 1);
    CHECK(gateway.take("lease/grant") == 1);
}

TEST_CASE("a spare lease that nobody takes is revoked at half its ttl", "[etcd]")
{
    Gateway gateway;
    gateway.release(gateway.claim());
    gateway.run_for(9500ms);
    CHECK(gateway.take("lease/revoke") == 0);
    gateway.run_for(1s);
    CHECK(gateway.take("lease/revoke") == 1);
    // and surely not used again
    static_cast<void>(gateway.claim());
    CHECK(gateway.take("lease/grant") == 2);
}

TEST_CASE("a release compares the key's last change, unless it may have moved to another lease", "[etcd]")
{
    Gateway gateway;
    auto const grant = gateway.claim();
    SECTION("the last change is known")
    {
        gateway.release(grant);
        CHECK(
            gateway.last_transaction == R"({"compare":[{"key":"bG9jaw==","target":"MOD","mod_revision":"7"}],)"
                                        R"("success":[{"request_delete_range":{"key":"bG9jaw=="}}]})");
    }
    SECTION("nobody knows whether a renewal has moved it")
    {
        gateway.mute = true;
        gateway.backend->renew({gateway.held(grant), 60s, gateway.runtime->now() + 5s}, [](RenewReply const& reply) {
            CHECK_FALSE(std::holds_alternative<Renewed>(reply));
        });
        gateway.run_for(10ms);
        REQUIRE(gateway.last_transaction.find("request_put") != std::string::npos);
        gateway.mute = false;
        gateway.release(grant);
        CHECK(
            gateway.last_transaction == R"({"compare":[{"key":"bG9jaw==","target":"CREATE","create_revision":"7"},)"
                                        R"({"key":"bG9jaw==","target":"VALUE","value":"bWUvMQ=="}],)"
                                        R"("success":[{"request_delete_range":{"key":"bG9jaw=="}}]})");
        // whatever the key was bound to is of no use to anybody
        gateway.run_for(10ms);
        CHECK(gateway.take("lease/revoke") == 2);
    }
}
