// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/wire/parser.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::redis::resp
{

namespace
{

using Status = Parser::Status;

struct Parsed {
    std::vector<Value> values;
    Status last = Status::incomplete;
};

/// the values when the bytes arrive in pieces of at most `piece`
Parsed parse(std::string_view bytes, std::size_t piece, std::size_t limit = Parser::default_limit)
{
    Parser parser;
    Parsed parsed;
    while (!bytes.empty()) {
        // a copy of exact size, so that a read past its end is seen by the sanitizer
        std::vector<char> const part(
            bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(piece, bytes.size())));
        bytes.remove_prefix(part.size());
        parser.feed({part.data(), part.size()});
        Value value;
        while ((parsed.last = parser.next(value, limit)) == Status::complete)
            parsed.values.push_back(std::move(value));
        if (parsed.last == Status::malformed)
            break;
    }
    return parsed;
}

Value one(std::string_view bytes)
{
    auto parsed = parse(bytes, bytes.size());
    REQUIRE(parsed.last == Status::incomplete);
    REQUIRE(parsed.values.size() == 1);
    return std::move(parsed.values.front());
}

bool is_malformed(std::string_view bytes, std::size_t limit = Parser::default_limit)
{
    // whichever way it is cut, and never later than with its last byte
    auto const whole = parse(bytes, bytes.size(), limit);
    auto const bytewise = parse(bytes, 1, limit);
    return whole.last == Status::malformed && bytewise.last == Status::malformed && whole.values == bytewise.values;
}

std::string repeated(std::string_view part, std::size_t count)
{
    std::string all;
    for (std::size_t i = 0; i < count; ++i)
        all += part;
    return all;
}

Value text(char const* content)
{
    return Value::text(content);
}

} // namespace

TEST_CASE("every kind of reply is read")
{
    CHECK(one("+OK\r\n").is_ok());
    CHECK(one("+\r\n") == Value::status(""));
    CHECK(one("-NOPERM no permission\r\n").error_word() == "NOPERM");
    CHECK(one("!13\r\nSYNTAX wrong!\r\n") == Value::error("SYNTAX wrong!"));
    CHECK(one(":42\r\n") == Value::integer(42));
    CHECK(one(":+7\r\n") == Value::integer(7));
    CHECK(one(":-9223372036854775808\r\n") == Value::integer(std::numeric_limits<std::int64_t>::min()));
    CHECK(one("$5\r\na\r\nb!\r\n") == Value::text("a\r\nb!"));
    CHECK(one("$0\r\n\r\n") == text(""));
    CHECK(one("$-1\r\n").is_null());
    CHECK(one("*-1\r\n").is_null());
    CHECK(one("_\r\n").is_null());
    CHECK(one("=7\r\ntxt:abc\r\n") == text("abc"));
    CHECK(one(",3.25\r\n") == Value::real(3.25));
    CHECK(one(",-inf\r\n") == Value::real(-std::numeric_limits<double>::infinity()));
    CHECK(one(",1e999\r\n") == Value::real(std::numeric_limits<double>::infinity()));
    CHECK(one("#t\r\n") == Value::boolean(true));
    CHECK(one("#f\r\n") == Value::boolean(false));
    CHECK(one("(-12345678901234567890123\r\n") == Value::big_number("-12345678901234567890123"));
    CHECK(one("*0\r\n") == Value::list(Type::array, {}));
    CHECK(
        one("*2\r\n:1\r\n*1\r\n$1\r\nx\r\n") ==
        Value::list(Type::array, {Value::integer(1), Value::list(Type::array, {text("x")})}));
    CHECK(one("~2\r\n+a\r\n_\r\n") == Value::list(Type::set, {Value::status("a"), Value()}));
    CHECK(one("%1\r\n+k\r\n*0\r\n") == Value::list(Type::map, {Value::status("k"), Value::list(Type::array, {})}));
    CHECK(one(">2\r\n+message\r\n+x\r\n") == Value::list(Type::push, {Value::status("message"), Value::status("x")}));
}

