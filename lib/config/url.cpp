// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parser for URLs of stores and their options.
#include "url.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

constexpr std::size_t max_url_bytes = 8192;
constexpr std::size_t max_hosts = 64;

constexpr std::string_view host_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr std::string_view scheme_characters = "abcdefghijklmnopqrstuvwxyz0123456789+-.";

// Never shows the text in an error, because it may be a password.
std::string decode(std::string const& field, std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        auto const digits = text.substr(i + 1, 2);
        auto const byte = digits.size() == 2 ? number_from<std::uint8_t>(digits, 16) : std::nullopt;
        if (!byte)
            refuse_url(field, "'%' must be followed by two hexadecimal digits (write %25 for a '%')");
        if (*byte == 0)
            refuse_url(field, "must not hold a NUL (%00)");
        out.push_back(static_cast<char>(*byte));
        i += 2;
    }
    return out;
}

std::string parse_scheme(std::string_view text)
{
    std::string scheme(text);
    std::ranges::transform(
        scheme, scheme.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (scheme.find_first_not_of(scheme_characters) != std::string::npos)
        refuse_url("scheme", "must be letters, digits, '+', '-' and '.' in front of \"://\", as in redis://host:6379");
    if (scheme.empty() || scheme.front() < 'a')
        refuse_url("scheme", "must begin with a letter, as in redis://host:6379");
    return scheme;
}

void check_host_name(std::string_view name)
{
    if (name.size() > 253)
        refuse_url("host", "must be no longer than 253 bytes");
    if (name.find_first_not_of(host_characters) != std::string_view::npos)
        refuse_url("host", name, "must be a name of letters, digits, '-', '.' and '_', or an IPv6 address in brackets");
}

void check_ipv6_address(std::string_view address)
{
    auto const zone = std::min(address.find('%'), address.size());
    bool const is_address = address.size() <= 100 && std::ranges::count(address, ':') >= 2 &&
                            address.find_first_not_of("0123456789abcdefABCDEF:.") >= zone;
    if (!is_address)
        refuse_url("host", address, "must be an IPv6 address between '[' and ']'");
    if (zone < address.size())
        check_host_name(address.substr(zone + 1));
}

/** The address as the system takes it: a URL writes the '%' before a zone as %25. @see RFC 6874 */
std::string with_plain_zone(std::string_view address)
{
    std::string plain(address);
    if (auto const zone = plain.find("%25"); zone != std::string::npos && zone + 3 < plain.size())
        plain.erase(zone + 1, 2);
    return plain;
}

/** Refuses a port. Text that could be a password without its '@' is not shown. */
[[noreturn]] void refuse_port(std::string_view port, bool after_user)
{
    std::string const rule = "must be a number from 1 to 65535";
    bool const may_be_password =
        !after_user && (port.size() > 5 || port.find_first_not_of("0123456789") != std::string_view::npos);
    if (may_be_password)
        refuse_url("port", rule + "; write '@' and the host behind a user and password");
    refuse_url("port", port, rule);
}

/** @param after_user  the URL has an '@' in front of its hosts */
Endpoint parse_host(std::string_view text, bool after_user)
{
    std::size_t const bracket = text.starts_with('[') ? 1 : 0;
    auto const end = std::min(text.find(bracket != 0 ? ']' : ':'), text.size());
    auto const name = text.substr(bracket, end - bracket);
    if (bracket == 0)
        check_host_name(name);
    else if (end == text.size())
        refuse_url("host", text, "'[' must be closed by ']'");
    else
        check_ipv6_address(name);
    if (name.empty())
        refuse_url("host", "must not be empty");
    auto host = bracket == 0 ? std::string(name) : with_plain_zone(name);
    auto const rest = text.substr(end + bracket);
    if (rest.empty())
        return {std::move(host), 0};
    auto const port = number_from<std::uint16_t>(rest.substr(1));
    if (rest.front() != ':' || !port || *port == 0)
        refuse_port(rest.front() == ':' ? rest.substr(1) : rest, after_user);
    return {std::move(host), *port};
}

void parse_user(Url& url, std::string_view text)
{
    auto const colon = text.find(':');
    if (auto const user = text.substr(0, colon); !user.empty())
        url.user = decode("user", user);
    if (colon != std::string_view::npos)
        url.password = decode("password", text.substr(colon + 1));
}

void parse_hosts(Url& url, std::string_view text, bool after_user)
{
    if (text.empty())
        return;
    for (auto const part : std::views::split(text, ',')) {
        if (url.hosts.size() == max_hosts)
            refuse_url("hosts", "must be at most 64");
        url.hosts.push_back(parse_host({part.begin(), part.end()}, after_user));
    }
}

void parse_options(Url& url, std::string_view text)
{
    // after a password with an unescaped '&' this would be a part of it
    bool const may_show = text.find("password") == std::string_view::npos;
    while (!text.empty()) {
        auto const end = text.find('&');
        auto const option = text.substr(0, end);
        auto const equals = option.find('=');
        auto name = decode("option", option.substr(0, equals));
        if (name.empty() || equals == std::string_view::npos)
            refuse_url("option", may_show ? option : "...", "must be written name=value");
        auto value = decode("option " + name, option.substr(equals + 1));
        if (url.options.contains(name))
            refuse_url("option", may_show ? name : "...", "must be given once");
        url.options.emplace(std::move(name), std::move(value));
        if (end == std::string_view::npos)
            return;
        text.remove_prefix(end + 1);
    }
}

} // namespace

