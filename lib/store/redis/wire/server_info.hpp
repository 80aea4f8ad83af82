// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Facts about a server, reported by HELLO and INFO.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** The version that a server reports, "7.0.15"; empty if it reports none. */
class ServerVersion
{
public:
    ServerVersion() = default;
    template <class Text>
        requires std::convertible_to<Text const&, std::string_view>
    ServerVersion(Text const& text) // NOLINT(google-explicit-constructor): it is that text
    {
        read(text);
    }

    [[nodiscard]] std::string const& text() const noexcept { return text_; }
    [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

    /** True if the server reports a version, and it is this one or newer. */
    [[nodiscard]] bool at_least(int major, int minor) const noexcept
    {
        return major_ > major || (major_ == major && minor_ >= minor);
    }

    /** True if the server has SSUBSCRIBE and SPUBLISH: Redis 7, every Valkey. */
    [[nodiscard]] bool has_sharded_channels() const noexcept { return at_least(7, 0); }

private:
    void read(std::string_view text);

    std::string text_;
    int major_ = 0;
    int minor_ = 0;
};

/** Facts about the server from the handshake. */
struct ServerInfo {
    /// "redis", "valkey" ...
    std::string server;
    ServerVersion version;
    /// "standalone", "sentinel", "cluster"
    std::string mode;
    /// "master", "replica"
    std::string role;
    /// 2 or 3
    int protocol = 2;
    /// "host:port" if the server is not the one in the config; else empty
    std::string address = {};
    /// of the server process, changes with every start. Empty: not requested
    std::string run_id = {};
};

/** Parses the `name:value` lines of INFO. */
[[nodiscard]] std::map<std::string, std::string, std::less<>> read_info(std::string_view text);

/** The value of one INFO line, a part of `text`; empty: the line is missing. */
[[nodiscard]] std::string_view info_line(std::string_view text, std::string_view name);

} // namespace tenure::redis
