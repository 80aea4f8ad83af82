// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/etcd_config.hpp>

namespace tenure::etcd
{

/** Checks what can be checked without a server.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
void check_config(EtcdConfig const& config);

} // namespace tenure::etcd
