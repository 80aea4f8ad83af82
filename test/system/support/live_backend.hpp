// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/expect_failure.hpp"
#include "harness/redis_server.hpp"
#include "harness/renewals.hpp"

#include "store/redis/link/stream.hpp"

#include <tenure/conformance/client.hpp>
#include <tenure/stores/redis.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::test
{

using conformance::expect;
using conformance::owner;

/** A backend alone, without engine and keeper, over real sockets, and what it logs. */
class LiveBackend : public conformance::Client
{
public:
    explicit LiveBackend(RedisConfig const& config, redis::StreamFactory streams = redis::socket_streams());
    explicit LiveBackend(RedisServer const& server);
    /** The backend of any store. */
    explicit LiveBackend(MakeBackend const& make);

    /** How many log lines hold `part`. */
    [[nodiscard]] std::size_t logged(std::string_view part) const;

private:
    using Lines = std::shared_ptr<std::vector<std::string>>;
    LiveBackend(Lines lines, MakeBackend const& make);

    /// shared with the log sink, which the base's destructor still calls
    Lines lines_;
};

[[nodiscard]] RedisConfig config_of(RedisServer const& server);
/** The same with the login of the user "worker", whose password is "secret". */
[[nodiscard]] RedisConfig worker_of(RedisServer const& server);

/** Fixture: a Redis server, a client of it, and the backend under test. */
struct LiveBackendTest : RedisTest {
    RedisClient client = server.client();
    LiveBackend live{server};
};

/** The claim that a grant stands for. */
[[nodiscard]] ClaimPtr claim_of(KeyRangePtr range, std::string owner, std::uint32_t index);

} // namespace tenure::test
