// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "redis/config_rules.hpp"
#include "sentinel_backend.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace tenure::redis
{

void check_config(RedisSentinelConfig const& config)
{
    std::string const prefix = "RedisSentinelConfig::";
    constexpr std::size_t most_sentinels = 64;
    auto const count = config.sentinels.size();
    if (count == 0 || count > most_sentinels)
        refuse_config(prefix + "sentinels", std::to_string(count) + " sentinels", "must be 1 to 64");
    for (std::size_t i = 0; i < count; ++i)
        check_address(
            prefix + "sentinels[" + std::to_string(i) + "].", config.sentinels[i].host, config.sentinels[i].port);

    auto const is_printable = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
    auto const& name = config.master_name;
    if (name.empty() || name.size() > 255 || !std::ranges::all_of(name, is_printable)) {
        auto shown = name.substr(0, 255);
        std::ranges::replace_if(shown, [&](unsigned char c) { return !is_printable(c); }, '?');
        refuse_config(prefix + "master_name", shown, "must be 1 to 255 printable characters without blanks");
    }

    check_login(prefix, config.username, config.password, config.credentials);
    check_tls(prefix, config.tls);
    check_login(prefix + "sentinel_", config.sentinel_username, config.sentinel_password);
    check_tls(prefix + "sentinel_", config.sentinel_tls);
    check_limits(prefix, config.connect_timeout, config.reconnect_backoff);
    check_replicas(prefix, config.replicas);
}

} // namespace tenure::redis
