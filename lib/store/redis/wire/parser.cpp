// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parser for RESP2 and RESP3.
#include "parser.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace tenure::redis::resp
{

namespace
{

/// the shortest element on the wire is a null: `_\r\n`
constexpr std::size_t shortest_element = 3;
/// longest number: a sign and 20 digits, or a double in full precision with an exponent
constexpr std::size_t longest_number = 64;

bool is_digits(std::string_view text) noexcept
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

void Parser::feed(std::string_view bytes)
{
    if (kept_.empty()) {
        fed_ = bytes;
        position_ = 0;
        return;
    }
    if (position_ > 0) {
        kept_.erase(0, position_);
        position_ = 0;
    }
    kept_.append(bytes);
    // if all kept bytes were used, input() must not return to an old piece
    fed_ = {};
}

void Parser::keep_rest()
{
    if (!kept_.empty()) {
        if (position_ == kept_.size()) {
            kept_.clear();
            position_ = 0;
        }
        return;
    }
    if (position_ < fed_.size())
        kept_.assign(fed_.substr(position_));
    fed_ = {};
    position_ = 0;
}

void Parser::reset() noexcept
{
    fed_ = {};
    kept_.clear();
    position_ = searched_ = used_ = needed_ = 0;
    for (std::size_t i = 0; i < depth_; ++i)
        frames_[i].elements.clear();
    depth_ = 0;
    error_ = nullptr;
}

Parser::Step Parser::fail(char const* why) noexcept
{
    error_ = why;
    return Step::malformed;
}

void Parser::consume(std::size_t bytes) noexcept
{
    position_ += bytes;
    used_ += bytes;
    searched_ = 0;
    needed_ = 0;
}

Parser::Status Parser::next(Value& value, std::size_t limit)
{
    if (error_ != nullptr)
        return Status::malformed;
    if (position_ == fed_.size() && kept_.empty()) {
        // the usual case: one reply per read
        fed_ = {};
        position_ = 0;
        return Status::incomplete;
    }
    for (;;) {
        bool const is_whole = depth_ == 0;
        switch (read_one(value, limit)) {
        case Step::incomplete:
            keep_rest();
            return Status::incomplete;
        case Step::malformed:
            return Status::malformed;
        case Step::pushed:
            break;
        case Step::value:
            // most replies are not lists, and were read into their place
            if (is_whole || add_element(std::move(value), value)) {
                used_ = 0;
                return Status::complete;
            }
            break;
        }
    }
}

bool Parser::add_element(Value element, Value& value)
{
    // the element may complete its list, and that list the enclosing one
    while (depth_ > 0) {
        auto& frame = frames_[depth_ - 1];
        if (!frame.dropped)
            frame.elements.push_back(std::move(element));
        if (--frame.missing > 0)
            return false;
        --depth_;
        if (frame.dropped)
            return false;
        element = Value::list(frame.type, std::exchange(frame.elements, {}));
    }
    value = std::move(element);
    return true;
}

Parser::Step Parser::read_one(Value& value, std::size_t limit)
{
    auto const rest = input().substr(position_);
    if (rest.empty() || rest.size() < needed_)
        return Step::incomplete;
    std::size_t const left = limit > used_ ? limit - used_ : 0;
    if (read_short(rest, left, value))
        return Step::value;
    char const kind = rest.front();
    bool const is_text = kind == '+' || kind == '-' || kind == '(';
    if (!is_text && std::string_view(":$*_#,=!%~>|").find(kind) == std::string_view::npos)
        return fail("a byte that starts no reply of the Redis protocol");

    std::string_view line;
    if (!find_line(line, is_text ? left : std::min(left, longest_number)))
        return error_ != nullptr ? Step::malformed : Step::incomplete;
    std::size_t const line_size = line.size() + 3;
    if (line_size > left)
        return fail("a reply longer than the limit");

    switch (kind) {
    case '$':
    case '=':
    case '!':
        return read_bulk(kind, line, line_size, value, left);
    case '*':
    case '~':
    case '%':
    case '>':
    case '|':
        consume(line_size);
        return read_list(kind, line, value, left - line_size);
    default: {
        auto const step = read_line_value(kind, line, value);
        if (step == Step::value)
            consume(line_size);
        return step;
    }
    }
}

bool Parser::read_short(std::string_view rest, std::size_t left, Value& value)
{
    constexpr std::string_view ok = "+OK\r\n";
    if (rest.starts_with(ok) && left >= ok.size()) {
        value.assign(Type::status, "OK");
        consume(ok.size());
        return true;
    }
    // "$3\r\nabc\r\n"
    constexpr std::size_t header = 4;
    if (rest.size() <= header || rest[0] != '$' || rest[1] < '0' || rest[1] > '9' || rest[2] != '\r' || rest[3] != '\n')
        return false;
    auto const end = header + static_cast<std::size_t>(rest[1] - '0');
    if (rest.size() < end + 2 || left < end + 2 || rest[end] != '\r' || rest[end + 1] != '\n')
        return false;
    value.assign(Type::text, rest.substr(header, end - header));
    consume(end + 2);
    return true;
}

bool Parser::find_line(std::string_view& line, std::size_t longest)
{
    auto const rest = input().substr(position_ + 1);
    auto const end = rest.find('\r', searched_);
    if (end == std::string_view::npos) {
        if (rest.size() > longest)
            fail("a line that does not end");
        searched_ = rest.size();
        return false;
    }
    if (end > longest) {
        fail("a line longer than the limit");
        return false;
    }
    if (end + 1 == rest.size()) {
        searched_ = end;
        return false;
    }
    if (rest[end + 1] != '\n') {
        fail("a line that ends without a line feed");
        return false;
    }
    line = rest.substr(0, end);
    return true;
}

Parser::Step Parser::read_line_value(char kind, std::string_view line, Value& value)
{
    switch (kind) {
    case '+':
    case '-':
        if (line.find('\n') != std::string_view::npos)
            return fail("a line feed within a simple string");
        value.assign(kind == '+' ? Type::status : Type::error, line);
        return Step::value;
    case '(': {
        auto const digits = !line.empty() && (line.front() == '-' || line.front() == '+') ? line.substr(1) : line;
        if (!is_digits(digits))
            return fail("a big number that is none");
        value.assign(Type::big_number, line);
        return Step::value;
    }
    case '_':
        if (!line.empty())
            return fail("a null with content");
        value = Value();
        return Step::value;
    case '#':
        if (line != "t" && line != "f")
            return fail("a boolean that is neither true nor false");
        value = Value::boolean(line == "t");
        return Step::value;
    case ',': {
        if (!line.empty() && line.front() == '+')
            line.remove_prefix(1);
        double number = 0;
        auto const* const end = line.data() + line.size();
        auto const parsed = std::from_chars(line.data(), end, number);
        // out of range: a valid number that a double cannot hold
        if (parsed.ptr != end || line.empty() || parsed.ec == std::errc::invalid_argument)
            return fail("a double that is no number");
        if (parsed.ec == std::errc::result_out_of_range)
            number = line.front() == '-' ? -std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::infinity();
        value = Value::real(number);
        return Step::value;
    }
    default:
        return read_number(line, value);
    }
}

Parser::Step Parser::read_number(std::string_view line, Value& value)
{
    if (!line.empty() && line.front() == '+') {
        line.remove_prefix(1);
        if (!line.empty() && line.front() == '-')
            return fail("an integer with two signs");
    }
    std::int64_t number = 0;
    auto const* const end = line.data() + line.size();
    auto const parsed = std::from_chars(line.data(), end, number);
    if (line.empty() || parsed.ec != std::errc{} || parsed.ptr != end)
        return fail("an integer that is none or does not fit into 64 bits");
    value = Value::integer(number);
    return Step::value;
}

bool Parser::read_count(std::string_view digits, std::size_t& count)
{
    auto const* const end = digits.data() + digits.size();
    std::uint64_t number = 0;
    // 64 bits suffice to compare with any limit, and more digits are an error here
    if (!is_digits(digits) || std::from_chars(digits.data(), end, number).ec != std::errc{})
        return false;
    count = number;
    return true;
}

Parser::Step
Parser::read_bulk(char kind, std::string_view header, std::size_t header_size, Value& value, std::size_t limit)
{
    if (kind == '$' && header == "-1") {
        consume(header_size);
        value = Value();
        return Step::value;
    }
    std::size_t length = 0;
    if (!read_count(header, length))
        return fail("a length that is no number");
    if (limit < header_size + 2 || length > limit - header_size - 2)
        return fail("a reply longer than the limit");
    auto const rest = input().substr(position_ + header_size);
    if (rest.size() < length + 2) {
        needed_ = header_size + length + 2;
        return Step::incomplete;
    }
    if (rest[length] != '\r' || rest[length + 1] != '\n')
        return fail("a string that is longer than its length");
    auto content = rest.substr(0, length);
    if (kind == '=') {
        // a verbatim string begins with three letters of format and a colon
        if (content.size() < 4 || content[3] != ':')
            return fail("a verbatim string without its format");
        content.remove_prefix(4);
    }
    value.assign(kind == '!' ? Type::error : Type::text, content);
    consume(header_size + length + 2);
    return Step::value;
}

Parser::Step Parser::read_list(char kind, std::string_view header, Value& value, std::size_t limit)
{
    if (kind == '*' && header == "-1") {
        value = Value();
        return Step::value;
    }
    std::size_t count = 0;
    if (!read_count(header, count))
        return fail("a count that is no number");
    bool const pairs = kind == '%' || kind == '|';
    if (count > limit / shortest_element / (pairs ? 2 : 1))
        return fail("a reply with more elements than the limit allows");
    if (kind == '>' && depth_ > 0)
        return fail("a push within another reply");
    if (pairs)
        count *= 2;
    auto const type = kind == '~' ? Type::set : kind == '%' ? Type::map : kind == '>' ? Type::push : Type::array;
    if (count == 0) {
        if (kind == '|')
            return Step::pushed;
        value = Value::list(type, {});
        return Step::value;
    }
    if (depth_ == max_depth)
        return fail("a reply nested too deeply");
    auto& frame = frames_[depth_++];
    frame.type = type;
    frame.dropped = kind == '|';
    frame.missing = count;
    frame.elements.clear();
    if (!frame.dropped)
        frame.elements.reserve(std::min(count, (input().size() - position_) / shortest_element + 1));
    return Step::pushed;
}

} // namespace tenure::redis::resp
