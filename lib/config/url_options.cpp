// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "url_options.hpp"

namespace tenure
{

void check_url_login(Url const& url)
{
    if (url.user && !url.password)
        refuse_url("password", "must follow the user (user:password@host; without user :password@host)");
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

} // namespace tenure
