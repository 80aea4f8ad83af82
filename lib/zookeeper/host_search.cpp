// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "host_search.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <utility>

namespace tenure::zookeeper
{

HostSearch::HostSearch(
    std::shared_ptr<Runtime> runtime, std::vector<ZookeeperConfig::Server> servers, Addresses known, Handler handler)
    : runtime_(std::move(runtime))
    , servers_(std::move(servers))
    , handler_(std::move(handler))
    , resolver_(runtime_->strand())
    , addresses_(std::move(known))
    , open_(servers_.size())
{
    addresses_.resize(servers_.size());
}

void HostSearch::start()
{
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        auto const port = std::to_string(servers_[i].port);
        boost::system::error_code not_numeric;
        auto const address = asio::ip::make_address(servers_[i].host, not_numeric);
        if (!not_numeric) {
            // Asio's resolver would start a thread for it
            runtime_->post([self = shared_from_this(), i, text = address.to_string() + ":" + port] {
                self->found(i, {text}, {});
            });
            continue;
        }
        resolver_.async_resolve(
            servers_[i].host, port, asio::ip::resolver_base::numeric_service,
            [self = shared_from_this(), i, port](boost::system::error_code error, auto const& results) {
                std::vector<std::string> addresses;
                for (auto const& result : results)
                    addresses.push_back(result.endpoint().address().to_string() + ":" + port);
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
    resolver_.cancel();
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
