// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config/url.hpp"
#include "store/etcd/config.hpp"
#include "store/postgresql/backend.hpp"
#include "store/redis/config/config.hpp"
#include "store/zookeeper/config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace
{

void must_not_be_in(std::string_view secret, std::string const& message)
{
    if (secret.size() >= 12 && message.find(secret) != std::string::npos)
        std::abort();
}

void try_url(std::string const& text, std::string_view secret)
{
    try {
        auto const url = tenure::parse_url(text);
        for (auto const& host : url.hosts)
            if (host.host.empty())
                std::abort();
        if (url.scheme.ends_with("+sentinel"))
            tenure::redis::check_config(tenure::redis::sentinel_config_from(url));
        else if (url.scheme.ends_with("+cluster"))
            tenure::redis::check_config(tenure::redis::cluster_config_from(url));
        else if (url.scheme.starts_with("redlock"))
            tenure::redis::check_config(tenure::redis::redlock_config_from(url));
        else if (url.scheme.starts_with("etcd"))
            tenure::etcd::check_config(tenure::etcd::config_from(url));
        else if (url.scheme.starts_with("postgres"))
            tenure::postgresql::check_config(tenure::postgresql::config_from(url));
        else if (url.scheme == "zookeeper")
            tenure::zookeeper::check_config(tenure::zookeeper::config_from(url));
        else if (url.scheme != "memory")
            tenure::redis::check_config(tenure::redis::config_from(url));
    } catch (std::invalid_argument const& error) {
        must_not_be_in(secret, error.what());
    }
}

} // namespace

// For all inputs the parser either answers or throws std::invalid_argument, and no error holds a piece of a
// password.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    std::string const input(reinterpret_cast<char const*>(data), size);
    try_url(input, {});
    static_cast<void>(tenure::parse_duration(input));

    constexpr std::string_view secret = "Xsecret0word";
    auto const half = size / 2;
    try_url("redis://user:" + input.substr(0, half) + std::string(secret) + input.substr(half) + "@host:6379", secret);
    // text behind an '&' is another option, whose value may be shown
    std::string before = input.substr(0, half);
    std::erase(before, '&');
    try_url("redis+sentinel://host/name?sentinel_password=" + before + std::string(secret), secret);
    return 0;
}
