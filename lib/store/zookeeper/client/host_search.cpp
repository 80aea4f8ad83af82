// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "host_search.hpp"

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

HostSearch::HostSearch(
    std::shared_ptr<Runtime> runtime, std::vector<Endpoint> servers, Addresses known, Handler handler)
    : runtime_(std::move(runtime))
    , servers_(std::move(servers))
    , handler_(std::move(handler))
    , addresses_(std::move(known))
    , open_(servers_.size())
{
    addresses_.resize(servers_.size());
}

void HostSearch::start()
{
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        lookups_.emplace_back(
            runtime_, servers_[i].host,
            [weak = weak_from_this(), i](boost::system::error_code error, net::NameLookup::Addresses const& results) {
                auto const self = weak.lock();
                if (!self)
                    return;
                auto const port = std::to_string(self->servers_[i].port);
                std::vector<std::string> addresses;
                for (auto const& address : results)
                    addresses.push_back(address.to_string() + ":" + port);
                // a resolver turns them round, and the C client has an order of its own
                std::ranges::sort(addresses);
                self->found(
                    i, std::move(addresses),
                    error ? "cannot resolve " + self->servers_[i].host + ": " + error.message() : std::string());
            });
    }
}

void HostSearch::cancel() noexcept
{
    handler_ = nullptr;
    lookups_.clear();
}

void HostSearch::found(std::size_t position, std::vector<std::string> addresses, std::string const& trouble)
{
    if (!addresses.empty())
        addresses_[position] = std::move(addresses);
    if (!trouble.empty())
        trouble_ += (trouble_.empty() ? "" : "; ") + trouble;
    if (--open_ > 0 || !handler_)
        return;
    Result result{std::move(addresses_), {}, trouble_};
    for (auto const& of_one : result.addresses)
        for (auto const& address : of_one)
            result.servers += (result.servers.empty() ? "" : ",") + address;
    std::exchange(handler_, nullptr)(result);
}

} // namespace tenure::zookeeper
