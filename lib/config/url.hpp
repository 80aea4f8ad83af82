// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// URLs of stores: parsing, and reading of their options into the fields of a config.
#pragma once

#include <config/duration.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** Schemes of the URLs for one kind of store. */
struct UrlScheme {
    std::string_view plain;
    /// scheme over TLS; empty: not offered
    std::string_view over_tls = {};

    /** "redis://" */
    [[nodiscard]] std::string prefix(bool tls = false) const { return std::string(tls ? over_tls : plain) + "://"; }
};

namespace schemes
{

inline constexpr UrlScheme file{"file"};
inline constexpr UrlScheme memory{"memory"};
inline constexpr UrlScheme redis{"redis", "rediss"};
inline constexpr UrlScheme redis_socket{"redis+unix"};
inline constexpr UrlScheme redis_sentinel{"redis+sentinel", "rediss+sentinel"};
inline constexpr UrlScheme redis_cluster{"redis+cluster", "rediss+cluster"};
inline constexpr UrlScheme redlock{"redlock", "redlocks"};
inline constexpr UrlScheme etcd{"etcd", "etcds"};
inline constexpr UrlScheme zookeeper{"zookeeper"};
inline constexpr UrlScheme postgresql{"postgresql"};
/// what cloud providers hand out
inline constexpr UrlScheme postgres{"postgres"};

} // namespace schemes

/** Parts of a store's address: `scheme://[user[:password]@]host[:port][,host[:port]...][/path][?option=value&...]`.
 *
 *  Several hosts are allowed, which general URL parsers refuse. User, password, path and option values are
 *  percent-decoded. */
struct Url {
    /// lower case
    std::string scheme;
    std::optional<std::string> user;
    std::optional<std::string> password;
    /// IPv6 addresses without brackets; port 0 if the URL has none
    std::vector<Endpoint> hosts;
    /// with its leading '/', or empty
    std::string path;
    std::map<std::string, std::string, std::less<>> options;
};

/** Parses a URL of any scheme.
 *  @throws std::invalid_argument naming field, value and rule; never a text that could be part of a password */
[[nodiscard]] Url parse_url(std::string_view text);

/** @throws std::invalid_argument always, naming a part of the URL and the broken rule */
[[noreturn]] void refuse_url(std::string const& part, std::string const& rule);
/** As above with the value of the part, which must not be a secret. */
[[noreturn]] void refuse_url(std::string const& part, std::string_view value, std::string const& rule);

/** @param rule  for the error */
[[nodiscard]] std::uint32_t number_in_url(std::string const& part, std::string const& value, std::string const& rule);

/** The hosts, with the usual port if they have none; at least one. */
[[nodiscard]] std::vector<Endpoint> endpoints_from(Url const& url, std::uint16_t usual_port);

/** Reads the options of a URL into the fields of a config. A kind of store names each of its options once, and ends
 *  with `refuse_others`. All functions throw std::invalid_argument naming option, value and rule. */
class UrlOptions
{
public:
    explicit UrlOptions(Url const& url) noexcept
        : url_(url)
    {
    }

    /** Sets the field if the URL has the option.
     *  @param needs  condition that this URL does not meet, such as "needs rediss://"; empty: the option is allowed */
    template <class Field>
    void read(std::string const& name, Field& field, std::string const& needs = {})
    {
        if (auto const* const value = find(name, needs))
            set(field, "option " + name, *value);
    }
    /** A duration; a bare number is seconds. */
    void read_seconds(std::string const& name, std::chrono::milliseconds& field);
    /** @param rule  for the error */
    void read_number(std::string const& name, std::uint32_t& field, std::string const& rule);
    /** @param needs  condition for these options that the URL does not meet if `tls` is off
     *  @param prefix  of their names: "" or "sentinel_" */
    void read_tls(TlsConfig& tls, std::string const& needs, std::string const& prefix = {});

    /** Refuses an option of other kinds of stores. */
    void refuse(std::string const& name, std::string const& why);
    /** Refuses all options that were not named, and lists the known ones. */
    void refuse_others() const;

private:
    static void set(std::string& field, std::string const& part, std::string const& value);
    static void set(bool& field, std::string const& part, std::string const& value);
    static void set(std::chrono::milliseconds& field, std::string const& part, std::string const& value);
    template <class Field>
    static void set(std::optional<Field>& field, std::string const& part, std::string const& value)
    {
        set(field.emplace(), part, value);
    }
    /// the value of the option; null if the URL has none
    [[nodiscard]] std::string const* find(std::string const& name, std::string const& needs);

    Url const& url_;
    std::vector<std::string> known_;
};

/** Reads user and password; a user needs a password. */
template <class Config>
void read_login(Config& config, Url const& url)
{
    if (url.user && !url.password)
        refuse_url("password", "must follow the user (user:password@host; without user :password@host)");
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
}

/** Reads login, timeouts and TLS of any config that has these fields. The caller continues with its other options. */
template <class Config>
[[nodiscard]] UrlOptions read_connection(Config& config, Url const& url, UrlScheme const& scheme)
{
    read_login(config, url);
    UrlOptions options(url);
    options.read("connect_timeout", config.connect_timeout);
    options.read("reconnect_backoff", config.reconnect_backoff);
    config.tls.enabled = url.scheme == scheme.over_tls;
    if (!scheme.over_tls.empty())
        options.read_tls(config.tls, "needs " + scheme.prefix(true));
    return options;
}

} // namespace tenure
