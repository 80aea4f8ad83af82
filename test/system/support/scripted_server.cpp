// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/scripted_server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

namespace tenure::test
{

namespace
{

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

/** Takes the next whole request off the input; empty if there is none yet. Bytes that are not a request are dropped. */
std::optional<Words> take_request(std::string& input)
{
    std::size_t at = 0;
    auto const number_after = [&](char mark) -> std::optional<std::size_t> {
        auto const end = input.find("\r\n", at);
        if (end == std::string::npos || input[at] != mark)
            return std::nullopt;
        auto const value = std::stoul(input.substr(at + 1, end - at - 1));
        at = end + 2;
        return value;
    };
    if (!input.empty() && input.front() != '*') {
        input.clear();
        return std::nullopt;
    }
    auto const count = number_after('*');
    if (!count)
        return std::nullopt;
    Words words;
    while (words.size() < *count) {
        auto const size = number_after('$');
        if (!size || input.size() < at + *size + 2)
            return std::nullopt;
        words.push_back(input.substr(at, *size));
        at += *size + 2;
    }
    input.erase(0, at);
    return words;
}

} // namespace

class ScriptedServer::Loop
{
public:
    Loop()
        : acceptor_(context_, tcp::endpoint{asio::ip::address_v4::loopback(), 0})
        , port_(acceptor_.local_endpoint().port())
    {
        asio::co_spawn(context_, accept(*this), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;
    ~Loop()
    {
        context_.stop();
        thread_.join();
    }

    template <class Function>
    auto locked(Function function) const
    {
        std::lock_guard const lock{mutex_};
        return function();
    }

    void say(std::string bytes)
    {
        asio::post(context_, [this, bytes = std::move(bytes)] {
            for (auto& socket : sockets_) {
                boost::system::error_code ignored;
                asio::write(socket, asio::buffer(bytes), ignored);
            }
        });
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    // under the mutex
    ScriptedKeyspace keyspace;
    Behaviour behaviour;
    std::string greeting;
    std::uint64_t accepted = 0;
    std::uint64_t ended = 0;
    std::map<Purpose, std::uint64_t> requests;
    std::string received;

private:
    using Socket = std::list<tcp::socket>::iterator;

    static asio::awaitable<void> accept(Loop& loop)
    {
        for (;;) {
            auto result = co_await loop.acceptor_.async_accept(as_result);
            auto& [error, socket] = result;
            if (error)
                co_return;
            socket.set_option(tcp::no_delay{true});
            loop.locked([&] { return ++loop.accepted; });
            loop.sockets_.push_front(std::move(socket));
            asio::co_spawn(loop.context_, serve(loop, loop.sockets_.begin()), asio::detached);
        }
    }

    static asio::awaitable<void> serve(Loop& loop, Socket socket)
    {
        std::string input;
        ScriptedKeyspace::Queued queued;
        std::array<char, 4096> buffer{};
        Answer const greeting{loop.locked([&] { return loop.greeting; })};
        bool open = co_await say(*socket, greeting);
        while (open) {
            auto const [error, size] = co_await socket->async_read_some(asio::buffer(buffer), as_result);
            if (error)
                break;
            input.append(buffer.data(), size);
            loop.locked([&] { loop.received.append(buffer.data(), size); });
            while (open) {
                auto const request = take_request(input);
                if (!request)
                    break;
                auto const answer = loop.answer(*request, queued);
                open = co_await say(*socket, answer);
            }
        }
        loop.sockets_.erase(socket);
        loop.locked([&] { return ++loop.ended; });
    }

    /** False: the connection is over. */
    static asio::awaitable<bool> say(tcp::socket& socket, Answer const& answer)
    {
        if (answer.delay.count() > 0) {
            asio::steady_timer timer{socket.get_executor(), answer.delay};
            co_await timer.async_wait(as_result);
        }
        std::size_t const piece = answer.byte_by_byte ? 1 : std::max<std::size_t>(answer.bytes.size(), 1);
        do {
            for (std::size_t at = 0; at < answer.bytes.size(); at += piece) {
                auto const part = asio::buffer(answer.bytes.data() + at, std::min(piece, answer.bytes.size() - at));
                auto const result = co_await asio::async_write(socket, part, as_result);
                if (std::get<0>(result))
                    co_return false;
            }
        } while (answer.then == Answer::Then::repeat);
        if (answer.then != Answer::Then::reset)
            co_return true;
        socket.set_option(asio::socket_base::linger{true, 0});
        co_return false;
    }

    Answer answer(Words const& request, ScriptedKeyspace::Queued& queued)
    {
        std::lock_guard const lock{mutex_};
        ++requests[purpose_of(request)];
        auto good = keyspace.answer(request, queued);
        return behaviour ? behaviour(request, good) : Answer{std::move(good)};
    }

    mutable std::mutex mutex_;
    asio::io_context context_{1};
    tcp::acceptor acceptor_;
    std::uint16_t port_;
    /// of the loop's thread
    std::list<tcp::socket> sockets_;
    std::thread thread_;
};

ScriptedServer::ScriptedServer()
    : loop_(std::make_unique<Loop>())
{
}
ScriptedServer::~ScriptedServer() = default;

std::uint16_t ScriptedServer::port() const noexcept
{
    return loop_->port();
}
std::string ScriptedServer::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}
void ScriptedServer::behave()
{
    behave(nullptr);
}
void ScriptedServer::behave(Behaviour behaviour)
{
    loop_->locked([&] { loop_->behaviour = std::move(behaviour); });
}
void ScriptedServer::greet(std::string greeting)
{
    loop_->locked([&] { loop_->greeting = std::move(greeting); });
}
void ScriptedServer::say(std::string const& bytes)
{
    loop_->say(bytes);
}
void ScriptedServer::next_token(std::uint64_t token)
{
    loop_->locked([&] { loop_->keyspace.next_token(token); });
}
std::optional<std::string> ScriptedServer::value(std::string const& key) const
{
    return loop_->locked([&] { return loop_->keyspace.value(key); });
}
std::uint64_t ScriptedServer::accepted() const
{
    return loop_->locked([&] { return loop_->accepted; });
}
std::uint64_t ScriptedServer::ended() const
{
    return loop_->locked([&] { return loop_->ended; });
}
std::uint64_t ScriptedServer::requests(Purpose purpose) const
{
    return loop_->locked([&] { return loop_->requests[purpose]; });
}
std::string ScriptedServer::received() const
{
    return loop_->locked([&] { return loop_->received; });
}

} // namespace tenure::test
