// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_client.hpp"

#include "harness/zookeeper_wire.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tenure::test
{

namespace
{

using Writer = ZookeeperWriter;
using Reader = ZookeeperReader;
using Operation = ZookeeperOperation;
using namespace std::chrono_literals;

constexpr std::int32_t ok = 0;
constexpr std::int32_t no_node = -101;
constexpr std::int32_t bad_version = -103;
constexpr std::int32_t node_exists = -110;
/// the request number of a login
constexpr std::int32_t login_number = -4;
constexpr auto session_timeout = 60s;

int dial(std::uint16_t port, std::chrono::milliseconds limit)
{
    int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval const time{limit.count() / 1000, limit.count() % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket >= 0 && ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        return socket;
    if (socket >= 0)
        ::close(socket);
    return -1;
}

void send_all(int socket, std::string const& bytes)
{
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        auto const size = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (size <= 0)
            throw std::system_error(errno, std::generic_category(), "ZooKeeper: send");
        sent += static_cast<std::size_t>(size);
    }
}

void check(std::int32_t code, std::string const& what)
{
    if (code != ok)
        throw std::runtime_error("ZooKeeper: " + what + ": error " + std::to_string(code));
}

/** Whether the node was there, in the version that was asked for. */
bool found(std::int32_t code, std::string const& what)
{
    if (code == no_node || code == bad_version)
        return false;
    check(code, what);
    return true;
}

std::optional<ZookeeperNode> node_of(std::int32_t code, std::string const& body, std::string const& path)
{
    if (code == no_node)
        return std::nullopt;
    check(code, "get " + path);
    Reader reader(body);
    ZookeeperNode node;
    node.data = reader.text();
    node.czxid = reader.wide();
    reader.wide(); // mzxid
    reader.wide(); // ctime
    reader.wide(); // mtime
    node.version = reader.integer();
    reader.integer(); // cversion
    reader.integer(); // aversion
    node.ephemeral_owner = reader.wide();
    return node;
}

} // namespace

ZookeeperClient::Socket::~Socket()
{
    if (descriptor >= 0)
        ::close(descriptor);
}

ZookeeperClient::ZookeeperClient(std::uint16_t port, std::string const& login, std::chrono::milliseconds limit)
    : ZookeeperClient(port, Hello{0, session_timeout, std::string(16, '\0')}, limit)
{
    if (!login.empty())
        check(
            call_as(login_number, Operation::login, Writer().integer(0).text("digest").text(login).bytes()).code,
            "login");
}

ZookeeperClient::ZookeeperClient(std::uint16_t port, Hello const& hello, std::chrono::milliseconds limit)
    : socket_(dial(port, limit))
{
    if (socket_.descriptor < 0)
        throw std::runtime_error("ZooKeeper: cannot connect to port " + std::to_string(port));
    Writer first;
    first.integer(0).wide(0).integer(static_cast<std::int32_t>(hello.timeout.count())).wide(hello.session);
    first.text(hello.password).byte(0);
    send_all(socket_.descriptor, Writer().text(first.bytes()).bytes());
    auto const answer = read_frame();
    Reader reader(answer);
    reader.integer(); // protocol
    reader.integer(); // timeout
    session_ = reader.wide();
    if (session_ == 0)
        throw std::runtime_error("ZooKeeper: the session is over, or its password is another");
}

ZookeeperClient ZookeeperClient::in_session(std::uint16_t port, std::int64_t session, std::chrono::milliseconds timeout)
{
    return {port, Hello{session, timeout, zookeeper_password(session)}, 10s};
}

void ZookeeperClient::close()
{
    check(call(Operation::close, {}).code, "close");
    usable_ = false;
}

ZookeeperClient::~ZookeeperClient()
{
    try {
        if (usable_)
            close();
    } catch (...) { // NOLINT(bugprone-empty-catch): its session ends by its timeout
    }
}

std::string ZookeeperClient::read_frame()
{
    auto const exactly = [this](std::size_t size) {
        std::string bytes(size, '\0');
        for (std::size_t have = 0; have < size;) {
            auto const got = ::recv(socket_.descriptor, bytes.data() + have, size - have, 0);
            if (got <= 0)
                throw std::system_error(got == 0 ? ECONNRESET : errno, std::generic_category(), "ZooKeeper: receive");
            have += static_cast<std::size_t>(got);
        }
        return bytes;
    };
    auto const head = exactly(4);
    return exactly(static_cast<std::size_t>(Reader(head).integer()));
}

ZookeeperClient::Reply ZookeeperClient::call(ZookeeperOperation operation, std::string const& body)
{
    return call_as(++last_number_, operation, body);
}

ZookeeperClient::Reply
ZookeeperClient::call_as(std::int32_t number, ZookeeperOperation operation, std::string const& body)
{
    return exchange(zookeeper_request(number, operation, body), number, 1).front();
}

std::vector<ZookeeperClient::Reply>
ZookeeperClient::exchange(std::string const& frames, std::int32_t first, std::size_t count)
{
    // until all is answered
    if (!std::exchange(usable_, false))
        throw std::runtime_error("ZooKeeper: the client is closed, or an answer is missing");
    send_all(socket_.descriptor, frames);
    std::vector<Reply> replies;
    while (replies.size() < count) {
        auto const answer = read_frame();
        Reader reader(answer);
        auto const number = reader.integer();
        reader.wide();
        auto const code = reader.integer();
        // packets in between are events of the session
        if (number == first + static_cast<std::int32_t>(replies.size()))
            replies.push_back({code, std::string(reader.rest())});
    }
    usable_ = true;
    return replies;
}

bool ZookeeperClient::create(std::string const& path, std::string const& data, bool ephemeral)
{
    auto const code = call(Operation::create, zookeeper_create(path, data, ephemeral)).code;
    if (code == node_exists || code == no_node)
        return false;
    check(code, "create " + path);
    return true;
}

bool ZookeeperClient::remove(std::string const& path, std::int32_t version)
{
    return found(call(Operation::remove, zookeeper_remove(path, version)).code, "delete " + path);
}

bool ZookeeperClient::set(std::string const& path, std::string const& data, std::int32_t version)
{
    return found(call(Operation::set, zookeeper_set(path, data, version)).code, "set " + path);
}

bool ZookeeperClient::replace(std::string const& path, std::string const& data, std::int32_t version)
{
    auto const reply = call(
        Operation::transaction, zookeeper_part(Operation::remove, zookeeper_remove(path, version)) +
                                    zookeeper_part(Operation::create, zookeeper_create(path, data, true)) +
                                    zookeeper_part(Operation::end_of_transaction));
    if (reply.code != ok)
        return found(reply.code, "replace " + path);
    Reader reader(reply.body);
    reader.integer(); // the kind of the operation, or the mark of an error
    reader.byte();
    return found(reader.integer(), "replace " + path);
}

std::optional<ZookeeperNode> ZookeeperClient::get(std::string const& path)
{
    auto const reply = call(Operation::get, zookeeper_read(path));
    return node_of(reply.code, reply.body, path);
}

std::vector<std::optional<ZookeeperNode>>
ZookeeperClient::get_after_write(std::string const& mark, std::vector<std::string> const& paths)
{
    auto const first = last_number_ + 1;
    auto frames = zookeeper_request(++last_number_, Operation::set, zookeeper_set(mark, "mark", -1));
    for (auto const& path : paths)
        frames += zookeeper_request(++last_number_, Operation::get, zookeeper_read(path));
    auto const replies = exchange(frames, first, paths.size() + 1);
    check(replies.front().code, "set " + mark);
    std::vector<std::optional<ZookeeperNode>> nodes;
    for (std::size_t i = 0; i < paths.size(); ++i)
        nodes.push_back(node_of(replies[i + 1].code, replies[i + 1].body, paths[i]));
    return nodes;
}

std::vector<std::string> ZookeeperClient::children(std::string const& path)
{
    auto const reply = call(Operation::children, zookeeper_read(path));
    if (reply.code == no_node)
        return {};
    check(reply.code, "children of " + path);
    Reader reader(reply.body);
    std::vector<std::string> names;
    for (auto left = reader.integer(); left > 0; --left)
        names.push_back(reader.text());
    return names;
}

void ZookeeperClient::create_all(std::string const& path)
{
    for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
        create(path.substr(0, end), {}, false);
    create(path, {}, false);
}

void ZookeeperClient::sync(std::string const& path)
{
    check(call(Operation::sync, Writer().text(path).bytes()).code, "sync");
}

std::string zookeeper_word(std::uint16_t port, std::string_view word)
{
    int const socket = dial(port, 2s);
    if (socket < 0)
        return {};
    std::string answer;
    try {
        send_all(socket, std::string(word));
        std::array<char, 4096> buffer{};
        for (ssize_t size = 1; size > 0;) {
            size = ::recv(socket, buffer.data(), buffer.size(), 0);
            if (size > 0)
                answer.append(buffer.data(), static_cast<std::size_t>(size));
        }
    } catch (std::system_error const&) {
        answer.clear();
    }
    ::close(socket);
    return answer;
}

} // namespace tenure::test
