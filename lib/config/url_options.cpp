// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "url_options.hpp"

#include <config/number_from.hpp>

#include <algorithm>

namespace tenure
{

namespace
{

/** Sets a field to what a part of a URL says. */
struct FieldSetter {
    std::string const& part;
    std::string const& value;

    void operator()(std::monostate) const noexcept {}
    void operator()(std::string* field) const { *field = value; }
    void operator()(bool* field) const
    {
        if (value != "true" && value != "false")
            refuse_url(part, value, "must be true or false");
        *field = value == "true";
    }
    void operator()(std::chrono::milliseconds* field) const
    {
        auto const duration = parse_duration(value);
        if (!duration)
            refuse_url(part, value, "must be a duration such as 500ms or 2s");
        *field = *duration;
    }
    void operator()(UrlNumber const& number) const { *number.field = number_in_url(part, value, number.rule); }
};

[[noreturn]] void refuse_unknown_option(Url const& url, std::string const& name, UrlOptions const& table)
{
    std::string names;
    for (auto const& option : table)
        if (option.field.index() != 0)
            names += (names.empty() ? "" : ", ") + option.name;
    // it may be the rest of a password with an '&'
    bool const may_show = std::ranges::none_of(
        url.options, [](auto const& given) { return given.first.find("password") != std::string::npos; });
    refuse_url(
        "option", may_show ? name : "...",
        "must be one of " + names + (may_show ? "" : "; in a password write '&' as %26"));
}

} // namespace

UrlOptions joined(std::initializer_list<UrlOptions> tables)
{
    UrlOptions all;
    for (auto const& table : tables)
        all.insert(all.end(), table.begin(), table.end());
    return all;
}

UrlOptions tls_options(TlsConfig& tls, std::string const& scheme, std::string const& prefix)
{
    auto const needs = tls.enabled ? std::string() : "needs " + scheme;
    return {
        {prefix + "tls_ca", &tls.ca_file, needs},    {prefix + "tls_cert", &tls.certificate_file, needs},
        {prefix + "tls_key", &tls.key_file, needs},  {prefix + "tls_server_name", &tls.server_name, needs},
        {prefix + "tls_verify", &tls.verify, needs},
    };
}

void set_options(Url const& url, UrlOptions const& table)
{
    for (auto const& option : table) {
        auto const given = url.options.find(option.name);
        if (given == url.options.end())
            continue;
        auto const part = "option " + option.name;
        if (!option.needs.empty())
            refuse_url(part, given->second, option.needs);
        std::visit(FieldSetter{part, given->second}, option.field);
    }
}

void read_options(Url const& url, UrlOptions const& table)
{
    for (auto const& [name, value] : url.options)
        if (std::ranges::find(table, name, &UrlOption::name) == table.end())
            refuse_unknown_option(url, name, table);
    set_options(url, table);
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
    std::vector<Endpoint> endpoints;
    for (auto const& host : url.hosts)
        endpoints.push_back({host.name, host.port.value_or(usual_port)});
    return endpoints;
}

} // namespace tenure
