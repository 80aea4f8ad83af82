// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the URLs of several kinds of store have: login, hosts and options.
#pragma once

#include "schemes.hpp"
#include "url.hpp"

#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/tls_config.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

namespace tenure
{

struct UrlNumber {
    std::uint32_t* field;
    /// which number it must be
    std::string rule;
};

/** An option that URLs may have; a kind of store has one table of them. */
struct UrlOption {
    std::string name;
    /// what the option sets; nothing: it is never allowed, and `needs` says why
    std::variant<std::monostate, std::string*, bool*, std::chrono::milliseconds*, UrlNumber> field;
    /// why this URL must not have the option, such as "needs rediss://"; empty: it may
    std::string needs = {};
};
using UrlOptions = std::vector<UrlOption>;

[[nodiscard]] UrlOptions joined(std::initializer_list<UrlOptions> tables);

/** @param scheme  what a URL needs to have these options, if `tls` is off
 *  @param prefix  of their names: "" or "sentinel_" */
[[nodiscard]] UrlOptions tls_options(TlsConfig& tls, std::string const& scheme, std::string const& prefix = {});

/** Sets the fields of the options that the URL has.
 *  @throws std::invalid_argument naming option, value and rule */
void set_options(Url const& url, UrlOptions const& table);
/** The same; refuses options that are not in the table, and lists those that are. */
void read_options(Url const& url, UrlOptions const& table);

/** @param rule  which number it must be
 *  @throws std::invalid_argument naming part, value and rule */
[[nodiscard]] std::uint32_t number_in_url(std::string const& part, std::string const& value, std::string const& rule);

/** The hosts, with the usual port where they have none.
 *  @throws std::invalid_argument if there are none */
[[nodiscard]] std::vector<Endpoint> endpoints_from(Url const& url, std::uint16_t usual_port);

/** @throws std::invalid_argument if there is a user without a password */
template <class Config>
void read_login(Config& config, Url const& url)
{
    if (url.user && !url.password)
        refuse_url("password", "must follow the user (user:password@host; without user :password@host)");
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
}

/** Reads login, TLS and options.
 *  @param own  the options that this kind of store has besides limits of time and TLS */
template <class Config>
void read_connection(Config& config, Url const& url, UrlScheme const& scheme, UrlOptions const& own)
{
    read_login(config, url);
    config.tls.enabled = url.scheme == scheme.over_tls;
    UrlOptions const limits{
        {"connect_timeout", &config.connect_timeout}, {"reconnect_backoff", &config.reconnect_backoff}};
    auto const tls = scheme.over_tls.empty() ? UrlOptions() : tls_options(config.tls, scheme.prefix(true));
    read_options(url, joined({limits, tls, own}));
}

} // namespace tenure