TEST_CASE("attributes are skipped wherever they stand")
{
    CHECK(one("|1\r\n+ttl\r\n:3\r\n:1\r\n") == Value::integer(1));
    CHECK(one("|0\r\n:1\r\n") == Value::integer(1));
    CHECK(
        one("*2\r\n|1\r\n+a\r\n*2\r\n:1\r\n:2\r\n:5\r\n|1\r\n+b\r\n+c\r\n:6\r\n") ==
        Value::list(Type::array, {Value::integer(5), Value::integer(6)}));
}

TEST_CASE("replies are the same however the bytes are cut")
{
    std::string const bytes =
        "+OK\r\n*3\r\n$3\r\nabc\r\n%1\r\n+k\r\n,1.5\r\n|1\r\n+a\r\n+b\r\n~1\r\n#t\r\n$-1\r\n"
        "-ERR x\r\n:1\r\n>2\r\n+message\r\n=7\r\ntxt:abc\r\n!5\r\nERR y\r\n(123\r\n$2\r\n\r\n\r\n_\r\n";
    auto const whole = parse(bytes, bytes.size());
    REQUIRE(whole.last == Status::incomplete);
    REQUIRE(whole.values.size() == 10);
    auto const piece = GENERATE(1U, 2U, 3U, 5U, 7U, 11U, 64U);
    CHECK(parse(bytes, piece).values == whole.values);

    // and cut once, at every place
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        Parser parser;
        std::vector<Value> values;
        Value value;
        for (auto const part : {std::string_view(bytes).substr(0, cut), std::string_view(bytes).substr(cut)}) {
            std::vector<char> const exact(part.begin(), part.end());
            parser.feed({exact.data(), exact.size()});
            while (parser.next(value) == Status::complete)
                values.push_back(std::move(value));
        }
        REQUIRE(values == whole.values);
        REQUIRE_FALSE(parser.in_value());
    }
}

TEST_CASE("half a reply is no reply")
{
    std::string const reply = "*2\r\n$3\r\nabc\r\n:12\r\n";
    for (std::size_t size = 1; size < reply.size(); ++size) {
        Parser parser;
        Value value;
        parser.feed(std::string_view(reply).substr(0, size));
        REQUIRE(parser.next(value) == Status::incomplete);
        REQUIRE(parser.in_value());
    }
}

TEST_CASE("a malformed reply is an error, not a crash")
{
    auto const bytes = GENERATE(
        as<std::string>(), "$\r\n", "*\r\n", "%\r\n", ":\r\n", ",\r\n", "#\r\n", "(\r\n", "=\r\n", "!\r\n", ">\r\n",
        "*-2\r\n", "$-2\r\n", "%-1\r\n", "~-1\r\n", "!-1\r\n", "=-1\r\n", "$9999999999\r\n", "*9999999999\r\n",
        "%4294967295\r\n", "%9223372036854775808\r\n", "*18446744073709551615\r\n", "*99999999999999999999999\r\n",
        ":99999999999999999999\r\n", ":1.5\r\n", ":1 \r\n", ":+-1\r\n", ":0x10\r\n", "$+1\r\na\r\n", "$1a\r\nb\r\n",
        "$?\r\n", "*?\r\n", "$3\r\nabcde\r\n", "$3\r\nabc\n\n", "#true\r\n", ",1.2.3\r\n", ",abc\r\n", "(12a\r\n",
        "(-\r\n", "_x\r\n", "=3\r\nabc\r\n", "=7\r\ntxtabcd\r\n", "+a\nb\r\n", "+a\rb\r\n", "*1\r\n>1\r\n:1\r\n",
        "HTTP/1.1 400 Bad Request\r\n", "\r\n", "\x15\x03\x01\r\n", "+OK\r\nx");
    INFO(bytes);
    CHECK(is_malformed(bytes));
}

TEST_CASE("a zero byte begins no reply")
{
    CHECK(is_malformed(std::string("\0\r\n", 3)));
}

TEST_CASE("lists are nested eight deep at most")
{
    auto const fits = repeated("*1\r\n", 8) + ":1\r\n";
    CHECK(parse(fits, fits.size()).values.size() == 1);
    CHECK(is_malformed(repeated("*1\r\n", 9)));
    CHECK(is_malformed(repeated("*1\r\n", 10000)));
    CHECK(is_malformed(repeated("|1\r\n", 10000)));
}

