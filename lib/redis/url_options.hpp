// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Options that the URLs of all Redis stores have.
#pragma once

#include <config/url_options.hpp>

#include <tenure/stores/redis_config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

[[nodiscard]] std::uint32_t database_from(std::string const& field, std::string const& text);

/** What the URL's options `replicas` and `replicas_within` ask for.
 *  @throws std::invalid_argument also for the second without the first */
[[nodiscard]] ReplicaAcknowledgement replicas_from(Url const& url);

/** True for the names that `replicas_from` reads. */
[[nodiscard]] bool is_replica_option(std::string_view name) noexcept;

/** @throws std::invalid_argument if the URL has such options, which its kind of store does not offer */
void refuse_replica_options(Url const& url, std::string const& reason);

/** Reads `delay_after_failover`; false: it is another option.
 *  @throws std::invalid_argument for another value than true or false */
template <class Config>
[[nodiscard]] bool read_precaution(Config& config, std::string const& name, std::string const& value)
{
    if (name != "delay_after_failover")
        return false;
    config.delay_after_failover = boolean_from("option " + name, value);
    return true;
}

} // namespace tenure::redis
