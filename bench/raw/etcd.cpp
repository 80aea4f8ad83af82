// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/etcd.hpp"

#include "harness/stopwatch.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

std::string base64(std::string_view bytes)
{
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        auto const part = bytes.substr(i, 3);
        unsigned bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8U | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            text.push_back(k <= part.size() ? alphabet[bits >> (18 - 6 * k) & 0x3fU] : '=');
    }
    return text;
}

std::string request(std::string_view path, std::string const& body)
{
    return "POST /v3/" + std::string(path) +
           " HTTP/1.1\r\nHost: bench\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/** One connection with one request under way. */
class Wire
{
public:
    explicit Wire(std::uint16_t port)
        : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int const one = 1;
        ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (::connect(descriptor_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
            ::close(descriptor_);
            throw std::system_error(errno, std::generic_category(), "connect to etcd");
        }
    }
    Wire(Wire const&) = delete;
    Wire& operator=(Wire const&) = delete;
    ~Wire() { ::close(descriptor_); }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    void send(std::string_view text) const
    {
        while (!text.empty()) {
            auto const sent = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0)
                throw std::system_error(errno, std::generic_category(), "send to etcd");
            text.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    /** Waits for bytes; true once the reply is there as a whole. All replies that are measured tell their length. */
    [[nodiscard]] bool receive()
    {
        std::array<char, 4096> buffer;
        auto const size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (size <= 0)
            throw std::runtime_error("etcd closed a connection");
        input_.append(buffer.data(), static_cast<std::size_t>(size));
        auto const header = input_.find("\r\n\r\n");
        if (header == std::string::npos)
            return false;
        constexpr std::string_view field = "Content-Length: ";
        auto const length = input_.find(field);
        if (!input_.starts_with("HTTP/1.1 200") || length > header)
            throw std::runtime_error("etcd: " + input_);
        return input_.size() >= header + 4 + std::stoul(input_.substr(length + field.size(), 10));
    }

    /** The reply as it came; the next one begins anew. */
    [[nodiscard]] std::string take() { return std::exchange(input_, {}); }

    [[nodiscard]] std::string ask(std::string const& text)
    {
        send(text);
        while (!receive()) {
        }
        return take();
    }

private:
    int descriptor_;
    std::string input_;
};

struct Pair {
    Pair(unsigned number, std::string const& lease)
    {
        // a run ends in the middle of its pairs, and the next one must not meet their keys
        auto const key = base64("raw:" + std::to_string(::getpid()) + ":" + std::to_string(number));
        auto const value = base64("raw/0123456789abcdef0123456789abcdef");
        claim = request(
            "kv/txn", R"({"compare":[{"key":")" + key + R"(","target":"CREATE","create_revision":"0"}],)" +
                          R"("success":[{"request_put":{"key":")" + key + R"(","value":")" + value + R"(","lease":")" +
                          lease + R"("}}],"failure":[{"request_range":{"key":")" + key + R"("}}]})");
        release = request(
            "kv/txn", R"({"compare":[{"key":")" + key + R"(","target":"VALUE","value":")" + value +
                          R"("}],"success":[{"request_delete_range":{"key":")" + key + R"("}}]})");
    }
    std::string claim;
    std::string release;
    bool held = false;
};

std::vector<Pair> make_pairs(std::uint16_t port, unsigned keys)
{
    Wire wire(port);
    auto const reply = wire.ask(request("lease/grant", R"({"TTL":"600"})"));
    auto const at = reply.find(R"("ID":")") + 6;
    auto const lease = reply.substr(at, reply.find('"', at) - at);
    std::vector<Pair> pairs;
    for (unsigned i = 0; i < keys; ++i)
        pairs.emplace_back(i, lease);
    return pairs;
}

void check(std::string const& reply)
{
    if (reply.find("\"succeeded\":true") == std::string::npos)
        throw std::runtime_error("a raw transaction did not succeed: " + reply);
}

} // namespace

bool etcd_answers(std::uint16_t port)
{
    try {
        Wire wire(port);
        return !wire.ask(request("kv/range", R"({"key":"YQ=="})")).empty();
    } catch (std::exception const&) {
        return false;
    }
}

Measurement etcd_pairs(std::uint16_t port, unsigned keys, unsigned connections, double seconds)
{
    auto pairs = make_pairs(port, keys);
    std::vector<std::unique_ptr<Wire>> wires;
    std::vector<pollfd> ready;
    std::vector<std::size_t> carries;
    std::deque<std::size_t> waiting;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        waiting.push_back(i);
    auto const send_next = [&](std::size_t wire) {
        carries[wire] = waiting.front();
        waiting.pop_front();
        auto const& pair = pairs[carries[wire]];
        wires[wire]->send(pair.held ? pair.release : pair.claim);
    };
    for (unsigned i = 0; i < connections; ++i) {
        wires.push_back(std::make_unique<Wire>(port));
        ready.push_back({wires.back()->descriptor(), POLLIN, 0});
        carries.push_back(0);
        send_next(i);
    }
    std::uint64_t done = 0;
    std::uint64_t before = 0;
    double cpu = cpu_seconds();
    auto begin = Steady::now();
    bool warm = false;
    for (;;) {
        if (!warm && seconds_since(begin) > seconds / 10) {
            warm = true;
            before = done;
            cpu = cpu_seconds();
            begin = Steady::now();
        } else if (warm && seconds_since(begin) > seconds) {
            break;
        }
        if (::poll(ready.data(), ready.size(), 1000) <= 0)
            throw std::runtime_error("etcd does not answer");
        for (std::size_t i = 0; i < ready.size(); ++i) {
            if (ready[i].revents == 0 || !wires[i]->receive())
                continue;
            check(wires[i]->take());
            auto& pair = pairs[carries[i]];
            done += pair.held ? 1U : 0U;
            pair.held = !pair.held;
            waiting.push_back(carries[i]);
            send_next(i);
        }
    }
    auto const count = static_cast<double>(done - before);
    return {count / seconds_since(begin), (cpu_seconds() - cpu) / count * 1e6};
}

Measurement etcd_pair_latency(std::uint16_t port, unsigned pairs)
{
    auto const pair = make_pairs(port, 1).front();
    Wire wire(port);
    std::vector<double> times;
    for (unsigned i = 0; i < pairs; ++i) {
        auto const begin = Steady::now();
        check(wire.ask(pair.claim));
        check(wire.ask(pair.release));
        times.push_back(microseconds_since(begin));
    }
    return {median(std::move(times))};
}

} // namespace bench::raw
