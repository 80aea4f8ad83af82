// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis_under_attack.hpp"
#include "sentinel_under_attack.hpp"
#include "store_under_attack.hpp"

#include "harness/redis_server.hpp"

namespace tenure::faults
{

namespace
{

std::string missing_server()
{
    return test::redis_server_program().empty()
               ? std::string{"no redis-server in PATH, and TENURE_REDIS_SERVER names none"}
               : std::string{};
}

} // namespace

std::vector<Scheme> const& schemes()
{
    static std::vector<Scheme> const all{
        {"redis", missing_server,
         [](Arena const& arena) -> std::unique_ptr<StoreUnderAttack> {
             return std::make_unique<RedisUnderAttack>(arena);
         }},
        {"redis+sentinel", missing_server, [](Arena const& arena) -> std::unique_ptr<StoreUnderAttack> {
             return std::make_unique<SentinelUnderAttack>(arena);
         }}};
    return all;
}

} // namespace tenure::faults
