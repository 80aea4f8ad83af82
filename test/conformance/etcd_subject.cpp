// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// etcd: one server, or a cluster of as many as TENURE_ETCD_MEMBERS says, which serves all test cases of a process.
#include "conformance/proxied_subject.hpp"
#include "harness/etcd_server.hpp"

#include "store/etcd/backend.hpp"
#include "store/etcd/http/base64.hpp"
#include "store/etcd/http/messages.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace
{

class EtcdSubject final : public ProxiedSubject
{
public:
    EtcdSubject()
    {
        for (std::size_t i = 0; i < cluster().size(); ++i)
            add_proxy(cluster().server(i).port());
    }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        EtcdConfig config;
        for (std::size_t i = 0; i < cluster().size(); ++i)
            config.endpoints.push_back({"127.0.0.1", cluster().server(i).port()});
        return etcd::make_backend(std::move(runtime), std::move(config), etcd::socket_streams());
    }

    // whole seconds, two at least; and a server looks for expired leases twice a second
    std::chrono::milliseconds short_ttl() const override { return std::chrono::seconds{2}; }
    std::chrono::milliseconds expiry_slack() const override { return std::chrono::milliseconds{1500}; }

    // a spare lease of the server may be a twentieth of its ttl old
    std::chrono::milliseconds head_start() const override { return std::chrono::milliseconds{1500}; }

    // it would need permissions below its key
    bool plain_claims_see_places() const override { return false; }
    // test/system/etcd/shares.cpp has the same case with places of other programs
    bool many_places_are_quick() const override { return false; }

    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        auto const seconds = std::to_string(std::chrono::ceil<std::chrono::seconds>(ttl).count());
        auto const lease = post("lease/grant", R"({"TTL":")" + seconds + R"("})");
        auto const id = lease.substr(lease.find(R"("ID":")") + 6);
        auto const put = post(
            "kv/put", R"({"key":")" + etcd::to_base64(key) + R"(","value":")" + etcd::to_base64(value) +
                          R"(","lease":")" + id.substr(0, id.find('"')) + R"("})");
        if (put.find("revision") == std::string::npos)
            throw std::runtime_error("etcd: " + put);
    }
    void erase(std::string const& key) override
    {
        (void)post("kv/deleterange", R"({"key":")" + etcd::to_base64(key) + R"("})");
    }
    std::optional<std::string> value(std::string const& key) override
    {
        auto const reply = etcd::parse_range(post("kv/range", etcd::range_body({key, {}}, {})));
        if (!reply)
            throw std::runtime_error("etcd: a read was refused");
        return reply->found.empty() ? std::nullopt : std::optional(reply->found.front().value);
    }

    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        EtcdConfig config;
        for (auto const& proxy : proxies())
            config.endpoints.push_back({"127.0.0.1", proxy->port()});
        return etcd::make_backend(std::move(runtime), std::move(config), etcd::socket_streams());
    }
    bool claims_in_one_step() const override { return false; }

private:
    static EtcdCluster& cluster()
    {
        auto const* const members = std::getenv("TENURE_ETCD_MEMBERS");
        static EtcdCluster cluster{members == nullptr ? 1 : static_cast<std::size_t>(std::stoul(members))};
        return cluster;
    }
    static std::string post(std::string const& path, std::string const& body)
    {
        return etcd_post(cluster().server(0).port(), path, body);
    }
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_etcd();
    return std::make_unique<test::EtcdSubject>();
}
