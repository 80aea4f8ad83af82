// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches that share a stream: the member refuses one of them, or sends messages of no use. In
// virtual time, with a member that the test plays.
#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_stream.hpp"

#include "store/etcd/backend.hpp"
#include "store/etcd/http/base64.hpp"
#include "store/etcd/http/limits.hpp"

#include <tenure/backend/backend.hpp>

#include <boost/asio/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

class Member : Immovable
{
public:
    Member()
        : backend(etcd::make_backend(
              runtime, EtcdConfig{{{"127.0.0.1", 2379}}},
              [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, Endpoint const&) {
                  streams_.push_back(std::make_shared<FakeStream>(strand));
                  return streams_.back();
              }))
    {
    }
    ~Member()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    /** The notifications of a watch so far. */
    struct Heard {
        std::vector<WatchEvent> events;
        std::unique_ptr<Watch> watch;

        [[nodiscard]] bool last_is(WatchEvent event) const { return !events.empty() && events.back() == event; }
    };
    [[nodiscard]] std::shared_ptr<Heard> watch(std::string const& key)
    {
        auto heard = std::make_shared<Heard>();
        heard->watch = backend->watch(
            named_key(key), WatchAs::waiter, [raw = heard.get()](WatchEvent event) { raw->events.push_back(event); });
        return heard;
    }

    void run_for(std::chrono::milliseconds time)
    {
        for (auto const end = runtime->now() + time; runtime->now() < end;) {
            runtime->run_for(1ms);
            for (auto const& stream : std::vector(streams_)) {
                if (stream->connecting)
                    stream->accept();
                runtime->run_ready();
                if (auto const request = stream->take_received(); !stream->closed && !request.empty())
                    answer(stream, request);
            }
            runtime->run_ready();
            std::erase_if(streams_, [](auto const& stream) { return stream->closed; });
        }
    }

    /** Answers the reads that were withheld. */
    void let_go()
    {
        withholds = false;
        for (auto const& [stream, request] : std::exchange(withheld_, {}))
            answer(stream, request);
        run_for(1ms);
    }

    /** The connections of all watches are lost. */
    void lose_streams()
    {
        for (auto const& stream : std::exchange(watching_, {}))
            if (!stream->closed)
                stream->end();
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Backend> backend;
    /// neither read nor watched by this user; empty: none
    std::string forbidden;
    /// reads are not answered yet
    bool withholds = false;
    /// a watch from this revision, or an earlier one, is answered in one line that is longer than the limit
    std::uint64_t too_much_at = 0;
    std::uint64_t revision = 6;
    int watches = 0;
    /// requests of the method, each of which creates watches
    std::vector<std::string> watch_requests;

private:
    [[nodiscard]] bool names_forbidden(std::string const& text) const
    {
        return !forbidden.empty() && text.find('"' + etcd::to_base64(forbidden) + '"') != std::string::npos;
    }
    [[nodiscard]] std::string header() const
    {
        return R"("header":{"revision":")" + std::to_string(revision) + R"(","raft_term":"2"})";
    }

    void answer(std::shared_ptr<FakeStream> const& stream, std::string const& request)
    {
        if (request.starts_with("POST /v3/watch")) {
            watch_requests.push_back(request);
            begin_watches(stream, request);
        } else if (withholds)
            withheld_.emplace_back(stream, request);
        else if (names_forbidden(request))
            reply(*stream, "403 Forbidden", R"({"error":"etcdserver: permission denied","code":7})");
        else
            reply(*stream, "200 OK", "{" + header() + "}");
    }

    static void reply(FakeStream& stream, std::string const& status, std::string const& body)
    {
        stream.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    static void chunk(FakeStream& stream, std::string const& text)
    {
        std::string size;
        for (auto rest = text.size(); rest > 0; rest /= 16)
            size.insert(size.begin(), "0123456789abcdef"[rest % 16]);
        stream.send(size + "\r\n" + text + "\r\n");
    }

    void begin_watches(std::shared_ptr<FakeStream> const& stream, std::string const& request)
    {
        ++watches;
        watching_.push_back(stream);
        stream->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        constexpr auto* begins = "{\"create_request\"";
        for (auto at = request.find(begins); at != std::string::npos;) {
            auto const next = request.find(begins, at + 1);
            begin_watch(*stream, request.substr(at, next == std::string::npos ? next : next - at));
            at = next;
        }
    }

    void begin_watch(FakeStream& stream, std::string const& request)
    {
        auto const text_of = [&](std::string const& name) {
            auto const begin = request.find('"' + name + "\":\"") + name.size() + 4;
            return request.substr(begin, request.find('"', begin) - begin);
        };
        // as 3.4.23 and newer do
        if (names_forbidden(request))
            chunk(
                stream, R"({"result":{)" + header() +
                            R"(,"watch_id":"-1","created":true,"canceled":true,)"
                            R"("cancel_reason":"rpc error: code = PermissionDenied desc = etcdserver: )"
                            R"(permission denied"}})"
                            "\n");
        else
            chunk(
                stream, R"({"result":{)" + header() + R"(,"watch_id":")" + text_of("watch_id") +
                            R"(","created":true}})"
                            "\n");
        if (std::stoull(text_of("start_revision")) <= too_much_at)
            for (int i = 0; i < 17; ++i)
                chunk(stream, std::string(std::size_t{64} * 1024, 'x'));
    }

    std::vector<std::shared_ptr<FakeStream>> streams_;
    std::vector<std::shared_ptr<FakeStream>> watching_;
    std::vector<std::pair<std::shared_ptr<FakeStream>, std::string>> withheld_;
};

} // namespace

