// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/fault_proxy.hpp"

#include "harness/fault_proxy_flow.hpp"
#include "harness/loopback.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tenure::test
{

namespace
{

constexpr std::size_t index(Direction direction)
{
    return static_cast<std::size_t>(direction);
}

int tcp_socket()
{
    int const result = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), "socket");
    return result;
}

void no_delay(int socket)
{
    int const on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void reset(int socket)
{
    linger const at_once{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(socket);
}

} // namespace

/** The thread, its sockets, and what the test has asked for. */
class FaultProxy::Loop
{
public:
    explicit Loop(std::uint16_t server_port)
        : server_(loopback(server_port))
        , listener_(tcp_socket())
        , wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    {
        auto address = loopback(0);
        socklen_t length = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, length) != 0 || ::listen(listener_, 128) != 0 ||
            ::getsockname(listener_, generic, &length) != 0 || wake_ < 0)
            throw std::system_error(errno, std::generic_category(), "fault proxy");
        port = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }

    ~Loop()
    {
        change([this] { ended_ = true; });
        thread_.join();
        for (auto& connection : connections_)
            close(connection);
        ::close(listener_);
        ::close(wake_);
    }

    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;

    /** Changes the state below under the mutex and lets the thread look at it. */
    template <class Change>
    void change(Change change)
    {
        {
            std::lock_guard const lock{mutex};
            change();
        }
        std::uint64_t const one = 1;
        auto const ignored = ::write(wake_, &one, sizeof one);
        static_cast<void>(ignored);
    }

    struct Trigger {
        Direction seen_in;
        std::string pattern;
        Direction direction;
        Fault fault;
    };

    mutable std::mutex mutex;
    mutable std::condition_variable seen;
    // all of these under the mutex
    std::array<Fault, 2> faults{};
    std::optional<Trigger> trigger;
    bool reset_all = false;
    bool silence_all = false;
    bool refused = false;

    std::array<std::uint64_t, 2> received{};
    std::array<std::uint64_t, 2> passed{};
    std::uint64_t accepted = 0;
    std::uint16_t port = 0;

