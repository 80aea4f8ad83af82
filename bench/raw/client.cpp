// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace bench::raw
{

namespace
{

constexpr auto npos = std::string_view::npos;

long number_at(char const* begin, char const* end)
{
    long value = 0;
    std::from_chars(begin, end, value);
    return value;
}

} // namespace

void encode_count(std::string& output, std::size_t words)
{
    output += '*';
    output += std::to_string(words);
    output += "\r\n";
}

void encode_word(std::string& output, std::string_view word)
{
    output += '$';
    output += std::to_string(word.size());
    output += "\r\n";
    output += word;
    output += "\r\n";
}

std::string encode(std::initializer_list<std::string_view> words)
{
    std::string output;
    encode_count(output, words.size());
    for (auto const word : words)
        encode_word(output, word);
    return output;
}

void check(Reply const& reply)
{
    if (reply.kind == '-')
        throw std::runtime_error("the server says: " + std::string(reply.text));
}

Client::Client(std::uint16_t port)
    : buffer_(std::size_t{256} * 1024)
{
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor_ < 0 || ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        auto const error = errno;
        if (descriptor_ >= 0)
            ::close(descriptor_);
        throw std::system_error(error, std::generic_category(), "connect");
    }
    int const on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Client::~Client()
{
    ::close(descriptor_);
}

void Client::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        auto const sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0)
            throw std::system_error(errno, std::generic_category(), "send");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void Client::receive()
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
    auto const received = ::recv(descriptor_, buffer_.data() + end_, buffer_.size() - end_, 0);
    if (received < 0)
        throw std::system_error(errno, std::generic_category(), "recv");
    if (received == 0)
        throw std::runtime_error("the server closed the connection");
    end_ += static_cast<std::size_t>(received);
}

std::size_t Client::end_of(std::size_t position) const
{
    auto const* const begin = buffer_.data() + position;
    auto const* const line = static_cast<char const*>(std::memchr(begin, '\n', end_ - position));
    if (line == nullptr)
        return npos;
    auto const after = static_cast<std::size_t>(line - buffer_.data()) + 1;
    if (*begin == '$') {
        auto const size = number_at(begin + 1, line);
        auto const end = size < 0 ? after : after + static_cast<std::size_t>(size) + 2;
        return end <= end_ ? end : npos;
    }
    if (*begin != '*')
        return after;
    auto end = after;
    for (auto left = number_at(begin + 1, line); left > 0 && end != npos; --left)
        end = end < end_ ? end_of(end) : npos;
    return end;
}

bool Client::take(Reply& reply)
{
    if (begin_ == end_)
        return false;
    auto const end = end_of(begin_);
    if (end == npos)
        return false;
    std::string_view const whole(buffer_.data() + begin_, end - begin_);
    auto const line = whole.find('\r');
    reply.kind = whole.front();
    reply.null = (reply.kind == '$' || reply.kind == '*') && whole[1] == '-';
    if (reply.kind == '*')
        reply.text = whole;
    else if (reply.kind == '$')
        reply.text = reply.null ? std::string_view{} : whole.substr(line + 2, whole.size() - line - 4);
    else
        reply.text = whole.substr(1, line - 1);
    begin_ = end;
    return true;
}

Reply Client::reply()
{
    Reply result;
    while (!take(result))
        receive();
    return result;
}

Reply Client::ask(std::initializer_list<std::string_view> words)
{
    send(encode(words));
    auto const result = reply();
    check(result);
    return result;
}

std::string Client::load(std::string_view script)
{
    return std::string(ask({"SCRIPT", "LOAD", script}).text);
}

} // namespace bench::raw
