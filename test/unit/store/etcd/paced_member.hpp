// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_stream.hpp"

#include "store/etcd/backend.hpp"
#include "store/etcd/http/json.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

/** A member of etcd in virtual time. It executes a number of requests a second, in the order in which they arrive on
 * all connections. It knows leases, keys, and the transactions of claims, renewals and releases. */
class PacedMember : Immovable
{
public:
    PacedMember(std::shared_ptr<FakeRuntime> runtime, std::size_t per_second)
        : runtime_(std::move(runtime))
        , step_(std::min<Clock::duration>(1ms, Clock::duration(1s) / static_cast<std::int64_t>(per_second)))
        , per_step_(static_cast<double>(per_second) * std::chrono::duration<double>(step_).count())
    {
    }

    [[nodiscard]] etcd::StreamFactory streams()
    {
        return [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, Endpoint const&) {
            streams_.push_back(std::make_shared<FakeStream>(strand));
            ++connections;
            return streams_.back();
        };
    }

    void run_for(Clock::duration time)
    {
        for (auto const end = runtime_->now() + time; runtime_->now() < end;)
            step();
    }
    /** Runs until the condition holds, for at most `limit`; returns whether it holds. */
    template <class Condition>
    bool run_while_not(Condition condition, Clock::duration limit)
    {
        for (auto const end = runtime_->now() + limit; runtime_->now() < end && !condition();)
            step();
        return condition();
    }

    /** Another client deletes the key. */
    void remove(std::string const& base64_key)
    {
        keys_.erase(base64_key);
        ++revision_;
    }
    /** Another client takes the key away from its holder and holds it. */
    void take(std::string const& base64_key)
    {
        constexpr std::int64_t its_lease = 1;
        leases_[its_lease] = {1000, runtime_->now() + 1000s};
        ++revision_;
        keys_[base64_key] = {revision_, revision_, its_lease, "b3RoZXI="};
    }
    /** Requests that have arrived are never executed. */
    void lose_requests() { arrived_.clear(); }

    [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }
    [[nodiscard]] std::size_t leases() const noexcept { return leases_.size(); }

    /// takes requests, and executes none
    bool silent = false;
    /// connections that were begun
    std::size_t connections = 0;
    /// executed requests, by path
    std::map<std::string, std::size_t, std::less<>> executed;
    /// executed requests in their order: path and body; only while `records`
    std::vector<std::pair<std::string, std::string>> log;
    bool records = false;

private:
    struct Key {
        std::uint64_t created = 0;
        std::uint64_t modified = 0;
        std::int64_t lease = 0;
        std::string value;
    };
    struct Lease {
        std::int64_t seconds = 0;
        Instant until{};
    };
    using Connection = std::shared_ptr<FakeStream>;

    void step()
    {
        runtime_->run_for(step_);
        for (auto const& stream : std::vector(streams_)) {
            if (stream->connecting)
                stream->accept();
            runtime_->run_ready();
            if (auto request = stream->take_received(); !stream->closed && !request.empty())
                arrived_.emplace_back(stream, std::move(request));
        }
        std::erase_if(streams_, [](Connection const& stream) { return stream->closed; });
        expire();
        // an idle member saves up nothing
        credit_ = std::min(credit_ + per_step_, std::max(per_step_, 1.0));
        for (; !silent && credit_ >= 1 && !arrived_.empty(); credit_ -= 1) {
            auto const [stream, request] = std::move(arrived_.front());
            arrived_.pop_front();
            execute(*stream, request);
        }
        runtime_->run_ready();
    }

    void expire()
    {
        if (runtime_->now() < expire_at_)
            return;
        expire_at_ = runtime_->now() + 100ms;
        std::erase_if(leases_, [this](auto const& entry) { return entry.second.until <= runtime_->now(); });
        std::erase_if(keys_, [this](auto const& entry) { return !leases_.contains(entry.second.lease); });
    }

