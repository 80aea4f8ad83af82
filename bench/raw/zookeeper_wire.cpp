// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/zookeeper_wire.hpp"

#include <arpa/inet.h>

#include <cstring>
#include <exception>
#include <stdexcept>

namespace bench::raw
{

namespace
{

constexpr std::int32_t op_create = 1;
constexpr std::int32_t op_delete = 2;
constexpr std::int32_t op_get = 4;
constexpr std::int32_t op_set = 5;
constexpr std::int32_t op_check = 13;
constexpr std::int32_t op_multi = 14;
constexpr std::int32_t op_close = -11;
constexpr std::int32_t session_ms = 40'000;
/// as long as what the library writes there
constexpr std::string_view value = "bench-host:12345/0123456789abcdef0123456789abcdef\nttl=10000\n";

void put(std::string& output, std::int32_t number)
{
    auto const wire = htonl(static_cast<std::uint32_t>(number));
    output.append(reinterpret_cast<char const*>(&wire), sizeof wire);
}

void put(std::string& output, std::string_view text)
{
    put(output, static_cast<std::int32_t>(text.size()));
    output += text;
}

std::int32_t number_at(char const* bytes)
{
    std::uint32_t wire = 0;
    std::memcpy(&wire, bytes, sizeof wire);
    return static_cast<std::int32_t>(ntohl(wire));
}

std::string frame(std::string const& body)
{
    std::string whole;
    put(whole, body);
    return whole;
}

std::string head(std::int32_t number, std::int32_t operation)
{
    std::string body;
    put(body, number);
    put(body, operation);
    return body;
}

/** Protocol, last transaction seen, timeout, session, password: none of before. */
std::string hello()
{
    std::string body;
    for (std::int32_t const number : {0, 0, 0, session_ms, 0, 0})
        put(body, number);
    put(body, std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
    body.push_back('\0');
    return frame(body);
}

void put_create(std::string& body, std::string_view path, std::string_view data, bool ephemeral)
{
    put(body, path);
    put(body, data);
    // everybody may do everything
    put(body, 1);
    put(body, 31);
    put(body, std::string_view("world"));
    put(body, std::string_view("anyone"));
    put(body, ephemeral ? 1 : 0);
}

void put_set(std::string& body, std::string_view path, std::string_view data, std::int32_t version)
{
    put(body, path);
    put(body, data);
    put(body, version);
}

void put_versioned(std::string& body, std::string_view path, std::int32_t version)
{
    put(body, path);
    put(body, version);
}

/** Stands before each part of a transaction, and once behind the last. */
void put_part(std::string& body, std::int32_t operation)
{
    put(body, operation);
    body.push_back(operation == -1 ? '\1' : '\0');
    put(body, -1);
}

} // namespace

std::string zookeeper_create(std::int32_t number, std::string_view path, bool ephemeral)
{
    auto body = head(number, op_create);
    put_create(body, path, value, ephemeral);
    return frame(body);
}

std::string zookeeper_claim(std::int32_t number, std::string_view path, std::string_view generation)
{
    auto body = head(number, op_multi);
    put_part(body, op_create);
    put_create(body, path, "", true);
    put_part(body, op_set);
    put_set(body, path, value, 0);
    put_part(body, op_set);
    put_set(body, generation, "", -1);
    put_part(body, -1);
    return frame(body);
}

std::string zookeeper_release(
    std::int32_t number, std::string_view path, std::string_view generation, std::int32_t generation_version)
{
    auto body = head(number, op_multi);
    put_part(body, op_check);
    put_versioned(body, generation, generation_version);
    put_part(body, op_delete);
    put_versioned(body, path, 1);
    put_part(body, -1);
    return frame(body);
}

std::string zookeeper_delete(std::int32_t number, std::string_view path, std::int32_t version)
{
    auto body = head(number, op_delete);
    put_versioned(body, path, version);
    return frame(body);
}

std::string zookeeper_get(std::int32_t number, std::string_view path, bool watch)
{
    auto body = head(number, op_get);
    put(body, path);
    body.push_back(watch ? '\1' : '\0');
    return frame(body);
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
        send(frame(head(last, op_close)));
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