TEST_CASE("a reply may take as many bytes as its limit, and not one more")
{
    std::string const bulk = "$100\r\n" + std::string(100, 'x') + "\r\n";
    CHECK(parse(bulk, 10, bulk.size()).values.size() == 1);
    CHECK(is_malformed(bulk, bulk.size() - 1));

    std::string const line = "+" + std::string(100, 'x') + "\r\n";
    CHECK(parse(line, 10, line.size()).values.size() == 1);
    CHECK(is_malformed(line, line.size() - 1));

    std::string const list = "*3\r\n:1\r\n$3\r\nabc\r\n|1\r\n+a\r\n+b\r\n:2\r\n";
    CHECK(parse(list, 4, list.size()).values.size() == 1);
    CHECK(is_malformed(list, list.size() - 1));
}

TEST_CASE("short replies may take as many bytes as the limit, and not one more, in one piece or byte by byte")
{
    std::string_view const reply = GENERATE(
        "+OK\r\n", "$0\r\n\r\n", "$9\r\n123456789\r\n", "*2\r\n+OK\r\n$1\r\n1\r\n", "*1\r\n+OK\r\n",
        "|1\r\n+a\r\n+b\r\n$2\r\nab\r\n");
    CAPTURE(reply);
    for (std::size_t const piece : {reply.size(), std::size_t{1}}) {
        auto const fits = parse(reply, piece, reply.size());
        CHECK(fits.last == Status::incomplete);
        CHECK(fits.values.size() == 1);
        CHECK(parse(reply, piece, reply.size() - 1).last == Status::malformed);
    }
    auto const twice = std::string(reply) + std::string(reply);
    auto const both = parse(twice, twice.size(), reply.size());
    REQUIRE(both.values.size() == 2);
    CHECK(both.values[0] == both.values[1]);
}

TEST_CASE("the limit counts for each reply anew")
{
    auto const many = repeated("$10\r\n0123456789\r\n", 1000);
    CHECK(parse(many, 13, 20).values.size() == 1000);
}

TEST_CASE("a length that cannot fit is refused before its bytes arrive")
{
    CHECK(is_malformed("$65535\r\n"));
    CHECK(is_malformed("*30000\r\n"));
    CHECK(is_malformed("%11000\r\n"));
}

TEST_CASE("an endless line or an endless row of attributes ends with the limit")
{
    CHECK(is_malformed("+" + std::string(70000, 'x')));
    CHECK(is_malformed(repeated("|0\r\n", 20000)));
    CHECK(is_malformed(":" + std::string(100, '1')));
    CHECK(is_malformed("$" + std::string(100, '0')));
}

TEST_CASE("after an error nothing more is read until the parser is reset")
{
    Parser parser;
    Value value;
    parser.feed("*2\r\n:1\r\nx\r\n");
    CHECK(parser.next(value) == Status::malformed);
    CHECK(parser.error() != nullptr);
    parser.feed("+OK\r\n");
    CHECK(parser.next(value) == Status::malformed);
    parser.reset();
    parser.feed("+OK\r\n");
    CHECK(parser.next(value) == Status::complete);
    CHECK(value.is_ok());
    CHECK_FALSE(parser.in_value());
}

TEST_CASE("a large reply that arrives byte by byte takes linear time")
{
    // quadratic work would be some 10^10 steps here, and the test's time limit would end it
    std::string const bytes = "$200000\r\n" + std::string(200000, 'x') + "\r\n";
    CHECK(parse(bytes, 1, 300000).values.size() == 1);
    auto const list = "*60000\r\n" + repeated(":1\r\n", 60000);
    CHECK(parse(list, 1, 300000).values.size() == 1);
    std::string const line = "+" + std::string(200000, 'x') + "\r\n";
    CHECK(parse(line, 1, 300000).values.size() == 1);
}

TEST_CASE("a value tells nothing that it is not")
{
    CHECK(Value().as_string().empty());
    CHECK(text("12").as_integer() == 0);
    CHECK(Value::integer(1).elements().empty());
    CHECK(text("ERR").error_word().empty());
    CHECK_FALSE(text("OK").is_ok());
    CHECK(Value::real(1.5).as_real() > 1.4);
    CHECK_FALSE(Value::integer(1).as_boolean());
    CHECK(sizeof(Value) <= 48);
}

} // namespace tenure::redis::resp