Url parse_url(std::string_view text)
{
    if (text.size() > max_url_bytes)
        refuse_url("length", "must be at most 8192 bytes");
    for (char const c : text)
        if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) == 0x7f)
            refuse_url("characters", "must not hold spaces or control characters (write them as %20 and so on)");

    // a path needs no authority: `file:/path`, and `file:` alone
    std::string whole;
    if (text.starts_with("file:") && !text.starts_with("file://"))
        text = whole = "file://" + std::string(text.substr(5));
    auto const colon = text.find("://");
    if (colon == std::string_view::npos)
        refuse_url("scheme", "must be followed by \"://\", as in redis://host:6379");
    Url url;
    url.scheme = parse_scheme(text.substr(0, colon));
    text.remove_prefix(colon + 3);

    auto authority = text.substr(0, text.find_first_of("/?#"));
    auto rest = text.substr(authority.size());
    // A raw '/', '?', '#' or '@' in a password would make its rest look like a host, a port or a path, which errors
    // show. So this check comes first.
    if (std::count(authority.begin(), authority.end(), '@') > 1 || rest.find('@') != std::string_view::npos)
        refuse_url(
            "user and password",
            "must end at the only '@' of the URL; write '@' as %40, '/' as %2F, '?' as %3F, '#' as %23");
    if (rest.find('#') != std::string_view::npos)
        refuse_url("fragment", "must not be there: write a '#' as %23");

    auto const at = authority.find('@');
    bool const has_user = at != std::string_view::npos;
    if (has_user) {
        parse_user(url, authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }
    parse_hosts(url, authority, has_user);

    auto const query = rest.find('?');
    url.path = decode("path", rest.substr(0, query));
    if (query != std::string_view::npos)
        parse_options(url, rest.substr(query + 1));
    return url;
}

void refuse_url(std::string const& part, std::string const& rule)
{
    throw std::invalid_argument("store URL: " + part + ": " + rule);
}

void refuse_url(std::string const& part, std::string_view value, std::string const& rule)
{
    refuse_url(part + " '" + std::string(value.substr(0, 200)) + "'", rule);
}

std::uint32_t number_in_url(std::string const& part, std::string const& value, std::string const& rule)
{
    auto const number = number_from<std::uint32_t>(value);
    if (!number)
        refuse_url(part, value, rule);
    return *number;
}

std::vector<Endpoint> endpoints_from(Url const& url, std::uint16_t usual_port)
{
    if (url.hosts.empty())
        refuse_url("hosts", "must be at least one for " + url.scheme + "://");
    auto endpoints = url.hosts;
    for (auto& endpoint : endpoints)
        if (endpoint.port == 0)
            endpoint.port = usual_port;
    return endpoints;
}

std::string const* UrlOptions::find(std::string const& name, std::string const& needs)
{
    known_.push_back(name);
    auto const given = url_.options.find(name);
    if (given == url_.options.end())
        return nullptr;
    if (!needs.empty())
        refuse_url("option " + name, given->second, needs);
    return &given->second;
}

void UrlOptions::set(std::string& field, std::string const&, std::string const& value)
{
    field = value;
}

void UrlOptions::set(bool& field, std::string const& part, std::string const& value)
{
    if (value != "true" && value != "false")
        refuse_url(part, value, "must be true or false");
    field = value == "true";
}

void UrlOptions::set(std::chrono::milliseconds& field, std::string const& part, std::string const& value)
{
    auto const duration = parse_duration(value);
    if (!duration)
        refuse_url(part, value, "must be a duration such as 500ms or 2s");
    field = *duration;
}

void UrlOptions::read_seconds(std::string const& name, std::chrono::milliseconds& field)
{
    auto const* const value = find(name, {});
    if (auto const seconds = value == nullptr ? std::nullopt : number_from<std::uint32_t>(*value))
        field = std::chrono::seconds(*seconds);
    else if (value != nullptr)
        set(field, "option " + name, *value);
}

void UrlOptions::read_number(std::string const& name, std::uint32_t& field, std::string const& rule)
{
    if (auto const* const value = find(name, {}))
        field = number_in_url("option " + name, *value, rule);
}

void UrlOptions::read_tls(TlsConfig& tls, std::string const& needs, std::string const& prefix)
{
    auto const missing = tls.enabled ? std::string() : needs;
    read(prefix + "tls_ca", tls.ca_file, missing);
    read(prefix + "tls_cert", tls.certificate_file, missing);
    read(prefix + "tls_key", tls.key_file, missing);
    read(prefix + "tls_server_name", tls.server_name, missing);
    read(prefix + "tls_verify", tls.verify, missing);
}

void UrlOptions::refuse(std::string const& name, std::string const& why)
{
    static_cast<void>(find(name, why));
    known_.pop_back();
}

void UrlOptions::refuse_others() const
{
    auto const unknown = std::ranges::find_if(
        url_.options, [this](auto const& given) { return !std::ranges::count(known_, given.first); });
    if (unknown == url_.options.end())
        return;
    std::string names;
    for (auto const& name : known_)
        names += (names.empty() ? "" : ", ") + name;
    // it may be the rest of a password with an '&'
    bool const may_show = std::ranges::none_of(
        url_.options, [](auto const& given) { return given.first.find("password") != std::string::npos; });
    refuse_url(
        "option", may_show ? unknown->first : "...",
        "must be one of " + names + (may_show ? "" : "; in a password write '&' as %26"));
}

} // namespace tenure
