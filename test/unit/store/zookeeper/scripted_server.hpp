// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"

#include "store/zookeeper/client/link.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

/** A ZooKeeper server in virtual time, without a wire: it executes the requests of all its links one after another, a
 *  fixed number in a second, and sends the events of a change before the answers that follow it. */
class ScriptedServer : Immovable
{
    struct Link;

public:
    struct Node {
        zookeeper::NodeStat stat;
        std::string data;
    };

    /** @param pause  between two requests that it executes; zero: all at once */
    explicit ScriptedServer(std::shared_ptr<FakeRuntime> runtime, Clock::duration pause = {})
        : pause_(pause)
        , runtime_(std::move(runtime))
    {
    }
    ~ScriptedServer() = default;

    [[nodiscard]] zookeeper::MakeLink links()
    {
        return [this](zookeeper::LinkSettings const& settings, zookeeper::LinkListener& listener) {
            auto link = std::make_shared<Link>(*this, settings, listener);
            links_.push_back(link);
            return link;
        };
    }

    /** False: requests wait, in order. */
    void answer(bool answers)
    {
        answers_ = answers;
        if (answers)
            work();
    }
    void set_pause(Clock::duration pause) { pause_ = pause; }
    /** Ends the connections of all sessions, which come back after a moment. A pending request is executed later, and
     * its answer is lost; or the request itself is lost. */
    void break_connections(bool requests_are_lost = false)
    {
        if (requests_are_lost)
            jobs_.clear();
        for (auto const& weak : std::vector(links_))
            if (auto const link = weak.lock())
                link->lose_connection();
    }

    // -- what another client does --
    void set(std::string const& path, std::string data)
    {
        auto& node = nodes.at(path);
        node.data = std::move(data);
        ++node.stat.version;
        notify(path, zookeeper::SessionEvent::Kind::node_changed);
    }
    void remove(std::string const& path)
    {
        nodes.erase(path);
        notify(path, zookeeper::SessionEvent::Kind::node_deleted);
    }
    void create(std::string const& path, std::string data, std::int64_t session)
    {
        nodes[path] = {{++zxid_, zookeeper::claimed_version, session}, std::move(data)};
    }

    /// all nodes, by path
    std::map<std::string, Node> nodes;
    /// requests that were executed, by kind
    std::map<zookeeper::Request::Kind, std::size_t> executed;
    /// paths of claims, in the order of their execution
    std::vector<std::string> claimed;
    /// the most requests that waited at a time, of one link
    std::size_t most_waiting = 0;

    /** Requests that wait. */
    [[nodiscard]] std::size_t waiting() const noexcept { return jobs_.size(); }
    /** The session's bytes of paths, by session. */
    [[nodiscard]] std::map<std::int64_t, std::size_t> bytes_of_sessions() const
    {
        std::map<std::int64_t, std::size_t> bytes;
        for (auto const& [path, node] : nodes)
            if (node.stat.ephemeral_owner != 0)
                bytes[node.stat.ephemeral_owner] += path.size() + 4;
        return bytes;
    }

private:
    using Kind = zookeeper::Request::Kind;

    struct Job {
        std::weak_ptr<Link> link;
        std::uint64_t connection = 0;
        zookeeper::Request request;
    };

    struct Link final : zookeeper::ServerLink, std::enable_shared_from_this<Link> {
        Link(ScriptedServer& of, zookeeper::LinkSettings with, zookeeper::LinkListener& tells)
            : server(&of)
            , settings(std::move(with))
            , listener(&tells)
        {
        }

        void start() override { connect_later(); }
        void ask(zookeeper::Request request, zookeeper::ResponseHandler handler) override
        {
            asked.push_back({std::move(handler), server->runtime_->now()});
            server->most_waiting = std::max(server->most_waiting, asked.size());
            server->jobs_.push_back({weak_from_this(), connection, std::move(request)});
            server->work();
        }
        void close(bool end_session) noexcept override
        {
            listener = nullptr;
            is_connected = false;
            if (end_session)
                std::erase_if(
                    server->nodes, [this](auto const& one) { return one.second.stat.ephemeral_owner == session; });
            fail_asked(ZCLOSING);
        }
        void drop_connection() override { lose_connection(); }
        void set_servers(std::string const&) override {}
        [[nodiscard]] bool connected() const override { return is_connected; }
        [[nodiscard]] std::chrono::milliseconds timeout() const override { return settings.timeout; }
        [[nodiscard]] std::int64_t session_id() const override { return session; }
        [[nodiscard]] std::string const& last_message() const noexcept override { return words; }
        [[nodiscard]] Instant connection_begun() const noexcept override { return begun; }

