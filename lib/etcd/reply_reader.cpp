// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "reply_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/optional/optional.hpp>

#include <utility>

namespace tenure::etcd
{

namespace
{

namespace http = boost::beast::http;

constexpr std::uint32_t header_limit = 16 * 1024;

} // namespace

struct ReplyReader::Parser {
    http::response_parser<http::string_body> http;
};

ReplyReader::ReplyReader(std::size_t body_limit, bool stream)
    : parser_(std::make_unique<Parser>())
    , limit_(body_limit)
{
    parser_->http.eager(true);
    parser_->http.header_limit(header_limit);
    if (stream)
        parser_->http.body_limit(boost::none);
    else
        parser_->http.body_limit(body_limit);
}

ReplyReader::~ReplyReader() = default;

ReplyReader::State ReplyReader::feed(std::string_view bytes)
{
    auto& http = parser_->http;
    rest_.append(bytes);
    while (!rest_.empty() && !http.is_done()) {
        boost::system::error_code error;
        auto const used = http.put(boost::asio::buffer(rest_), error);
        rest_.erase(0, used);
        if (error == http::error::need_more)
            break;
        if (error)
            return fail(error.message());
        if (used == 0)
            break;
    }
    if (http.get().body().size() > limit_)
        return fail("longer than " + std::to_string(limit_) + " bytes");
    if (!http.is_done())
        return rest_.size() > header_limit + limit_ ? fail("longer than expected") : State::more;
    return rest_.empty() ? State::complete : fail("bytes behind the end of the reply");
}

ReplyReader::State ReplyReader::end()
{
    boost::system::error_code error;
    if (parser_->http.is_header_done())
        parser_->http.put_eof(error);
    return !error && parser_->http.is_done() ? State::complete : fail("cut off");
}

unsigned ReplyReader::status() const
{
    return parser_->http.is_header_done() ? parser_->http.get().result_int() : 0;
}

bool ReplyReader::keeps_alive() const
{
    return parser_->http.is_done() && parser_->http.keep_alive();
}

std::string ReplyReader::take_body()
{
    return std::exchange(parser_->http.get().body(), {});
}

ReplyReader::State ReplyReader::fail(std::string why)
{
    trouble_ = std::move(why);
    return State::broken;
}

} // namespace tenure::etcd
