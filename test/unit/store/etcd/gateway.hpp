// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/renewals.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_stream.hpp"

#include "store/etcd/backend.hpp"
#include "store/etcd/http/base64.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

/** A backend of etcd in virtual time, and the gateway of one member, played: it has the key "lock" and nothing else,
 * and carries out what claims, renewals and releases of that key ask. */
class EtcdGateway : Immovable
{
public:
    static constexpr auto ttl = 20s;
    /// of every answer
    static constexpr auto round_trip = 1ms;

    /** @param range  one key, in place of "lock" */
    explicit EtcdGateway(std::uint32_t connections = EtcdConfig{}.connections, KeyRangePtr range = named_key("lock"))
        : backend(etcd::make_backend(
              runtime, config_of(connections),
              [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, Endpoint const&) {
                  streams_.push_back(std::make_shared<FakeStream>(strand));
                  return streams_.back();
              }))
        , range_(std::move(range))
    {
    }
    ~EtcdGateway()
    {
        backend->shutdown();
        runtime->run_ready(); // completes the requests that were under way
    }

    [[nodiscard]] ClaimRequest request(std::string owner) const
    {
        ClaimRequest request;
        request.range = range_;
        request.owner = std::move(owner);
        request.ttl = ttl;
        request.not_after = runtime->now() + 5s;
        return request;
    }

    ClaimReply claim(ClaimRequest const& request)
    {
        return answer_of<ClaimReply>([&](auto handler) { backend->claim(request, std::move(handler)); });
    }

    Granted claim()
    {
        auto reply = claim(request("me/1"));
        REQUIRE(std::holds_alternative<Granted>(reply));
        return std::get<Granted>(std::move(reply));
    }

    [[nodiscard]] ClaimPtr held(Granted const& grant) const
    {
        auto claim = std::make_shared<Claim>();
        claim->range = range_;
        claim->owner = "me/1";
        claim->handle = grant.handle;
        return claim;
    }

    RenewReply renew(ClaimPtr const& claim, std::chrono::milliseconds wanted = ttl)
    {
        return answer_of<RenewReply>(
            [&](auto handler) { renew_one(*backend, {claim, wanted, runtime->now() + 5s}, std::move(handler)); });
    }

    /** A reply without a waiting request. */
    void begin_renewal(ClaimPtr const& claim, std::chrono::milliseconds other_ttl)
    {
        renew_one(*backend, {claim, other_ttl, runtime->now() + 5s});
        run_for(10 * round_trip);
    }

    ReleaseReply release(ClaimPtr const& claim)
    {
        return answer_of<ReleaseReply>(
            [&](auto handler) { backend->release({claim, runtime->now() + 5s}, std::move(handler)); });
    }

    EvictReply evict()
    {
        return answer_of<EvictReply>([&](auto handler) {
            backend->evict({range_, 0, "me/1", "operator", runtime->now() + 5s}, std::move(handler));
        });
    }

    InspectReply inspect(bool names_only)
    {
        return answer_of<InspectReply>(
            [&](auto handler) { backend->inspect({range_, runtime->now() + 5s, names_only}, std::move(handler)); });
    }

    void release(Granted const& grant) { REQUIRE(std::holds_alternative<Released>(release(held(grant)))); }

    void run_for(std::chrono::milliseconds time)
    {
        auto const end = runtime->now() + time;
        while (runtime->now() < end) {
            runtime->run_for(round_trip);
            serve();
        }
    }

    /** Carries out what was withheld. */
    void let_go()
    {
        withheld.clear();
        for (auto const& [stream, request] : std::exchange(withheld_, {}))
            carry_out(*stream, request);
    }

    /** Another client writes the key, and only its revision changes. */
    void touch() { modified_ = ++revision_; }

