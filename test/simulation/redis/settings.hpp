// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "strictness.hpp"

#include <tenure/stores/redis.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::simulation
{

/** The abilities of a kind of server, and its own description of itself. */
struct Flavor {
    std::string_view server;
    std::string_view version;
    /// it knows HELLO, and so RESP3
    bool hello = true;
    /// SET ... IFEQ
    bool set_ifeq = false;
    /// DELIFEQ
    bool delifeq = false;
    /// DELEX ... IFEQ
    bool delex = false;
    /// errors in scripts as Redis 6 words them
    bool old_script_errors = false;
    /// LPOS (6.0.6) and the count of LPOP (6.2) are unknown
    bool before_lpos = false;
};

/** The settings of the server of a world and of its clients, drawn from the seed. */
struct RedisSettings {
    Flavor flavor;
    Strictness strictness = Strictness::as_redis;
    RedisConfig client;
};

[[nodiscard]] RedisSettings make_redis_settings(std::uint64_t seed);

[[nodiscard]] std::string describe(RedisSettings const& settings);

} // namespace tenure::simulation
