// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TENURE_ZOOKEEPER_SERVERS servers of ZooKeeper. They serve all test cases of a process, and each case has a chroot of
// its own. The person looks at another server than the library's client is told of, where there are several.
#include "conformance/proxied_subject.hpp"
#include "harness/immovable.hpp"
#include "harness/zookeeper_client.hpp"
#include "harness/zookeeper_server.hpp"

#include "store/zookeeper/backend.hpp"

#include <cstdlib>
#include <string>

namespace tenure::test
{

namespace
{

class ZookeeperSubject final : public ProxiedSubject, Immovable
{
public:
    ZookeeperSubject()
        : ProxiedSubject("")
    {
        person_.create_all(mark_);
        add_proxy(ensemble().server(0).port());
    }
    ~ZookeeperSubject() override = default;

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        auto config = settings();
        for (std::size_t i = 0; i < ensemble().size(); ++i)
            config.servers.push_back({"127.0.0.1", ensemble().server(i).port()});
        return zookeeper::make_backend(std::move(runtime), config);
    }
    /// ten ticks
    [[nodiscard]] std::chrono::milliseconds short_ttl() const override { return std::chrono::seconds{1}; }
    /// a session is looked at once in a tick, and the tests' own machine is slow
    [[nodiscard]] std::chrono::milliseconds expiry_slack() const override { return std::chrono::milliseconds{300}; }
    /// a write proves what was written a tick before it, and the last one may be a twelfth of the ttl, or a tick, old
    [[nodiscard]] std::chrono::milliseconds renewal_lag() const override { return std::chrono::milliseconds{300}; }

    // it would have to list the children
    bool plain_claims_see_places() const override { return false; }
    // a thousand at once take longer than a claim may wait, on a machine with much else to do
    bool many_places_are_quick() const override { return false; }

    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds) override
    {
        auto const path = path_of(key);
        person_.remove(path);
        person_.create_all(path.substr(0, path.rfind('/')));
        person_.create(path, value + "\n", true);
    }
    void erase(std::string const& key) override { person_.remove(path_of(key)); }
    std::optional<std::string> value(std::string const& key) override
    {
        // behind a write: a leader that has been replaced and has not noticed would let a sync pass
        auto const node = person_.get_after_write(mark_, {path_of(key)}).front();
        if (!node)
            return std::nullopt;
        return node->data.substr(0, node->data.find('\n'));
    }

    std::shared_ptr<Backend> connect_badly(std::shared_ptr<Runtime> runtime) override
    {
        auto config = settings();
        config.servers.push_back({"127.0.0.1", proxies().front()->port()});
        return zookeeper::make_backend(std::move(runtime), config);
    }
    [[nodiscard]] bool claims_in_one_step() const override { return false; }

private:
    static ZookeeperEnsemble& ensemble()
    {
        static auto const size = [] {
            char const* const text = std::getenv("TENURE_ZOOKEEPER_SERVERS");
            return text == nullptr ? std::size_t{1} : static_cast<std::size_t>(std::strtoul(text, nullptr, 10));
        }();
        static ZookeeperEnsemble ensemble(size);
        return ensemble;
    }
    [[nodiscard]] ZookeeperConfig settings() const
    {
        ZookeeperConfig config;
        config.chroot = chroot_;
        config.tick = std::chrono::milliseconds{100};
        config.longest_ttl = std::chrono::seconds{60};
        return config;
    }
    /** As docs/integrators/zookeeper-protocol.md has it. */
    [[nodiscard]] std::string path_of(std::string const& key) const
    {
        auto const digits = key.find_last_not_of("0123456789") + 1;
        auto const child = key.substr(digits);
        return chroot_ + "/" + key.substr(0, digits) + "/" + (child.empty() ? "lock" : child);
    }
    static std::string next_chroot()
    {
        static int count = 0;
        return "/suite/case" + std::to_string(++count);
    }

    std::string chroot_ = next_chroot();
    std::string mark_ = chroot_ + "-mark";
    ZookeeperClient person_{ensemble().server(ensemble().size() - 1).port()};
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    test::require_zookeeper();
    return std::make_unique<test::ZookeeperSubject>();
}
