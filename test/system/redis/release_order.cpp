// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The keys that a release may touch, and the requests that may follow it (S7, S8).
#include "harness/auditor.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cctype>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto keys = "order:";

/** Reads the server's MONITOR and finds renewals and claims that name an owner whose key was deleted before: commands
 * written after the release, by which the key could come back. A release that is asked for twice does no harm.
 *
 *  The effects of a script are learned from the commands that it runs. */
class CommandAudit
{
public:
    explicit CommandAudit(RedisServer const& server)
        : monitor_(server.client())
    {
        monitor_.call("MONITOR");
    }

    /** Reads what the server has executed until it was silent for a moment. */
    void read_all(std::chrono::milliseconds silence)
    {
        while (auto const line = monitor_.receive(silence))
            take(Words{line->text});
    }

    /** Descriptions of the late ones. */
    [[nodiscard]] std::vector<std::string> late() const
    {
        std::vector<std::string> result;
        for (auto const& [script, owner] : late_)
            if (renewing_.contains(script) || claiming_.contains(script))
                result.push_back(owner + (renewing_.contains(script) ? " renewed" : " claimed"));
        return result;
    }

    std::uint64_t claims = 0;
    std::uint64_t renewals = 0;
    std::uint64_t releases = 0;

private:
    /** The quoted words of a line, and whether a script ran it. */
    struct Words {
        explicit Words(std::string const& line)
            : by_script(line.find(" lua] ") != std::string::npos)
        {
            for (std::size_t at = line.find('"'); at != std::string::npos; at = line.find('"', at + 1)) {
                auto end = at + 1;
                while (line.at(end) != '"')
                    end += line[end] == '\\' ? 2U : 1U;
                words.push_back(line.substr(at + 1, end - at - 1));
                at = end;
            }
            for (auto& letter : words.at(0))
                letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        }
        bool by_script;
        std::vector<std::string> words;
    };

    void take(Words const& line)
    {
        auto const& words = line.words;
        if (!line.by_script)
            script_ = words.size() > 1 ? words[1] : words[0];
        for (auto const& word : words)
            if (released_.contains(word))
                late_.emplace_back(script_, word);
        if (words.size() < 2)
            return;
        if (words[0] == "set" && words[1].starts_with(keys)) {
            ++claims;
            claiming_.insert(script_);
            holder_[words[1]] = words.at(2);
        } else if (words[0] == "pexpire") {
            ++renewals;
            // a claim also extends what it finds to be its own; a script that does nothing else renews
            if (!claiming_.contains(script_))
                renewing_.insert(script_);
        } else if (words[0] == "del") {
            for (auto key = words.begin() + 1; key != words.end(); ++key)
                released(*key);
        }
    }

    void released(std::string const& key)
    {
        if (auto const found = holder_.find(key); found != holder_.end()) {
            ++releases;
            released_.insert(found->second);
            holder_.erase(found);
        }
    }

    RedisClient monitor_;
    std::map<std::string, std::string> holder_;
    std::set<std::string> released_;
    /// the script (digest or text) that runs now
    std::string script_;
    std::set<std::string> claiming_;
    std::set<std::string> renewing_;
    /// commands that named a released owner
    std::vector<std::pair<std::string, std::string>> late_;
};

/** Acquires and releases one lock over and over, each time after another part of the interval between two renewals. */
asio::awaitable<int> acquire_and_release(Lock lock, int times, bool at_once, std::uint64_t seed)
{
    int confirmed = 0;
    std::mt19937_64 random{seed};
    asio::steady_timer timer{co_await asio::this_coro::executor};
    for (int i = 0; i < times; ++i) {
        auto lease = co_await lock.async_acquire(asio::use_awaitable);
        if (!at_once) {
            timer.expires_after(std::chrono::microseconds{random() % 25'000});
            co_await timer.async_wait(asio::use_awaitable);
        }
        auto const outcome = co_await lease.async_release(asio::use_awaitable);
        confirmed += outcome == ReleaseOutcome::released ? 1 : 0;
    }
    co_return confirmed;
}

} // namespace

TEST_CASE_METHOD(RunningStoreTest, "a release does not touch a key that another client has taken", "[integration]")
{
    bool const notifications = GENERATE(true, false);
    bool const fencing = GENERATE(true, false);
    bool const destroyed = GENERATE(true, false);
    CAPTURE(notifications, fencing, destroyed);
    // a long ttl, so no renewal detects the thief first
    auto lease = std::make_unique<Lease>(
        RunningStore::acquire(running.lock("stolen", 60s, {.fencing = fencing, .notifications = notifications})));
    redis.call("SET", "stolen", "thief", "PX", 50'000);
    if (destroyed) {
        lease.reset();
        // its release is behind it on the same connection
        auto next = RunningStore::acquire(running.lock("next", 10s));
        RunningStore::release(next);
    } else {
        CHECK(lease->valid());
        CHECK(RunningStore::release(*lease) == ReleaseOutcome::was_lost);
    }
    CHECK(redis.get("stolen") == "thief");
    CHECK(redis.pttl("stolen") > 40'000);
    CHECK(redis.pttl("stolen") <= 50'000);
}

TEST_CASE_METHOD(RedisTest, "no command names a lease after its release", "[integration]")
{
    auto redis = server.client();
    bool const at_once = GENERATE(true, false);
    // renewed all the time, by many: releases meet renewals at every step
    int const locks = 50;
    int const times = (at_once ? (long_form() ? 100'000 : 5'000) : (long_form() ? 20'000 : 2'000)) / locks;
    CommandAudit audit{server};
    {
        RunningStore running{server.url()};
        std::vector<std::future<int>> ended;
        for (int i = 0; i < locks; ++i) {
            auto lock = running.lock(keys + std::to_string(i), 10s, {.renew_interval = 10ms});
            ended.push_back(asio::co_spawn(
                running.executor(), acquire_and_release(lock, times, at_once, static_cast<std::uint64_t>(i)),
                asio::use_future));
        }
        for (auto& each : ended) {
            while (each.wait_for(0s) != std::future_status::ready)
                audit.read_all(1ms);
            CHECK(each.get() == times);
        }
    }
    audit.read_all(200ms);
    WARN(
        audit.claims << " claims, " << audit.renewals << " renewals, " << audit.releases
                     << " releases executed; commands after a release: " << audit.late().size());
    for (auto const& late : audit.late())
        UNSCOPED_INFO(late);
    CHECK(audit.late().empty());
    CHECK(audit.releases == static_cast<std::uint64_t>(locks * times));
    CHECK(audit.claims == audit.releases);
    if (!at_once)
        CHECK(audit.renewals > audit.releases / 4);
    CHECK(redis.keys("order:*").empty());
}
