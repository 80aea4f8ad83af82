// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "reply.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace tenure::simulation
{

namespace
{

void append_line(std::string& out, char kind, std::string_view text)
{
    out += kind;
    out += text;
    out += "\r\n";
}

} // namespace

void Reply::append_to(std::string& out, int protocol) const
{
    switch (kind) {
    case Kind::null:
        out += protocol == 3 ? "_\r\n" : "$-1\r\n";
        return;
    case Kind::null_array:
        out += protocol == 3 ? "_\r\n" : "*-1\r\n";
        return;
    case Kind::status:
        append_line(out, '+', text);
        return;
    case Kind::error:
        append_line(out, '-', text);
        return;
    case Kind::integer:
        append_line(out, ':', std::to_string(number));
        return;
    case Kind::bulk:
        append_line(out, '$', std::to_string(text.size()));
        out += text;
        out += "\r\n";
        return;
    case Kind::array:
    case Kind::map:
    case Kind::push:
        break;
    }
    bool const is_map = kind == Kind::map && protocol == 3;
    append_line(
        out,
        is_map                                ? '%'
        : kind == Kind::push && protocol == 3 ? '>'
                                              : '*',
        std::to_string(is_map ? elements.size() / 2 : elements.size()));
    for (auto const& element : elements)
        element.append_to(out, protocol);
}

std::optional<std::int64_t> number_in(std::string_view word)
{
    std::int64_t number = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return number;
}

RequestReader::Status RequestReader::read_number(std::size_t& at, char kind, std::size_t& number) const
{
    auto const end = bytes_.find("\r\n", at);
    if (end == std::string::npos)
        return Status::incomplete;
    auto const [stop, error] = std::from_chars(bytes_.data() + at + 1, bytes_.data() + end, number);
    if (bytes_[at] != kind || error != std::errc() || stop != bytes_.data() + end)
        return Status::malformed;
    at = end + 2;
    return Status::complete;
}

RequestReader::Status RequestReader::next(Request& request)
{
    std::size_t at = 0;
    std::size_t count = 0;
    if (auto const status = read_number(at, '*', count); status != Status::complete)
        return status;
    request.words.clear();
    request.begin = used_;
    while (request.words.size() < count) {
        std::size_t length = 0;
        if (at >= bytes_.size())
            return Status::incomplete;
        if (auto const status = read_number(at, '$', length); status != Status::complete)
            return status;
        if (bytes_.size() < at + length + 2)
            return Status::incomplete;
        if (bytes_.compare(at + length, 2, "\r\n") != 0)
            return Status::malformed;
        request.words.push_back(bytes_.substr(at, length));
        at += length + 2;
    }
    used_ += at;
    bytes_.erase(0, at);
    return Status::complete;
}

} // namespace tenure::simulation