    void execute(FakeStream& stream, std::string const& request)
    {
        auto const begin = request.find("/v3/") + 4;
        auto const path = request.substr(begin, request.find(' ', begin) - begin);
        auto const body = request.substr(request.find("\r\n\r\n") + 4);
        ++executed[path];
        if (records)
            log.emplace_back(path, body);
        auto status = std::string("200 OK");
        auto const reply = answer(path, body, status);
        if (!stream.closed)
            stream.send(
                "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(reply.size()) + "\r\n\r\n" + reply);
    }

    static std::int64_t number(etcd::json::object const& object, char const* name)
    {
        auto const* const value = object.if_contains(name);
        return value == nullptr ? 0 : std::stoll(std::string(value->as_string()));
    }
    static std::string text(etcd::json::object const& object, char const* name)
    {
        auto const* const value = object.if_contains(name);
        return value == nullptr ? std::string() : std::string(value->as_string());
    }

    [[nodiscard]] std::string header() const
    {
        return R"("header":{"revision":")" + std::to_string(revision_) + R"(","raft_term":"2"})";
    }

    std::string answer(std::string const& path, std::string const& body, std::string& status)
    {
        if (path == "lease/keepalive")
            return keep_alives(body);
        auto const parsed = etcd::json::parse(body);
        auto const& object = parsed.get_object();
        if (path == "lease/grant") {
            auto const seconds = number(object, "TTL");
            leases_[number(object, "ID")] = {seconds, runtime_->now() + std::chrono::seconds(seconds)};
            return "{" + header() + R"(,"ID":")" + text(object, "ID") + R"(","TTL":")" + text(object, "TTL") + R"("})";
        }
        if (path == "lease/revoke") {
            auto const id = number(object, "ID");
            if (leases_.erase(id) == 0) {
                status = "404 Not Found";
                return R"({"error":"etcdserver: requested lease not found","code":5})";
            }
            std::erase_if(keys_, [id](auto const& entry) { return entry.second.lease == id; });
            ++revision_;
            return "{" + header() + "}";
        }
        if (path == "kv/range")
            return "{" + header() + range(object) + "}";
        return transaction(object);
    }

    std::string keep_alives(std::string const& body)
    {
        std::string lines;
        for (std::size_t at = 0; at < body.size();) {
            auto const end = body.find('}', at) + 1;
            auto const id = number(etcd::json::parse(body.substr(at, end - at)).get_object(), "ID");
            at = end;
            lines += R"({"result":{)" + header() + R"(,"ID":")" + std::to_string(id) + '"';
            if (auto const found = leases_.find(id); found != leases_.end()) {
                found->second.until = runtime_->now() + std::chrono::seconds(found->second.seconds);
                lines += R"(,"TTL":")" + std::to_string(found->second.seconds) + '"';
            }
            lines += "}}\n";
        }
        return lines;
    }

    std::string range(etcd::json::object const& object)
    {
        auto const found = keys_.find(text(object, "key"));
        if (found == keys_.end())
            return {};
        auto const& key = found->second;
        return R"(,"kvs":[{"key":")" + found->first + R"(","create_revision":")" + std::to_string(key.created) +
               R"(","mod_revision":")" + std::to_string(key.modified) + R"(","value":")" + key.value +
               R"(","lease":")" + std::to_string(key.lease) + R"("}],"count":"1")";
    }

    [[nodiscard]] bool holds(etcd::json::object const& compare) const
    {
        auto const found = keys_.find(text(compare, "key"));
        auto const target = text(compare, "target");
        if (target.empty())
            return found == keys_.end();
        if (found == keys_.end())
            return false;
        auto const& key = found->second;
        if (target == "MOD")
            return std::to_string(key.modified) == text(compare, "mod_revision");
        if (target == "CREATE")
            return std::to_string(key.created) == text(compare, "create_revision");
        return key.value == text(compare, "value");
    }

    std::string transaction(etcd::json::object const& object)
    {
        auto const* const compares = object.if_contains("compare");
        bool const succeeded =
            compares == nullptr ||
            std::ranges::all_of(compares->get_array(), [this](auto const& one) { return holds(one.get_object()); });
        auto const* const branch = object.if_contains(succeeded ? "success" : "failure");
        std::string responses;
        bool changed = false;
        for (auto const& one : branch == nullptr ? etcd::json::array() : branch->get_array()) {
            auto const& operation = one.get_object().begin()->value().get_object();
            auto const kind = one.get_object().begin()->key();
            auto const key = text(operation, "key");
            responses += responses.empty() ? "" : ",";
            if (kind == "request_range") {
                auto const read = range(operation);
                responses += R"({"response_range":{)" + (read.empty() ? read : read.substr(1)) + "}}";
                continue;
            }
            if (!std::exchange(changed, true))
                ++revision_;
            responses += "{}";
            if (kind == "request_delete_range") {
                keys_.erase(key);
                continue;
            }
            auto& put = keys_[key];
            put.created = put.created == 0 ? revision_ : put.created;
            put.modified = revision_;
            put.lease = number(operation, "lease");
            put.value = text(operation, "value");
        }
        return "{" + header() + (succeeded ? R"(,"succeeded":true)" : "") + R"(,"responses":[)" + responses + "]}";
    }

    std::shared_ptr<FakeRuntime> runtime_;
    Clock::duration step_;
    /// requests that are executed in one step
    double per_step_;
    double credit_ = 0;
    Instant expire_at_{};
    std::vector<Connection> streams_;
    std::deque<std::pair<Connection, std::string>> arrived_;
    std::map<std::string, Key, std::less<>> keys_;
    std::map<std::int64_t, Lease> leases_;
    std::uint64_t revision_ = 6;
};

} // namespace tenure::test
