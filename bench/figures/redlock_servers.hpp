// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child.hpp"
#include "harness/redis_process.hpp"
#include "harness/rounds.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench
{

/** Independent servers, all held to the server's core. */
class RedlockServers
{
public:
    RedlockServers(std::string const& program, std::size_t count)
    {
        for (std::size_t server = 0; server < count; ++server)
            all_.push_back(std::make_unique<RedisProcess>(program));
    }

    [[nodiscard]] std::vector<std::uint16_t> ports() const
    {
        std::vector<std::uint16_t> all;
        all.reserve(all_.size());
        for (auto const& server : all_)
            all.push_back(server->port());
        return all;
    }

    [[nodiscard]] std::string url() const
    {
        std::string url = "redlock://";
        for (auto const port : ports())
            url += (url.back() == '/' ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
        return url;
    }

    /** Each run in a process of its own, on empty servers. */
    [[nodiscard]] Candidate candidate(std::string name, Place place, std::function<Measurement()> measure) const
    {
        return {std::move(name), [this, place, measure = std::move(measure)] {
                    for (auto const& server : all_)
                        server->flush();
                    return in_child(place, measure);
                }};
    }

private:
    std::vector<std::unique_ptr<RedisProcess>> all_;
};

} // namespace bench
