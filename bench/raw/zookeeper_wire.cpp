// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/zookeeper_wire.hpp"

#include "harness/zookeeper_wire.hpp"

#include <arpa/inet.h>

#include <cstring>
#include <exception>
#include <stdexcept>

namespace bench::raw
{

namespace
{

namespace test = tenure::test;
using test::zookeeper_part;
using test::zookeeper_request;
using test::ZookeeperWriter;
using Operation = test::ZookeeperOperation;

constexpr std::int32_t session_ms = 40'000;
/// as long as what the library writes there
std::string const value = "bench-host:12345/0123456789abcdef0123456789abcdef\nttl=10000\n";

std::int32_t number_at(char const* bytes)
{
    std::uint32_t wire = 0;
    std::memcpy(&wire, bytes, sizeof wire);
    return static_cast<std::int32_t>(ntohl(wire));
}

/** Protocol, last transaction seen, timeout, session, password: none of before. */
std::string hello()
{
    return ZookeeperWriter()
        .text(ZookeeperWriter()
                  .integer(0)
                  .wide(0)
                  .integer(session_ms)
                  .wide(0)
                  .text(std::string(16, '\0'))
                  .byte(0)
                  .bytes())
        .bytes();
}

} // namespace

std::string zookeeper_create(std::int32_t number, std::string const& path, bool ephemeral)
{
    return zookeeper_request(number, Operation::create, test::zookeeper_create(path, value, ephemeral));
}

std::string zookeeper_claim(std::int32_t number, std::string const& path, std::string const& generation)
{
    return zookeeper_request(
        number, Operation::transaction,
        zookeeper_part(Operation::create, test::zookeeper_create(path, "", true)) +
            zookeeper_part(Operation::set, test::zookeeper_set(path, value, 0)) +
            zookeeper_part(Operation::set, test::zookeeper_set(generation, "", -1)) +
            zookeeper_part(Operation::end_of_transaction));
}

std::string zookeeper_release(
    std::int32_t number, std::string const& path, std::string const& generation, std::int32_t generation_version)
{
    // a check names a path and its version, as a removal does
    return zookeeper_request(
        number, Operation::transaction,
        zookeeper_part(Operation::check, test::zookeeper_remove(generation, generation_version)) +
            zookeeper_part(Operation::remove, test::zookeeper_remove(path, 1)) +
            zookeeper_part(Operation::end_of_transaction));
}

std::string zookeeper_delete(std::int32_t number, std::string const& path, std::int32_t version)
{
    return zookeeper_request(number, Operation::remove, test::zookeeper_remove(path, version));
}

std::string zookeeper_get(std::int32_t number, std::string const& path, bool watch)
{
    return zookeeper_request(number, Operation::get, ZookeeperWriter().text(path).byte(watch ? 1 : 0).bytes());
}

ZookeeperWire::ZookeeperWire(std::uint16_t port)
    : socket_(port)
    , buffer_(std::size_t{256} * 1024)
{
    send(hello());
    char const* reply = nullptr;
    while ((reply = take_frame()) == nullptr)
        receive();
    if (number_at(reply + 4) <= 0)
        throw std::runtime_error("ZooKeeper grants no session");
}

ZookeeperWire::~ZookeeperWire()
{
    // The nodes of a run that ended in the middle of its pairs go before the next one begins. All replies are read: a
    // connection that is closed before that takes requests with it.
    constexpr std::int32_t last = 0x7fff'ffff;
    try {
        send(zookeeper_request(last, Operation::close, {}));
        while (next().number != last) {
        }
    } catch (std::exception const&) { // NOLINT(bugprone-empty-catch): the session ends by its timeout
    }
}

void ZookeeperWire::receive()
{
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (end_ == buffer_.size()) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size())
        throw std::runtime_error("a reply is larger than the buffer");
    end_ += socket_.receive(buffer_.data() + end_, buffer_.size() - end_);
}

char const* ZookeeperWire::take_frame()
{
    constexpr std::size_t length = 4;
    if (end_ - begin_ < length)
        return nullptr;
    auto const* const frame = buffer_.data() + begin_;
    auto const size = static_cast<std::size_t>(number_at(frame));
    if (end_ - begin_ < length + size)
        return nullptr;
    begin_ += length + size;
    return frame + length;
}

bool ZookeeperWire::take(ZookeeperReply& reply)
{
    auto const* const body = take_frame();
    if (body == nullptr)
        return false;
    // the number, that of the last transaction (64 bits), the code
    reply = {number_at(body), number_at(body + 12)};
    return true;
}

ZookeeperReply ZookeeperWire::next()
{
    ZookeeperReply reply;
    while (!take(reply))
        receive();
    return reply;
}

std::int32_t ZookeeperWire::ask(std::string_view request)
{
    send(request);
    for (;;)
        if (auto const reply = next(); reply.number != ZookeeperReply::event)
            return reply.code;
}

} // namespace bench::raw