private:
    struct Connection {
        std::array<Flow, 2> flows;
        bool closed = false;
        /// closed by a fault: both sides see a reset
        bool broken = false;
        /// permanently silent: no bytes pass
        bool silent = false;
        /// the last bytes of each direction, where the pattern is looked for across chunks
        std::array<std::string, 2> recent{};
    };

    void run()
    {
        for (;;) {
            auto watched = descriptors();
            ::poll(watched.data(), watched.size(), timeout());
            std::uint64_t drained = 0;
            auto const ignored = ::read(wake_, &drained, sizeof drained);
            static_cast<void>(ignored);
            std::lock_guard const lock{mutex};
            if (ended_)
                return;
            if ((watched[0].revents & POLLIN) != 0)
                accept();
            for (auto& connection : connections_)
                step(connection);
            reset_all = silence_all = false;
            connections_.remove_if([](Connection& connection) {
                if (connection.closed)
                    close(connection);
                return connection.closed;
            });
        }
    }

    void step(Connection& connection)
    {
        auto const now = std::chrono::steady_clock::now();
        connection.closed = connection.broken = reset_all;
        connection.silent = connection.silent || silence_all;
        if (connection.silent && !connection.closed) {
            for (auto& flow : connection.flows)
                if (flow.wants_to_receive())
                    flow.swallow(now);
            connection.closed = !connection.flows[index(Direction::requests)].wants_to_receive();
            return;
        }
        for (std::size_t way = 0; way < 2 && !connection.closed; ++way) {
            auto& flow = connection.flows[way];
            auto& recent = connection.recent[way];
            auto const before = recent.size();
            if (flow.wants_to_receive())
                flow.receive(now, recent);
            auto const fresh = recent.size() - before;
            received[way] += fresh;
            look_for_pattern(way, recent);
            flow.apply(faults[way], fresh);
            connection.broken = flow.send(now, faults[way], passed[way]) == Flow::Result::broken;
            connection.closed = connection.broken || flow.finished(faults[way]);
        }
    }

    void look_for_pattern(std::size_t way, std::string& recent)
    {
        auto keep = std::size_t{0};
        if (trigger && index(trigger->seen_in) == way) {
            if (recent.find(trigger->pattern) != std::string::npos) {
                faults[index(trigger->direction)] = trigger->fault;
                trigger.reset();
                seen.notify_all();
            } else {
                keep = trigger->pattern.size() - 1;
            }
        }
        recent.erase(0, recent.size() - std::min(keep, recent.size()));
    }

    void accept()
    {
        int const client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0)
            return;
        ++accepted;
        int const server = tcp_socket();
        auto const* const address = reinterpret_cast<sockaddr const*>(&server_);
        if (refused || ::connect(server, address, sizeof server_) != 0) {
            ::close(server);
            reset(client);
            return;
        }
        no_delay(client);
        no_delay(server);
        connections_.push_back({{Flow{client, server}, Flow{server, client}}});
    }

    static void close(Connection& connection)
    {
        for (auto const& flow : connection.flows) {
            if (connection.broken)
                reset(flow.source());
            else
                ::close(flow.source());
        }
    }

    [[nodiscard]] std::vector<pollfd> descriptors() const
    {
        std::vector<pollfd> result{{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
        for (auto const& connection : connections_)
            for (auto const& flow : connection.flows) {
                if (flow.wants_to_receive())
                    result.push_back({flow.source(), POLLIN, 0});
                if (flow.blocked())
                    result.push_back({flow.target(), POLLOUT, 0});
            }
        return result;
    }

    /** Milliseconds until a delayed chunk is due, -1 if none is. */
    [[nodiscard]] int timeout() const
    {
        std::lock_guard const lock{mutex};
        std::optional<Flow::Time> first;
        for (auto const& connection : connections_)
            for (std::size_t way = 0; way < 2; ++way)
                if (auto const due = connection.flows[way].due(faults[way]); due && (!first || *due < *first))
                    first = due;
        if (!first)
            return -1;
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(*first - std::chrono::steady_clock::now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

    sockaddr_in server_;
    int listener_;
    /// wakes the thread after a change
    int wake_;
    bool ended_ = false;
    /// of the thread alone
    std::list<Connection> connections_;
    std::thread thread_;
};

FaultProxy::FaultProxy(std::uint16_t server_port)
    : loop_(std::make_unique<Loop>(server_port))
{
}

FaultProxy::~FaultProxy() = default;

std::uint16_t FaultProxy::port() const noexcept
{
    return loop_->port;
}

std::string FaultProxy::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

void FaultProxy::set(Direction direction, Fault fault)
{
    loop_->change([&] { loop_->faults[index(direction)] = fault; });
}

void FaultProxy::set_when(Direction seen_in, std::string pattern, Direction direction, Fault fault)
{
    loop_->change([&] { loop_->trigger = Loop::Trigger{seen_in, std::move(pattern), direction, fault}; });
}

void FaultProxy::heal()
{
    loop_->change([&] {
        loop_->faults = {};
        loop_->trigger.reset();
        loop_->refused = false;
    });
}

void FaultProxy::reset_connections()
{
    loop_->change([&] { loop_->reset_all = true; });
}

void FaultProxy::silence_connections()
{
    loop_->change([&] { loop_->silence_all = true; });
}

void FaultProxy::refuse(bool refused)
{
    loop_->change([&] { loop_->refused = refused; });
}

std::uint64_t FaultProxy::received(Direction direction) const
{
    std::lock_guard const lock{loop_->mutex};
    return loop_->received[index(direction)];
}

std::uint64_t FaultProxy::passed(Direction direction) const
{
    std::lock_guard const lock{loop_->mutex};
    return loop_->passed[index(direction)];
}

std::uint64_t FaultProxy::connections() const
{
    std::lock_guard const lock{loop_->mutex};
    return loop_->accepted;
}

bool FaultProxy::wait_seen(std::chrono::milliseconds limit) const
{
    std::unique_lock lock{loop_->mutex};
    return loop_->seen.wait_for(lock, limit, [this] { return !loop_->trigger; });
}

} // namespace tenure::test
