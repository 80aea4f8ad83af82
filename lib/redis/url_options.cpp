// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "url_options.hpp"

#include <charconv>
#include <stdexcept>
#include <system_error>

namespace tenure::redis
{

void refuse_url(std::string const& field, std::string const& value, std::string const& rule)
{
    throw std::invalid_argument("store URL: " + field + " '" + value.substr(0, 200) + "': " + rule);
}

void check_url_login(Url const& url)
{
    if (url.user && !url.password)
        throw std::invalid_argument(
            "store URL: password: must follow the user (user:password@host; without user :password@host)");
}

std::uint32_t database_from(std::string const& field, std::string const& text)
{
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        refuse_url(field, text, "must be the number of a database, 0 and up");
    return number;
}

bool boolean_from(std::string const& field, std::string const& text)
{
    if (text != "true" && text != "false")
        refuse_url(field, text, "must be true or false");
    return text == "true";
}

std::chrono::milliseconds duration_from(std::string const& field, std::string const& text)
{
    auto const duration = parse_duration(text);
    if (!duration)
        refuse_url(field, text, "must be a duration such as 500ms or 2s");
    return *duration;
}

ReplicaAcknowledgement replicas_from(Url const& url)
{
    ReplicaAcknowledgement replicas;
    auto const count = url.options.find("replicas");
    auto const within = url.options.find("replicas_within");
    if (count == url.options.end()) {
        if (within != url.options.end())
            refuse_url("option replicas_within", within->second, "needs the option replicas");
        return replicas;
    }
    auto const& text = count->second;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), replicas.acknowledged_by);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        refuse_url("option replicas", text, "must be the number of replicas to wait for, 0 to 64");
    if (within != url.options.end())
        replicas.acknowledged_within = duration_from("option replicas_within", within->second);
    return replicas;
}

bool is_replica_option(std::string_view name) noexcept
{
    return name == "replicas" || name == "replicas_within";
}

void refuse_replica_options(Url const& url, std::string const& reason)
{
    for (auto const& [name, value] : url.options)
        if (is_replica_option(name))
            refuse_url("option " + name, value, "must not be there: " + reason);
}

void read_tls_option(TlsConfig& tls, std::string const& name, std::string const& value, std::string const& prefix)
{
    if (name == "tls_ca")
        tls.ca_file = value;
    else if (name == "tls_cert")
        tls.certificate_file = value;
    else if (name == "tls_key")
        tls.key_file = value;
    else if (name == "tls_server_name")
        tls.server_name = value;
    else if (name == "tls_verify")
        tls.verify = boolean_from("option " + prefix + name, value);
    else
        refuse_url(
            "option", prefix + name,
            "must be " + prefix + "tls_ca, " + prefix + "tls_cert, " + prefix + "tls_key, " + prefix +
                "tls_server_name or " + prefix + "tls_verify");
}

} // namespace tenure::redis
