// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/zookeeper.hpp"

#include "harness/control.hpp"
#include "harness/stopwatch.hpp"
#include "raw/zookeeper_wire.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

/// stays; the nodes of locks are below it
constexpr std::string_view parent = "/raw";

void check(std::int32_t code)
{
    if (code != 0)
        throw std::runtime_error("a raw request did not succeed: code " + std::to_string(code));
}

void make_parent(ZookeeperWire& wire)
{
    auto const code = wire.ask(zookeeper_create(1, std::string(parent), false));
    if (code != ZookeeperReply::node_exists)
        check(code);
}

/** A node, with its two requests, which both bear the given number. */
struct Pair {
    Pair(std::int32_t number, std::string const& name)
        : path(std::string(parent) + "/" + name)
        , claim(zookeeper_create(number, path, true))
        , release(zookeeper_delete(number, path, 0))
    {
    }
    std::string path;
    std::string claim;
    std::string release;
    bool held = false;
};

} // namespace

bool zookeeper_answers(std::uint16_t port)
{
    try {
        // a session that is asked for too early is never answered
        return zookeeper_word(port, "srvr").find("Mode: ") != std::string::npos;
    } catch (std::exception const&) {
        return false;
    }
}

std::string zookeeper_word(std::uint16_t port, std::string_view word)
{
    // while the server starts it may forget to close a connection
    Socket const socket(port, 2);
    socket.send(word);
    std::string text;
    std::array<char, 4096> buffer;
    try {
        for (;;)
            text.append(buffer.data(), socket.receive(buffer.data(), buffer.size()));
    } catch (std::system_error const&) {
        return text; // the connection is closed behind the last line
    }
}

Measurement zookeeper_pairs(std::uint16_t port, unsigned keys, double seconds)
{
    ZookeeperWire wire(port);
    make_parent(wire);
    std::vector<Pair> pairs;
    std::string output;
    for (unsigned i = 0; i < keys; ++i) {
        pairs.emplace_back(static_cast<std::int32_t>(i), std::to_string(i));
        output += pairs.back().claim;
    }
    std::uint64_t done = 0;
    std::uint64_t before = 0;
    double cpu = cpu_seconds();
    auto begin = Steady::now();
    bool warm = false;
    for (;;) {
        wire.send(output);
        output.clear();
        if (!warm && seconds_since(begin) > seconds / 10) {
            warm = true;
            before = done;
            cpu = cpu_seconds();
            begin = Steady::now();
        } else if (warm && seconds_since(begin) > seconds) {
            break;
        }
        wire.receive();
        for (ZookeeperReply reply; wire.take(reply);) {
            check(reply.code);
            auto& pair = pairs.at(static_cast<std::size_t>(reply.number));
            done += pair.held ? 1U : 0U;
            pair.held = !pair.held;
            output += pair.held ? pair.release : pair.claim;
        }
    }
    auto const count = static_cast<double>(done - before);
    return {count / seconds_since(begin), (cpu_seconds() - cpu) / count * 1e6};
}

Measurement zookeeper_pair_latency(std::uint16_t port, unsigned pairs)
{
    ZookeeperWire wire(port);
    make_parent(wire);
    Pair const pair(1, "0");
    std::vector<double> times;
    auto const warm_up = pairs / 10;
    for (unsigned i = 0; i < warm_up + pairs; ++i) {
        auto const begin = Steady::now();
        check(wire.ask(pair.claim));
        check(wire.ask(pair.release));
        if (i >= warm_up)
            times.push_back(microseconds_since(begin));
    }
    return {median(std::move(times))};
}

Measurement zookeeper_transaction_latency(std::uint16_t port, unsigned pairs)
{
    ZookeeperWire wire(port);
    make_parent(wire);
    auto const path = std::string(parent) + "/1";
    auto const generation = std::string(parent) + "/generation";
    // one of this session, which has never been written to
    check(wire.ask(zookeeper_create(1, generation, true)));
    auto const claim = zookeeper_claim(1, path, generation);
    std::vector<double> times;
    auto const warm_up = pairs / 10;
    for (unsigned i = 0; i < warm_up + pairs; ++i) {
        auto const begin = Steady::now();
        check(wire.ask(claim));
        check(wire.ask(zookeeper_release(1, path, generation, static_cast<std::int32_t>(i + 1))));
        if (i >= warm_up)
            times.push_back(microseconds_since(begin));
    }
    // Had a release failed, so would all claims behind it, and the generation would have an older version.
    check(wire.ask(zookeeper_delete(1, generation, static_cast<std::int32_t>(warm_up + pairs))));
    return {median(std::move(times))};
}

void zookeeper_hold(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    ZookeeperWire wire(port);
    make_parent(wire);
    Pair const pair(1, "handover");
    for (auto word = control.hear(); word != Word::quit; word = control.hear()) {
        if (word == Word::acquire) {
            check(wire.ask(pair.claim));
        } else {
            auto const begin = instant_now();
            check(wire.ask(pair.release));
            control.notify(begin);
        }
        control.say(Word::done);
    }
}

void zookeeper_wait(std::uint16_t port, int descriptor)
{
    Control const control(descriptor);
    ZookeeperWire wire(port);
    Pair const pair(1, "handover");
    auto const look = zookeeper_get(1, pair.path, true);
    while (control.hear() == Word::wait) {
        control.say(Word::done);
        for (auto code = wire.ask(pair.claim); code != 0; code = wire.ask(pair.claim)) {
            if (code != ZookeeperReply::node_exists)
                check(code);
            if (auto const seen = wire.ask(look); seen == ZookeeperReply::no_node)
                continue;
            else
                check(seen);
            if (wire.next().number != ZookeeperReply::event)
                throw std::runtime_error("a reply to nothing that was asked");
        }
        auto const end = instant_now();
        check(wire.ask(pair.release));
        control.notify(end);
        control.say(Word::done);
    }
}

} // namespace bench::raw
