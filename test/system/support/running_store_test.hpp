// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

namespace tenure::test
{

/** Fixture: a Redis server, a client of it, and a store over it. */
struct RunningStoreTest : RedisTest {
    RedisClient redis = server.client();
    RunningStore running{server.url()};
};

} // namespace tenure::test
