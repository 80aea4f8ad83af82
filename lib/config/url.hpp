// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** A store's address, taken apart: `scheme://[user[:password]@]host[:port][,host[:port]...][/path][?option=value&...]`.
 *
 *  Several hosts are allowed, which general URL parsers refuse. User, password, path and option values are
 * percent-decoded.
 */
struct Url {
    struct Host {
        /// name or address; IPv6 without its brackets
        std::string name;
        /// unset: the scheme's default
        std::optional<std::uint16_t> port;

        friend bool operator==(Host const&, Host const&) = default;
    };

    /// lower case
    std::string scheme;
    std::optional<std::string> user;
    std::optional<std::string> password;
    std::vector<Host> hosts;
    /// with its leading '/', or empty
    std::string path;
    std::map<std::string, std::string, std::less<>> options;
};

/** Takes a URL apart. Any scheme will do.
 *  @throws std::invalid_argument naming field, value and rule; never anything that could be part of a password */
[[nodiscard]] Url parse_url(std::string_view text);

/** A duration as people write it: `500ms`, `5s`, `2m`, `1h`; unset for anything else. */
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);
/** The same back to text, in the largest unit that gives a whole number. */
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);

/** @throws std::invalid_argument always, naming a part of the URL and the rule that it breaks */
[[noreturn]] void refuse_url(std::string const& part, std::string const& rule);
/** The same with the value of the part, which must hold no secret. */
[[noreturn]] void refuse_url(std::string const& part, std::string_view value, std::string const& rule);

} // namespace tenure
