// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A server that shows a bad certificate for a moment, as while certificates are being replaced.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/certificate_authority.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <thread>

using namespace tenure;
using namespace tenure::test;

TEST_CASE("a lease outlives one handshake that is refused", "[integration][tls]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    authority.issue("bad", "DNS:another.example");
    RedisServer const server(tls_options(authority, "good"));
    auto client = server.client();
    auto const show = [&](char const* name) {
        client.call("CONFIG", "SET", "tls-cert-file", authority.certificate(name), "tls-key-file", authority.key(name));
    };
    RunningStore const running("rediss://127.0.0.1:" + std::to_string(server.tls_port()) + "?tls_ca=" + authority.ca());
    auto const ttl = 2700ms;
    auto lease = RunningStore::acquire(running.lock("kept", ttl));
    show("bad");
    client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    REQUIRE(eventually([&] { return running.log().find("cannot be used") != std::string::npos; }));
    std::this_thread::sleep_for(150ms);
    show("good");
    // with two seconds between attempts the lease would be over by now
    auto const end = std::chrono::steady_clock::now() + 2 * ttl;
    while (std::chrono::steady_clock::now() < end && lease.valid())
        std::this_thread::sleep_for(20ms);
    CAPTURE(running.log());
    CHECK(lease.valid());
    CHECK_FALSE(lease.token().cancelled());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}
