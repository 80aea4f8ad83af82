// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "url_options.hpp"

#include <charconv>
#include <system_error>

namespace tenure::redis
{

std::uint32_t database_from(std::string const& field, std::string const& text)
{
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        refuse_url(field, text, "must be the number of a database, 0 and up");
    return number;
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

} // namespace tenure::redis
