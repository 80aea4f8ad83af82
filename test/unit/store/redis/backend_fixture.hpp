// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "store/redis/backend.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using redis::resp::Value;
using Words = std::vector<std::string>;

/** The backend of one server, which is the test. */
class BackendFixture : Immovable
{
public:
    template <class Reply>
    using Answer = std::shared_ptr<std::optional<Reply>>;

    explicit BackendFixture(
        std::string const& version = "7.0.15", redis::BackendSettings settings = {.name = "redis://fake:6379/0"})
    {
        connections.info.version = version;
        backend = redis::make_backend(runtime, connections.factory(), std::move(settings));
    }
    ~BackendFixture()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    template <class Reply, class Request>
    Answer<Reply> ask(void (Backend::*function)(Request, ReplyHandler<Reply>), Request request)
    {
        auto reply = std::make_shared<std::optional<Reply>>();
        (backend.get()->*function)(std::move(request), [reply](Reply answer) { *reply = std::move(answer); });
        CHECK_FALSE(reply->has_value());
        return reply;
    }
    /** The same, and the request is written. */
    template <class Reply, class Request>
    Answer<Reply> ask_now(void (Backend::*function)(Request, ReplyHandler<Reply>), Request request)
    {
        auto reply = ask(function, std::move(request));
        runtime->run_ready();
        return reply;
    }
    [[nodiscard]] ClaimRequest claim_of(KeyRangePtr range, bool fencing) const
    {
        return {std::move(range), "me/1", 3s, runtime->now() + 10s, fencing, std::nullopt};
    }
    [[nodiscard]] static std::shared_ptr<Claim>
    held(KeyRangePtr range, std::uint32_t index = 0, std::string owner = "me/1")
    {
        auto claim = std::make_shared<Claim>();
        claim->range = std::move(range);
        claim->index = index;
        claim->owner = std::move(owner);
        return claim;
    }

    void answer(Value reply)
    {
        connection().answer(std::move(reply));
        runtime->run_ready();
    }
    [[nodiscard]] FakeConnection& connection() { return *connections.made.front(); }
    /** The request that was written last. */
    [[nodiscard]] Words last() { return connection().sent.back().words; }
    [[nodiscard]] Words words(std::size_t index) { return connection().sent.at(index).words; }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeConnections connections{runtime, {}};
    std::shared_ptr<Backend> backend;
};

} // namespace tenure::test
