// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/zookeeper_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace tenure::test
{

namespace
{

enum Operation : std::int32_t {
    op_create = 1,
    op_delete = 2,
    op_get = 4,
    op_set = 5,
    op_children = 8,
    op_sync = 9,
    op_auth = 100,
    op_close = -11
};
constexpr std::int32_t ok = 0;
constexpr std::int32_t no_node = -101;
constexpr std::int32_t node_exists = -110;
constexpr int session_timeout_ms = 60'000;

/** Writes numbers in network order, and strings with their length. */
class Writer
{
public:
    Writer& integer(std::int32_t value)
    {
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes_.push_back(static_cast<char>((static_cast<std::uint32_t>(value) >> shift) & 0xffU));
        return *this;
    }
    Writer& wide(std::int64_t value)
    {
        integer(static_cast<std::int32_t>(value >> 32));
        return integer(static_cast<std::int32_t>(value & 0xffffffff));
    }
    Writer& byte(char value)
    {
        bytes_.push_back(value);
        return *this;
    }
    Writer& text(std::string_view value)
    {
        integer(static_cast<std::int32_t>(value.size()));
        bytes_ += value;
        return *this;
    }
    [[nodiscard]] std::string const& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

class Reader
{
public:
    explicit Reader(std::string_view bytes)
        : bytes_(bytes)
    {
    }
    std::int32_t integer()
    {
        std::uint32_t value = 0;
        for (char const c : take(4))
            value = value << 8U | static_cast<unsigned char>(c);
        return static_cast<std::int32_t>(value);
    }
    std::int64_t wide()
    {
        auto const high = static_cast<std::int64_t>(integer());
        return high << 32 | static_cast<std::uint32_t>(integer());
    }
    std::string text()
    {
        auto const size = integer();
        return size < 0 ? std::string() : std::string(take(static_cast<std::size_t>(size)));
    }
    [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

private:
    std::string_view take(std::size_t size)
    {
        if (size > bytes_.size())
            throw std::runtime_error("ZooKeeper: a truncated reply");
        auto const taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }
    std::string_view bytes_;
};

int dial(std::uint16_t port)
{
    int const socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval limit{10, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
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

std::string frame(std::string const& bytes)
{
    return Writer().integer(static_cast<std::int32_t>(bytes.size())).bytes() + bytes;
}

void check(std::int32_t code, std::string const& what)
{
    if (code != ok)
        throw std::runtime_error("ZooKeeper: " + what + ": error " + std::to_string(code));
}

} // namespace

ZookeeperClient::ZookeeperClient(std::uint16_t port, std::string const& login)
    : socket_(dial(port))
{
    if (socket_ < 0)
        throw std::runtime_error("ZooKeeper: cannot connect to port " + std::to_string(port));
    Writer hello;
    hello.integer(0).wide(0).integer(session_timeout_ms).wide(0).text(std::string(16, '\0')).byte(0);
    send_all(socket_, frame(hello.bytes()));
    auto const answer = read_frame();
    Reader reader(answer);
    reader.integer(); // protocol
    reader.integer(); // timeout
    session_ = reader.wide();
    if (!login.empty())
        check(call_as(-4, op_auth, Writer().integer(0).text("digest").text(login).bytes()).code, "login");
}

ZookeeperClient::~ZookeeperClient()
{
    try {
        call(op_close, {});
    } catch (...) { // NOLINT(bugprone-empty-catch): its session ends by its timeout
    }
    ::close(socket_);
}

std::string ZookeeperClient::read_frame()
{
    auto const exactly = [this](std::size_t size) {
        std::string bytes(size, '\0');
        for (std::size_t have = 0; have < size;) {
            auto const got = ::recv(socket_, bytes.data() + have, size - have, 0);
            if (got <= 0)
                throw std::system_error(got == 0 ? ECONNRESET : errno, std::generic_category(), "ZooKeeper: receive");
            have += static_cast<std::size_t>(got);
        }
        return bytes;
    };
    auto const head = exactly(4);
    return exactly(static_cast<std::size_t>(Reader(head).integer()));
}

ZookeeperClient::Reply ZookeeperClient::call(std::int32_t operation, std::string const& body)
{
    return call_as(++last_number_, operation, body);
}

ZookeeperClient::Reply ZookeeperClient::call_as(std::int32_t number, std::int32_t operation, std::string const& body)
{
    send_all(socket_, frame(Writer().integer(number).integer(operation).bytes() + body));
    for (;;) {
        auto const answer = read_frame();
        Reader reader(answer);
        auto const answered = reader.integer();
        reader.wide();
        auto const code = reader.integer();
        if (answered == number)
            return {code, std::string(reader.rest())};
    }
}

bool ZookeeperClient::create(std::string const& path, std::string const& data, bool ephemeral)
{
    Writer body;
    body.text(path).text(data).integer(1).integer(31).text("world").text("anyone").integer(ephemeral ? 1 : 0);
    auto const code = call(op_create, body.bytes()).code;
    if (code == node_exists || code == no_node)
        return false;
    check(code, "create " + path);
    return true;
}

bool ZookeeperClient::remove(std::string const& path)
{
    auto const code = call(op_delete, Writer().text(path).integer(-1).bytes()).code;
    if (code == no_node)
        return false;
    check(code, "delete " + path);
    return true;
}

bool ZookeeperClient::set(std::string const& path, std::string const& data)
{
    auto const code = call(op_set, Writer().text(path).text(data).integer(-1).bytes()).code;
    if (code == no_node)
        return false;
    check(code, "set " + path);
    return true;
}

std::optional<ZookeeperNode> ZookeeperClient::get(std::string const& path)
{
    auto const reply = call(op_get, Writer().text(path).byte(0).bytes());
    if (reply.code == no_node)
        return std::nullopt;
    check(reply.code, "get " + path);
    Reader reader(reply.body);
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

std::vector<std::string> ZookeeperClient::children(std::string const& path)
{
    auto const reply = call(op_children, Writer().text(path).byte(0).bytes());
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
    check(call(op_sync, Writer().text(path).bytes()).code, "sync");
}

std::string zookeeper_word(std::uint16_t port, std::string_view word)
{
    int const socket = dial(port);
    if (socket < 0)
        return {};
    std::string answer;
    try {
        timeval limit{2, 0};
        ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
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
