// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "peers.hpp"

#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/zookeeper_server.hpp"

#include <stdexcept>
#include <thread>

namespace tenure::contention
{

using namespace std::chrono_literals;
using test::ChildProcess;
using test::Command;

namespace
{

void require(std::string const& program)
{
    if (test::find_program(program).empty())
        throw Missing{"no " + program};
}

/** `etcdctl lock`, two at a time. */
class Etcdctl final : public Peer
{
public:
    std::string url() const override { return server_.url(); }
    std::vector<std::string> kinds() const override { return {"fair", "fair", "reader", "reader", "writer", "permit"}; }
    std::string name() const override { return "etcdctl"; }

    void contend(std::string const& key, std::string const& marks, std::chrono::seconds time) override
    {
        auto const end = std::chrono::steady_clock::now() + time;
        auto const run = [&](std::string const& who) {
            while (std::chrono::steady_clock::now() < end) {
                ChildProcess lock{Command{
                    {"etcdctl", "--endpoints", "127.0.0.1:" + std::to_string(server_.port()), "lock", "--ttl", "5", key,
                     "--", test::test_program("contender"), "hold", marks, who, "3"},
                    {{"ETCDCTL_API", "3"}}}};
                (void)lock.wait_for(20s);
            }
        };
        std::jthread const other(run, "etcdctl-2");
        run("etcdctl-1");
    }

private:
    test::EtcdServer server_;
};

/** Locks of Curator, in one Java program. */
class Curator final : public Peer
{
public:
    explicit Curator(std::string kind)
        : kind_(std::move(kind))
    {
    }

    std::string url() const override { return server_.url(); }
    std::vector<std::string> kinds() const override
    {
        if (kind_ == "mutex")
            return {"fair", "fair", "permit"};
        return {"reader", "reader", "writer"};
    }
    std::string name() const override { return "curator"; }

    void contend(std::string const& key, std::string const& marks, std::chrono::seconds time) override
    {
        auto const server = "127.0.0.1:" + std::to_string(server_.port());
        ChildProcess java{Command{
            {"java", "-Xmx200m", "-cp", classpath_, test::source_path("test/contention/CuratorPeer.java"), server,
             "/" + key, kind_, std::to_string(time.count()), marks},
            {},
            directory_.file("java")}};
        if (java.wait_for(time + 60s) != test::ExitStatus{0, 0})
            throw std::runtime_error("the program with Curator failed: " + directory_.text_of("java"));
    }

private:
    /** Where Maven has put Curator and what it needs. */
    std::string classpath() const
    {
        auto const list = directory_.file("classpath");
        ChildProcess maven{Command{
            {"mvn", "-q", "-B", "-f", test::source_path("test/contention/pom.xml"), "dependency:build-classpath",
             "-Dmdep.outputFile=" + list},
            {},
            directory_.file("maven")}};
        if (maven.wait_for(120s) != test::ExitStatus{0, 0})
            throw Missing{"Maven cannot fetch Curator: " + directory_.text_of("maven")};
        return directory_.text_of("classpath");
    }

    std::string kind_;
    test::ScratchDirectory directory_;
    std::string classpath_ = classpath();
    test::ZookeeperServer server_;
};

} // namespace

std::unique_ptr<Peer> make_peer(std::string const& name)
{
    if (name == "etcdctl") {
        require("etcd");
        require("etcdctl");
        return std::make_unique<Etcdctl>();
    }
    if (name == "curator-mutex" || name == "curator-readwrite") {
        for (auto const* const program : {"mvn", "javac"})
            require(program);
        return std::make_unique<Curator>(name.substr(name.find('-') + 1));
    }
    throw std::invalid_argument(name + ": no such peer");
}

} // namespace tenure::contention
