// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of ZooKeeper: parsing of URLs, checks, and its name.
#pragma once

#include "runtime/names.hpp"

#include <config/url.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <string>

namespace tenure::zookeeper
{

/** Makes an unchecked config from a `zookeeper://` URL.
 *  @throws std::invalid_argument naming part, value and rule; never the password */
[[nodiscard]] ZookeeperConfig config_from(Url const& url);

/** Checks every rule that needs no server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(ZookeeperConfig const& config);

[[nodiscard]] TtlLimits limits_of(ZookeeperConfig const& config) noexcept;

/** `zookeeper://host:2181,host:2181/chroot`, without user and password. */
[[nodiscard]] std::string describe(ZookeeperConfig const& config);

} // namespace tenure::zookeeper