TEST_CASE("a watch that is refused without its number is found, and those beside it go on", "[etcd]")
{
    Member member;
    member.forbidden = "b";
    auto const first = member.watch("a");
    auto const refused = member.watch("b");
    auto const last = member.watch("c");
    member.run_for(2s);
    CHECK(refused->events == std::vector{WatchEvent::unavailable});
    CHECK(first->last_is(WatchEvent::in_force));
    CHECK(last->last_is(WatchEvent::in_force));
    CHECK(member.watches == 2);
}

TEST_CASE("a refusal that comes when nobody wants the watch any more concerns nobody", "[etcd]")
{
    Member member;
    auto first = member.watch("a");
    member.run_for(100ms);
    REQUIRE(first->last_is(WatchEvent::in_force));
    first->watch = nullptr;
    // shortly before it is forgotten it is to be watched again, together with another one
    member.run_for(39500ms);
    member.withholds = true;
    member.forbidden = "a";
    member.lose_streams();
    auto const second = member.watch("b");
    member.run_for(900ms);
    member.let_go();
    member.run_for(2s);
    CHECK(second->last_is(WatchEvent::in_force));
}

TEST_CASE("events that do not fit in one line are skipped, and the watch goes on behind them", "[etcd]")
{
    Member member;
    auto const watch = member.watch("a");
    member.run_for(100ms);
    REQUIRE(watch->last_is(WatchEvent::in_force));
    REQUIRE(member.watches == 1);
    // much was deleted while the connection was lost
    member.revision = 5000;
    member.too_much_at = 5000;
    member.lose_streams();
    member.run_for(2s);
    CHECK(watch->last_is(WatchEvent::in_force));
    CHECK(member.watches == 3);
}

TEST_CASE("thousands of watches are spread over requests that the gateway reads to their end", "[etcd]")
{
    Member member;
    std::vector<std::shared_ptr<Member::Heard>> all;
    for (int i = 0; i < 3000; ++i)
        all.push_back(member.watch("k" + std::to_string(i)));
    auto const in_force = [&] {
        return std::ranges::count_if(all, [](auto const& heard) { return heard->last_is(WatchEvent::in_force); });
    };
    member.run_for(100ms);
    CHECK(in_force() == 3000);
    CHECK(member.watch_requests.size() >= 3);
    CHECK(member.watch_requests.size() <= 8);
    // a part that is unread when the first watch is confirmed would be discarded
    std::string const unread(etcd::never_discarded, ' ');
    for (auto const& request : member.watch_requests) {
        CHECK(request.ends_with(unread));
        CHECK(request.size() < etcd::most_watch_bytes + etcd::never_discarded + 1024);
    }
    member.watch_requests.clear();
    member.lose_streams();
    member.run_for(2s);
    CHECK(in_force() == 3000);
    CHECK(member.watch_requests.size() <= 8);
}

TEST_CASE("a few watches are one short request", "[etcd]")
{
    Member member;
    auto const first = member.watch("a");
    auto const second = member.watch("b");
    member.run_for(100ms);
    REQUIRE(member.watch_requests.size() == 1);
    CHECK(member.watch_requests.front().size() < 1024);
    CHECK(second->last_is(WatchEvent::in_force));
}
