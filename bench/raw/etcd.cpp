// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/etcd.hpp"

#include "harness/stopwatch.hpp"
#include "raw/etcd_wire.hpp"

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

std::vector<EtcdPair> make_pairs(std::uint16_t port, unsigned keys)
{
    EtcdWire wire(port);
    auto const lease = etcd_lease(wire);
    std::vector<EtcdPair> pairs;
    // a run ends in the middle of its pairs, and the next one must not meet their keys
    for (unsigned i = 0; i < keys; ++i)
        pairs.emplace_back("raw:" + std::to_string(::getpid()) + ":" + std::to_string(i), lease);
    return pairs;
}

void check(std::string const& reply)
{
    if (!etcd_succeeded(reply))
        throw std::runtime_error("a raw transaction did not succeed: " + reply);
}

} // namespace

bool etcd_answers(std::uint16_t port)
{
    try {
        EtcdWire wire(port);
        return !wire.ask(etcd_request("kv/range", R"({"key":"YQ=="})")).empty();
    } catch (std::exception const&) {
        return false;
    }
}

std::string etcd_metrics(std::uint16_t port)
{
    Socket const socket(port);
    socket.send("GET /metrics HTTP/1.0\r\n\r\n");
    std::string text;
    std::vector<char> buffer(std::size_t{64} * 1024);
    try {
        for (;;)
            text.append(buffer.data(), socket.receive(buffer.data(), buffer.size()));
    } catch (std::system_error const&) {
        return text; // it closes the connection behind the last line
    }
}

Measurement etcd_pairs(std::uint16_t port, unsigned keys, unsigned connections, double seconds)
{
    auto pairs = make_pairs(port, keys);
    std::vector<std::unique_ptr<EtcdWire>> wires;
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
        wires.push_back(std::make_unique<EtcdWire>(port));
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
    EtcdWire wire(port);
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
