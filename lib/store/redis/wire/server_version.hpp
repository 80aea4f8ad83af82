// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <concepts>
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

} // namespace tenure::redis
