// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/row.hpp"
#include "fleet/servers.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace tenure::fleet
{

/** How large a case is: numbers are multiplied by `scale`. */
struct Size {
    double scale = 1;
    [[nodiscard]] std::size_t of(std::size_t whole) const noexcept
    {
        auto const part = static_cast<std::size_t>(static_cast<double>(whole) * scale);
        return part == 0 ? 1 : part;
    }
};

/** One case of the fleet (docs/contributors/testing.md). */
struct Case {
    std::string_view name;
    /// one line for --help
    std::string_view title;
    /// it kills servers or cuts connections
    bool needs_servers;
    /// connections pass a proxy where the server itself cannot cut them
    bool proxied;
    /// fills in all of the row but its names
    Row (*run)(Servers& servers, Size size);
};

/** All cases. */
[[nodiscard]] std::span<Case const> cases();

/** 10,000 leases, and all servers killed and started again within the outage that leases tolerate. */
[[nodiscard]] Row run_restart(Servers& servers, Size size);
/** 10,000 acquisitions at once, beside 1,000 held leases. */
[[nodiscard]] Row run_burst(Servers& servers, Size size);
/** 20,000 waiters on 100 keys. */
[[nodiscard]] Row run_waiters(Servers& servers, Size size);
/** 10,000 leases and 2,000 waiters, and all connections cut at once. */
[[nodiscard]] Row run_reconnect(Servers& servers, Size size);
/** 10,000 leases of a client that dies, and a restart of all servers afterwards. */
[[nodiscard]] Row run_death(Servers& servers, Size size);

} // namespace tenure::fleet
