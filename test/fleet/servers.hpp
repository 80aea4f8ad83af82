// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tenure::fleet
{

/** The servers of one store, on loopback ports, with all that they keep on disk. They end with the object. */
class Servers : test::Immovable
{
public:
    virtual ~Servers() = default;

    /** For `tenure::connect`. */
    [[nodiscard]] virtual std::string url() const = 0;
    /** SIGKILL to all servers that hold leases. */
    virtual void kill() = 0;
    /** Starts them again with their data, and returns when they serve. */
    virtual void start() = 0;
    /** Cuts all connections of clients at once. The servers keep running. */
    virtual void cut_connections() = 0;
};

/** A kind of store, and how its servers are started. */
struct StoreKind {
    std::string_view name;
    /// why this machine cannot start them; empty if it can
    std::string (*missing)();
    /// @param proxied  connections pass a proxy where the server itself cannot cut them
    std::unique_ptr<Servers> (*start)(bool proxied);
    /// false: nothing to kill and nothing to cut
    bool has_servers = true;
};

/** All kinds. */
[[nodiscard]] std::span<StoreKind const> store_kinds();

} // namespace tenure::fleet
