// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Config of PostgreSQL: parsing, checks, and its name.
#include "backend.hpp"

#include <config/rules.hpp>
#include <net/endpoint.hpp>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

namespace tenure::postgresql
{

using namespace std::chrono_literals;

namespace
{

/// of libpq, which take their values as they are
constexpr std::array parameters{"sslmode",  "sslrootcert", "sslcert",    "sslkey",
                                "passfile", "service",     "gssencmode", "channel_binding"};

/** `host:port`; `no`: no wake-ups. */
void read_listen(PostgresqlConfig& config, UrlOptions& options)
{
    std::string text;
    options.read("listen", text);
    config.notifications = text != "no";
    if (text.empty() || text == "no")
        return;
    auto const url = parse_url("postgresql://" + text);
    if (url.hosts.size() != 1 || url.user || url.password || !url.path.empty() || !url.options.empty())
        refuse_url("option listen", text, "must be host:port, or no");
    config.listen = endpoints_from(url, 5432).front();
}

} // namespace

PostgresqlConfig config_from(Url const& url)
{
    PostgresqlConfig config;
    UrlOptions options(url);
    options.read("host", config.socket_directory, url.hosts.empty() ? "" : "must not be there beside a host");
    std::uint32_t port = config.socket_port;
    options.read_number("port", port, "must be a number from 1 to 65535");
    config.socket_port = static_cast<std::uint16_t>(port > 65535 ? 0 : port);
    if (config.socket_directory.empty())
        config.endpoints = endpoints_from(url, 5432);
    config.database = url.path.size() > 1 ? url.path.substr(1) : std::string();
    config.username = url.user.value_or("");
    config.password = url.password.value_or("");
    options.read_seconds("connect_timeout", config.connect_timeout);
    options.read_seconds("reconnect_backoff", config.reconnect_backoff);
    options.read("schema", config.schema);
    read_listen(config, options);
    options.read("create", config.create);
    std::string roles;
    options.read("roles", roles, config.create ? "" : "needs create=true");
    for (auto const role : std::views::split(roles, ','))
        config.roles.emplace_back(role.begin(), role.end());
    options.read("application_name", config.application_name);
    // what leases need in any case
    std::string session = "primary";
    options.read("target_session_attrs", session);
    if (session != "primary" && session != "read-write")
        refuse_url("option target_session_attrs", session, "must be read-write or primary");
    for (auto const* const name : parameters)
        if (std::string value; options.read(name, value), !value.empty())
            config.parameters.emplace(name, value);
    options.refuse_others();
    return config;
}

void check_config(PostgresqlConfig const& config)
{
    std::string const prefix = "PostgresqlConfig::";
    auto const& socket = config.socket_directory;
    if (socket.empty())
        check_endpoints(prefix, "endpoints", config.endpoints);
    else if (socket.front() != '/' || !config.endpoints.empty() || config.socket_port == 0)
        refuse_config(prefix + "socket_directory", socket, "must be a path, without endpoints, and with a port");
    if (config.credentials && !(config.username.empty() && config.password.empty()))
        refuse_config(prefix + "credentials", "set", "must not be set where there is a user or password");
    for (auto const& [name, value] : config.parameters)
        if (std::ranges::find(parameters, name) == parameters.end() || value.find('\0') != std::string::npos)
            refuse_config(prefix + "parameters", name, "must be one of the parameters that its comment lists");
    auto const& schema = config.schema;
    if (schema.empty() || schema.size() > 31 || (schema.front() >= '0' && schema.front() <= '9') ||
        schema.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
        refuse_config(prefix + "schema", schema, "must be 1 to 31 of a-z, 0-9 and '_', and not begin with a digit");
    if (config.listen)
        check_address(prefix + "listen.", config.listen->host, config.listen->port);
    auto const printable = [](unsigned char c) { return c >= 0x20 && c < 0x7f; };
    if (config.application_name.size() > 54 || !std::ranges::all_of(config.application_name, printable))
        refuse_config(prefix + "application_name", config.application_name, "must be at most 54 printable characters");
    for (auto const& role : config.roles)
        if (role.empty() || role.find_first_of(std::string_view("\"\0", 2)) != std::string::npos)
            refuse_config(prefix + "roles", role, "must be names without '\"'");
    for (auto const* const text : {&config.database, &config.username, &config.password})
        if (text->find('\0') != std::string::npos)
            refuse_config(prefix + "database, username and password", "...", "must not hold NUL");
    check_duration(prefix + "connect_timeout", config.connect_timeout, 100ms, 1h);
    check_duration(prefix + "reconnect_backoff", config.reconnect_backoff, 10ms, 1h);
}

std::string describe(PostgresqlConfig const& config)
{
    auto const server = config.socket_directory.empty() ? to_string(config.endpoints) : std::string();
    auto const socket = config.socket_directory.empty() ? std::string() : "?host=" + config.socket_directory;
    return schemes::postgresql.prefix() + server + "/" + config.database + socket;
}

} // namespace tenure::postgresql
