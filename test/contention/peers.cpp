// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "peers.hpp"

#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/zookeeper_server.hpp"

#include "store/etcd/http/messages.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

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

/** A person who deletes places that wait, five in a second. Nothing else ends the place of a living process before its
 *  time, and such a process enters anew, at the end. */
class Deletions final : public Peer
{
public:
    std::string url() const override { return server_.url(); }
    std::vector<std::string> kinds() const override { return {"fair", "fair", "fair", "fair"}; }
    std::string name() const override { return {}; }

    void contend(std::string const& key, std::string const&, std::chrono::seconds time) override
    {
        auto const end = std::chrono::steady_clock::now() + time;
        std::size_t deleted = 0;
        while (std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(200ms);
            auto const body = etcd::range_body({key + '/', key + '0'}, {.by_creation = true});
            auto const line = etcd::parse_range(test::etcd_post(server_.port(), "kv/range", body));
            if (!line || line->found.size() < 2)
                continue;
            // while the first one is there, no other holds
            auto const& [first, last] = std::tie(line->found.front(), line->found.back());
            etcd::Transaction remove;
            remove.if_created_at(first.key, first.create_revision).then_delete(last.key);
            auto const reply = etcd::parse_transaction(test::etcd_post(server_.port(), "kv/txn", remove.body()));
            if (reply && reply->succeeded)
                ++deleted;
        }
        if (deleted == 0)
            throw std::runtime_error("no place has waited");
    }

private:
    test::EtcdServer server_;
};

/** A Java program with the locks of another library, which Maven fetches. */
class JavaPeer : public Peer
{
protected:
    JavaPeer(std::string program, std::string const& pom)
        : program_(std::move(program))
        , classpath_(classpath(pom))
    {
    }

    void run(std::vector<std::string> const& arguments, std::chrono::seconds time) const
    {
        Command command{{"java", "-Xmx200m", "-cp", classpath_, test::source_path("test/contention/" + program_)}};
        command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
        command.output = directory_.file("java");
        ChildProcess java{command};
        if (java.wait_for(time + 60s) != test::ExitStatus{0, 0})
            throw std::runtime_error(program_ + " failed: " + directory_.text_of("java"));
    }

private:
    /** Where Maven has put the library and what it needs. */
    std::string classpath(std::string const& pom) const
    {
        for (auto const* const program : {"mvn", "javac"})
            require(program);
        auto const list = directory_.file("classpath");
        ChildProcess maven{Command{
            {"mvn", "-q", "-B", "-f", test::source_path(pom), "dependency:build-classpath",
             "-Dmdep.outputFile=" + list},
            {},
            directory_.file("maven")}};
        if (maven.wait_for(120s) != test::ExitStatus{0, 0})
            throw Missing{"Maven cannot fetch what " + program_ + " needs: " + directory_.text_of("maven")};
        return directory_.text_of("classpath");
    }

    std::string program_;
    test::ScratchDirectory directory_;
    std::string classpath_;
};

/** Locks of Curator. */
class Curator final : public JavaPeer
{
public:
    explicit Curator(std::string kind)
        : JavaPeer("CuratorPeer.java", "test/contention/pom.xml")
        , kind_(std::move(kind))
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
        run({"127.0.0.1:" + std::to_string(server_.port()), "/" + key, kind_, std::to_string(time.count()), marks},
            time);
    }

private:
    std::string kind_;
    test::ZookeeperServer server_;
};

/** RLock or RFencedLock of Redisson. */
class Redisson final : public JavaPeer
{
public:
    explicit Redisson(std::string kind)
        : JavaPeer("RedissonPeer.java", "test/system/redis/redisson/pom.xml")
        , kind_(std::move(kind))
    {
    }

    std::string url() const override { return server_.url() + "?lock_layout=redisson"; }
    std::vector<std::string> kinds() const override
    {
        // RLock counts no tokens
        return kind_ == "fenced" ? std::vector<std::string>{"plain", "plain", "plain"}
                                 : std::vector<std::string>{"unfenced", "unfenced", "late"};
    }
    std::string name() const override { return "redisson"; }

    void contend(std::string const& key, std::string const& marks, std::chrono::seconds time) override
    {
        run({std::to_string(server_.port()), key, kind_, std::to_string(time.count()), marks}, time);
    }

private:
    std::string kind_;
    test::RedisServer server_;
};

} // namespace

std::unique_ptr<Peer> make_peer(std::string const& name)
{
    if (name == "etcdctl") {
        require("etcd");
        require("etcdctl");
        return std::make_unique<Etcdctl>();
    }
    if (name == "etcd-deletions") {
        require("etcd");
        return std::make_unique<Deletions>();
    }
    auto const kind = name.substr(std::min(name.find('-') + 1, name.size()));
    if (name == "curator-mutex" || name == "curator-readwrite")
        return std::make_unique<Curator>(kind);
    if (name == "redisson-lock" || name == "redisson-fenced") {
        require("redis-server");
        return std::make_unique<Redisson>(kind);
    }
    throw std::invalid_argument(name + ": no such peer");
}

} // namespace tenure::contention