        void connect_later()
        {
            begun = server->runtime_->now();
            server->runtime_->call_at(begun + std::chrono::milliseconds{10}, [weak = weak_from_this()] {
                auto const self = weak.lock();
                if (self == nullptr || self->listener == nullptr || self->is_connected)
                    return;
                if (self->session == 0)
                    self->session = ++self->server->last_session_;
                ++self->connection;
                self->is_connected = true;
                self->listener->on_session_event({zookeeper::SessionEvent::Kind::connected});
            });
        }
        void lose_connection()
        {
            if (!std::exchange(is_connected, false))
                return;
            ++connection;
            watched.clear();
            fail_asked(ZCONNECTIONLOSS);
            server->runtime_->post([weak = weak_from_this()] {
                auto const self = weak.lock();
                if (self == nullptr || self->listener == nullptr)
                    return;
                self->listener->on_session_event({zookeeper::SessionEvent::Kind::disconnected});
                self->connect_later();
            });
        }
        void fail_asked(int code) noexcept
        {
            for (auto& one : std::exchange(asked, {}))
                server->runtime_->post(
                    [one = std::make_shared<Asked>(std::move(one)), code, now = server->runtime_->now()] {
                        one->handler(zookeeper::Response{code, one->sent, now});
                    });
        }

        struct Asked {
            zookeeper::ResponseHandler handler;
            Instant sent;
        };
        ScriptedServer* server;
        zookeeper::LinkSettings settings;
        zookeeper::LinkListener* listener;
        bool is_connected = false;
        std::int64_t session = 0;
        Instant begun{};
        /// counts connections, and their ends
        std::uint64_t connection = 0;
        std::set<std::string> watched;
        std::deque<Asked> asked;
        std::string words;
    };

    /** Executes what waits, at the server's pace. */
    void work()
    {
        if (!answers_ || jobs_.empty() || std::exchange(works_, true))
            return;
        runtime_->call_at(std::max(runtime_->now(), free_at_), [this] {
            works_ = false;
            if (!answers_ || jobs_.empty())
                return;
            free_at_ = runtime_->now() + pause_;
            auto const job = std::move(jobs_.front());
            jobs_.pop_front();
            work();
            auto const link = job.link.lock();
            if (link == nullptr)
                return;
            auto response = execute(job.request, *link);
            if (link->connection != job.connection || !link->is_connected)
                return; // it was executed, and its answer is lost
            auto one = std::move(link->asked.front());
            link->asked.pop_front();
            response.sent = one.sent;
            response.answered = runtime_->now();
            one.handler(response);
        });
    }

    [[nodiscard]] zookeeper::Response execute(zookeeper::Request const& request, Link& link)
    {
        ++executed[request.kind];
        auto const found = nodes.find(request.path);
        bool const exists = found != nodes.end();
        zookeeper::Response response{ZOK};
        switch (request.kind) {
        case Kind::claim:
            claimed.push_back(request.path);
            if (exists)
                return {ZNODEEXISTS};
            create(request.path, request.data, link.session);
            response.stat = nodes.at(request.path).stat;
            response.generation_version = ++generations_[request.generation];
            return response;
        case Kind::get:
        case Kind::exists:
            if (request.watch && (exists || request.kind == Kind::exists))
                link.watched.insert(request.path);
            if (!exists)
                return {ZNONODE};
            response.stat = found->second.stat;
            response.data = found->second.data;
            return response;
        case Kind::remove:
            if (request.generation_version && generations_[request.generation] != *request.generation_version) {
                response.code = ZBADVERSION;
                response.of_generation = true;
                return response;
            }
            if (!exists)
                return {ZNONODE};
            remove(request.path);
            return response;
        case Kind::unwatch:
            link.watched.erase(request.path);
            return response;
        default:
            return response;
        }
    }

    void notify(std::string const& path, zookeeper::SessionEvent::Kind kind)
    {
        for (auto const& weak : std::vector(links_))
            if (auto const link = weak.lock();
                link != nullptr && link->listener != nullptr && link->watched.erase(path) > 0)
                link->listener->on_session_event({kind, path});
    }

    Clock::duration pause_;
    /// it executes nothing before
    Instant free_at_{};
    std::shared_ptr<FakeRuntime> runtime_;
    std::vector<std::weak_ptr<Link>> links_;
    std::deque<Job> jobs_;
    /// versions of generations, by path
    std::map<std::string, std::int32_t> generations_;
    std::int64_t zxid_ = 0;
    std::int64_t last_session_ = 0;
    bool answers_ = true;
    bool works_ = false;
};

} // namespace tenure::test
