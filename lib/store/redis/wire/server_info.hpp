// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What a server tells about itself: by HELLO, and by INFO.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** What a server says its version is, "7.0.15"; empty where it says nothing. */
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

    /** True if the server tells its version, and it is this one or newer. */
    [[nodiscard]] bool at_least(int major, int minor) const noexcept
    {
        return major_ > major || (major_ == major && minor_ >= minor);
    }

    /** SSUBSCRIBE and SPUBLISH: Redis 7, every Valkey. */
    [[nodiscard]] bool has_sharded_channels() const noexcept { return at_least(7, 0); }

private:
    void read(std::string_view text);

    std::string text_;
    int major_ = 0;
    int minor_ = 0;
};

/** Told by the handshake: what kind of server this is. */
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
    /// "host:port" where the config does not say which server this is; else empty
    std::string address = {};
    /// of the server process: another one after every start. Empty: it was not asked for
    std::string run_id = {};
};

/** The `name:value` lines of INFO. */
[[nodiscard]] std::map<std::string, std::string, std::less<>> read_info(std::string_view text);

/** The value of one of them, a part of `text`; empty: it is not there. */
[[nodiscard]] std::string_view info_line(std::string_view text, std::string_view name);

} // namespace tenure::redis