    /** How many requests of this kind there were since the last time. */
    [[nodiscard]] std::ptrdiff_t take(std::string_view path)
    {
        auto const count = std::ranges::count(asked_, path);
        std::erase(asked_, path);
        return count;
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Backend> backend;
    /// term of the members that answer keep-alives
    int term_of_keep_alives = 2;
    int term_of_grants = 2;
    int term_of_transactions = 2;
    /// a keep-alive finds no lease
    bool forgotten = false;
    /// transactions that put the key are executed, and their replies are lost
    bool mute = false;
    /// transactions that put the key are carried out, and refused all the same: there was no space left for them
    bool out_of_space = false;
    /// transactions that read this key are refused
    std::string forbidden;
    /// requests with this text are not carried out yet
    std::string withheld;
    /// leases of one keep-alive request that are read; the others get no answer
    std::size_t leases_per_request = 1000;
    /// the most leases that one request has kept
    std::size_t kept_together = 0;
    /// called when a request is there, before it is carried out
    std::function<void(std::string const& path)> on_request;
    std::string last_transaction;
    /// which the key bears; empty: there is no key
    std::string lease_of_key;

private:
    static EtcdConfig config_of(std::uint32_t connections)
    {
        EtcdConfig config{{{"127.0.0.1", 2379}}};
        config.connections = connections;
        return config;
    }

    template <class Reply, class Ask>
    Reply answer_of(Ask ask)
    {
        auto const reply = std::make_shared<std::optional<Reply>>();
        ask([reply](Reply answer) { *reply = std::move(answer); });
        for (int turn = 0; turn < 100 && !*reply; ++turn) {
            runtime->run_for(round_trip);
            serve();
            runtime->run_ready();
        }
        REQUIRE(*reply);
        return std::move(**reply);
    }

    void serve()
    {
        for (auto const& stream : std::vector(streams_)) {
            if (stream->closed)
                continue;
            if (stream->connecting)
                stream->accept();
            runtime->run_ready();
            auto const request = stream->take_received();
            if (request.empty())
                continue;
            if (!withheld.empty() && request.find(withheld) != std::string::npos)
                withheld_.emplace_back(stream, request);
            else
                carry_out(*stream, request);
        }
        runtime->run_ready();
    }

    void carry_out(FakeStream& stream, std::string const& request)
    {
        auto const body = answer(request);
        if ((mute && last_was_put_) || stream.closed)
            return;
        if (out_of_space && last_was_put_) {
            send(stream, "429 Too Many Requests", R"({"error":"etcdserver: mvcc: database space exceeded","code":8})");
            return;
        }
        if (!forbidden.empty() && request.find(etcd::to_base64(forbidden)) != std::string::npos) {
            send(stream, "403 Forbidden", R"({"error":"etcdserver: permission denied","code":7})");
            return;
        }
        send(stream, "200 OK", body);
    }

    static void send(FakeStream& stream, std::string const& status, std::string const& body)
    {
        stream.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    std::string answer(std::string const& request)
    {
        auto const begin = request.find("/v3/") + 4;
        auto const path = request.substr(begin, request.find(' ', begin) - begin);
        asked_.push_back(path);
        last_was_put_ = false;
        if (on_request)
            on_request(path);
        if (path == "lease/keepalive")
            return keep_alives(request);
        if (path == "lease/grant")
            return "{" + header(term_of_grants) + R"(,"TTL":")" + string_at(request, "TTL") + R"("})";
        if (path == "lease/timetolive")
            return "{" + header(term_of_transactions) + R"(,"TTL":"10","grantedTTL":"20"})";
        if (path == "kv/range")
            return "{" + header(term_of_transactions) + (lease_of_key.empty() ? "" : ",") + key_as_read() + "}";
        if (path == "kv/txn")
            return transaction(request.substr(request.find("\r\n\r\n") + 4));
        return "{" + header(term_of_transactions) + "}";
    }

    [[nodiscard]] std::string header(int term) const
    {
        return R"("header":{"revision":")" + std::to_string(revision_) + R"(","raft_term":")" + std::to_string(term) +
               R"("})";
    }

    /** A line for each lease, up to `leases_per_request` of them. */
    std::string keep_alives(std::string const& request)
    {
        std::string lines;
        std::size_t count = 0;
        for (auto at = request.find(R"("ID")"); at != std::string::npos && count < leases_per_request;
             at = request.find(R"("ID")", at + 1)) {
            ++count;
            lines += R"({"result":{)" + header(term_of_keep_alives) + R"(,"ID":")" +
                     string_at(request.substr(at), "ID") + (forgotten ? R"("}})" : R"(","TTL":"20"}})") + "\n";
        }
        kept_together = std::max(kept_together, count);
        return lines;
    }

    /** True if all comparisons of the key's last change hold. */
    [[nodiscard]] bool unchanged(std::string const& body) const
    {
        for (auto at = body.find(R"("mod_revision")"); at != std::string::npos;
             at = body.find(R"("mod_revision")", at + 1))
            if (lease_of_key.empty() || string_at(body.substr(at), "mod_revision") != std::to_string(modified_))
                return false;
        return true;
    }

    std::string transaction(std::string const& body)
    {
        last_transaction = body;
        if (body.find("request_put") == std::string::npos && body.find("request_delete_range") == std::string::npos) {
            if (!unchanged(body))
                return "{" + header(term_of_transactions) + "}";
            return "{" + header(term_of_transactions) + R"(,"succeeded":true,"responses":[)" + reads(body) + "]}";
        }
        // the default, version 0, is left out
        bool const absent_wanted = body.find(R"("target")") == std::string::npos;
        auto const as_wanted = [&](std::string const& name, std::uint64_t value) {
            auto const wanted = string_at(body, name);
            return wanted.empty() || wanted == std::to_string(value);
        };
        bool const holds = absent_wanted ? lease_of_key.empty()
                                         : !lease_of_key.empty() && as_wanted("mod_revision", modified_) &&
                                               as_wanted("create_revision", created_);
        if (!holds)
            return "{" + header(term_of_transactions) + R"(,"responses":[{"response_range":{)" + key_as_read() + "}}]}";
        ++revision_;
        last_was_put_ = body.find("request_put") != std::string::npos;
        lease_of_key = last_was_put_ ? string_at(body, "lease") : std::string();
        modified_ = revision_;
        if (absent_wanted)
            created_ = revision_;
        return "{" + header(term_of_transactions) + R"(,"succeeded":true})";
    }

    /** As many as are asked for, and each of them shows the key. */
    [[nodiscard]] std::string reads(std::string const& body) const
    {
        std::string text;
        for (auto at = body.find("request_range"); at != std::string::npos; at = body.find("request_range", at + 1))
            text += (text.empty() ? "" : ",") + (R"({"response_range":{)" + key_as_read() + "}}");
        return text;
    }

    [[nodiscard]] std::string key_as_read() const
    {
        if (lease_of_key.empty())
            return {};
        return R"("kvs":[{"key":")" + etcd::to_base64(range_->key(0)) + R"(","create_revision":")" +
               std::to_string(created_) + R"(","mod_revision":")" + std::to_string(modified_) +
               R"(","value":"bWUvMQ==","lease":")" + lease_of_key + R"("}],"count":"1")";
    }

    static std::string string_at(std::string const& body, std::string const& name)
    {
        auto const at = body.find('"' + name + R"(":")");
        auto const begin = at + name.size() + 4;
        return at == std::string::npos ? std::string() : body.substr(begin, body.find('"', begin) - begin);
    }

    std::vector<std::shared_ptr<FakeStream>> streams_;
    std::vector<std::pair<std::shared_ptr<FakeStream>, std::string>> withheld_;
    std::vector<std::string> asked_;
    bool last_was_put_ = false;
    std::uint64_t revision_ = 6;
    std::uint64_t created_ = 0;
    std::uint64_t modified_ = 0;
    KeyRangePtr const range_;
};

} // namespace tenure::test
