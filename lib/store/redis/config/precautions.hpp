// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>

namespace tenure::redis
{

/** What the config asks for against leases that a server has forgotten: see RedisConfig. */
struct Precautions {
    bool delay_after_failover = false;
};

/** Of any config that has them. */
template <class Config>
[[nodiscard]] Precautions precautions_of(Config const& config) noexcept
{
    return {config.delay_after_failover};
}

/** The key by which a server process that has not granted before is noticed. In a cluster each hash slot has one, with
 * the slot's number in braces behind. */
inline constexpr std::string_view failover_marker = "tenure:master";

} // namespace tenure::redis
