// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What each kind of store is called in URLs.
#pragma once

#include <string>
#include <string_view>

namespace tenure
{

struct UrlScheme {
    std::string_view plain;
    /// the same over TLS; empty: not offered
    std::string_view over_tls = {};

    /** How URLs of this kind begin: "redis://". */
    [[nodiscard]] std::string prefix(bool tls = false) const { return std::string(tls ? over_tls : plain) + "://"; }
};

namespace schemes
{

inline constexpr UrlScheme memory{"memory"};
inline constexpr UrlScheme redis{"redis", "rediss"};
inline constexpr UrlScheme redis_socket{"redis+unix"};
inline constexpr UrlScheme redis_sentinel{"redis+sentinel", "rediss+sentinel"};
inline constexpr UrlScheme redis_cluster{"redis+cluster", "rediss+cluster"};
inline constexpr UrlScheme redlock{"redlock", "redlocks"};
inline constexpr UrlScheme etcd{"etcd", "etcds"};
inline constexpr UrlScheme zookeeper{"zookeeper"};

} // namespace schemes

} // namespace tenure
