// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <net/name_lookup.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

/** Resolves the addresses of all servers at once, because the C client would block for each of them. Ends with the
 *  object. */
class HostSearch
{
public:
    /** Addresses of each server, such as `127.0.0.1:2181`. */
    using Addresses = std::vector<std::vector<std::string>>;
    struct Result {
        Addresses addresses;
        /// all addresses in the form of the C client: `127.0.0.1:2181,::1:2181`; empty: none found
        std::string servers;
        /// the servers that were not found, and why
        std::string error;
    };
    using Handler = std::function<void(Result const&)>;

    /** Starts the search. The handler is called once on the strand, never inside this call, and may destroy the
     *  search.
     *  @param known  earlier results, used for servers that cannot be found now */
    HostSearch(
        std::shared_ptr<Runtime> const& runtime, std::vector<Endpoint> const& servers, Addresses known, Handler handler)
        : handler_(std::move(handler))
        , open_(servers.size())
    {
        result_.addresses = std::move(known);
        result_.addresses.resize(servers.size());
        for (std::size_t i = 0; i < servers.size(); ++i)
            lookups_.emplace_back(
                runtime, servers[i].host,
                [this, i, server = servers[i]](net::StreamError const& error, net::NameLookup::Addresses const& found) {
                    if (error)
                        result_.error +=
                            (result_.error.empty() ? "" : "; ") + net::NameLookup::explain(server.host, error);
                    add(i, server.port, found);
                });
    }
    HostSearch(HostSearch const&) = delete;
    HostSearch& operator=(HostSearch const&) = delete;
    ~HostSearch() = default;

private:
    void add(std::size_t position, std::uint16_t port, net::NameLookup::Addresses const& found)
    {
        std::vector<std::string> addresses;
        for (auto const& address : found)
            addresses.push_back(address.to_string() + ":" + std::to_string(port));
        // a resolver rotates them, and the C client chooses its own order
        std::ranges::sort(addresses);
        if (!addresses.empty())
            result_.addresses[position] = std::move(addresses);
        if (--open_ > 0)
            return;
        for (auto const& of_one : result_.addresses)
            for (auto const& address : of_one)
                result_.servers += (result_.servers.empty() ? "" : ",") + address;
        auto const result = std::move(result_);
        std::exchange(handler_, nullptr)(result);
    }

    Handler handler_;
    Result result_;
    /// one per server
    std::list<net::NameLookup> lookups_;
    /// number of pending lookups
    std::size_t open_;
};

} // namespace tenure::zookeeper
