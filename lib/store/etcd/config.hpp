// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of etcd: parsing of URLs, checks, and its name.
#pragma once

#include <config/url.hpp>

#include <tenure/stores/etcd.hpp>

#include <string>

namespace tenure::etcd
{

/** Makes an unchecked config from an `etcd://` or `etcds://` URL.
 *  @throws std::invalid_argument naming part, value and rule; never the password */
[[nodiscard]] EtcdConfig config_from(Url const& url);

/** Checks every rule that needs no server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(EtcdConfig const& config);

/** `etcd://host:2379,host:2379`, without user and password. */
[[nodiscard]] std::string describe(EtcdConfig const& config);

} // namespace tenure::etcd
