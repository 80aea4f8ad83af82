// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "url.hpp"

#include <config/number_from.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

constexpr std::size_t max_url_bytes = 8192;
constexpr std::size_t max_hosts = 64;

/// in milliseconds
constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> duration_units{
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// The text itself is never shown: it may be a password.
std::string decode(std::string const& field, std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        int const high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        int const low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            refuse_url(field, "'%' must be followed by two hexadecimal digits (write %25 for a '%')");
        auto const decoded = static_cast<char>(static_cast<unsigned char>(high * 16 + low));
        if (decoded == '\0')
            refuse_url(field, "must not hold a NUL (%00)");
        out.push_back(decoded);
        i += 2;
    }
    return out;
}

std::string parse_scheme(std::string_view text)
{
    std::string scheme(text);
    for (char& c : scheme) {
        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.')
            refuse_url(
                "scheme", "must be letters, digits, '+', '-' and '.' in front of \"://\", as in redis://host:6379");
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    }
    if (scheme.empty() || !is_letter(scheme.front()))
        refuse_url("scheme", "must begin with a letter, as in redis://host:6379");
    return scheme;
}

void check_host_name(std::string_view name)
{
    if (name.size() > 253)
        refuse_url("host", "must be no longer than 253 bytes");
    for (char const c : name)
        if (!is_letter(c) && !is_digit(c) && c != '-' && c != '.' && c != '_')
            refuse_url(
                "host", name, "must be a name of letters, digits, '-', '.' and '_', or an IPv6 address in brackets");
}

void check_ipv6_address(std::string_view address)
{
    auto const zone = address.find('%');
    for (char const c : address.substr(0, zone))
        if (hex_digit(c) < 0 && c != ':' && c != '.')
            refuse_url("host", address, "must be an IPv6 address between '[' and ']'");
    if (zone != std::string_view::npos)
        check_host_name(address.substr(zone + 1));
    if (std::count(address.begin(), address.end(), ':') < 2 || address.size() > 100)
        refuse_url("host", address, "must be an IPv6 address between '[' and ']'");
}

Url::Host parse_host(std::string_view text)
{
    Url::Host host;
    std::string_view rest;
    if (!text.empty() && text.front() == '[') {
        auto const end = text.find(']');
        if (end == std::string_view::npos)
            refuse_url("host", text, "'[' must be closed by ']'");
        host.name = text.substr(1, end - 1);
        check_ipv6_address(host.name);
        rest = text.substr(end + 1);
    } else {
        auto const colon = text.find(':');
        host.name = text.substr(0, colon);
        check_host_name(host.name);
        rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    }
    if (host.name.empty())
        refuse_url("host", "must not be empty");
    if (rest.empty())
        return host;
    auto const port = rest.front() == ':' ? number_from<std::uint16_t>(rest.substr(1)) : std::nullopt;
    if (!port || *port == 0)
        refuse_url("port", rest.front() == ':' ? rest.substr(1) : rest, "must be a number from 1 to 65535");
    host.port = port;
    return host;
}

void parse_user(Url& url, std::string_view text)
{
    auto const colon = text.find(':');
    if (auto const user = text.substr(0, colon); !user.empty())
        url.user = decode("user", user);
    if (colon != std::string_view::npos)
        url.password = decode("password", text.substr(colon + 1));
}

void parse_hosts(Url& url, std::string_view text)
{
    while (!text.empty()) {
        if (url.hosts.size() == max_hosts)
            refuse_url("hosts", "must be at most 64");
        auto const comma = text.find(',');
        url.hosts.push_back(parse_host(text.substr(0, comma)));
        if (comma == std::string_view::npos)
            return;
        text.remove_prefix(comma + 1);
        if (text.empty())
            refuse_url("host", "must not be empty after a ','");
    }
}

void parse_options(Url& url, std::string_view text)
{
    // behind a password with an '&' would come a part of it
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

    auto const colon = text.find("://");
    if (colon == std::string_view::npos)
        refuse_url("scheme", "must be followed by \"://\", as in redis://host:6379");
    Url url;
    url.scheme = parse_scheme(text.substr(0, colon));
    text.remove_prefix(colon + 3);

    auto authority = text.substr(0, text.find_first_of("/?#"));
    auto rest = text.substr(authority.size());
    // A raw '/', '?', '#' or '@' in a password would make the rest of it look like a host, a port or a path, which
    // errors show. So this comes before anything is looked at.
    if (std::count(authority.begin(), authority.end(), '@') > 1 || rest.find('@') != std::string_view::npos)
        refuse_url(
            "user and password",
            "must end at the only '@' of the URL; write '@' as %40, '/' as %2F, '?' as %3F, '#' as %23");
    if (rest.find('#') != std::string_view::npos)
        refuse_url("fragment", "must not be there: write a '#' as %23");

    if (auto const at = authority.find('@'); at != std::string_view::npos) {
        parse_user(url, authority.substr(0, at));
        authority.remove_prefix(at + 1);
    }
    parse_hosts(url, authority);

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

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text)
{
    auto const digits = std::min(text.find_first_not_of("0123456789"), text.size());
    auto const number = number_from<std::int64_t>(text.substr(0, digits));
    for (auto const& [unit, factor] : duration_units) {
        if (!number || text.substr(digits) != unit)
            continue;
        if (*number > std::numeric_limits<std::int64_t>::max() / 1'000'000 / factor)
            return std::nullopt; // would not survive the way to nanoseconds
        return std::chrono::milliseconds(*number * factor);
    }
    return std::nullopt;
}

std::string duration_text(std::chrono::milliseconds duration)
{
    auto const count = duration.count();
    for (auto const& [unit, factor] : duration_units)
        if (count != 0 && count % factor == 0)
            return std::to_string(count / factor) + std::string(unit);
    return "0ms";
}

} // namespace tenure
