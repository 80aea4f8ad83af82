// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReplyReader: an HTTP parser over Beast's base parser.
#include "reply_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/optional/optional.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tenure::etcd
{

namespace
{

namespace http = boost::beast::http;

constexpr std::uint32_t header_limit = 16 * 1024;
/// of a body; a longer announced length reserves no more memory than this
constexpr std::uint64_t usual_length = 4096;

} // namespace

/** Keeps status and body. The base parser interprets length and connection fields; Beast's own parser would store each
 *  field. */
class ReplyReader::Parser final : public http::basic_parser<false>
{
public:
    unsigned status = 0;
    std::string body;

private:
    using error_code = boost::beast::error_code;
    using string_view = boost::beast::string_view;

    void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
    void on_response_impl(int code, string_view, int, error_code&) override { status = static_cast<unsigned>(code); }
    void on_field_impl(http::field, string_view, string_view, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const& length, error_code&) override
    {
        if (length)
            body.reserve(static_cast<std::size_t>(std::min(*length, usual_length)));
    }
    std::size_t on_body_impl(string_view part, error_code&) override
    {
        body.append(part.data(), part.size());
        return part.size();
    }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view part, error_code& error) override
    {
        return on_body_impl(part, error);
    }
    void on_finish_impl(error_code&) override {}
};

ReplyReader::ReplyReader(std::size_t body_limit, bool stream)
    : parser_(std::make_unique<Parser>())
    , limit_(body_limit)
{
    parser_->eager(true);
    parser_->header_limit(header_limit);
    if (stream)
        parser_->body_limit(boost::none);
    else
        parser_->body_limit(body_limit);
}

ReplyReader::~ReplyReader() = default;

ReplyReader::State ReplyReader::feed(std::string_view bytes)
{
    if (!rest_.empty()) {
        rest_.append(bytes);
        bytes = rest_;
    }
    while (!bytes.empty() && !parser_->is_done()) {
        boost::system::error_code error;
        auto const used = parser_->put(boost::asio::buffer(bytes), error);
        bytes.remove_prefix(used);
        if (error == http::error::need_more)
            break;
        if (error)
            return fail(error.message());
        if (used == 0)
            break;
    }
    if (parser_->body.size() > limit_)
        return fail("longer than " + std::to_string(limit_) + " bytes");
    if (parser_->is_done())
        return bytes.empty() ? State::complete : fail("bytes behind the end of the reply");
    rest_ = std::string(bytes);
    return rest_.size() > header_limit + limit_ ? fail("longer than expected") : State::more;
}

ReplyReader::State ReplyReader::end()
{
    boost::system::error_code error;
    if (parser_->is_header_done())
        parser_->put_eof(error);
    return !error && parser_->is_done() ? State::complete : fail("cut off");
}

unsigned ReplyReader::status() const
{
    return parser_->is_header_done() ? parser_->status : 0;
}

bool ReplyReader::keeps_alive() const
{
    return parser_->is_done() && parser_->keep_alive();
}

std::string ReplyReader::take_body()
{
    return std::exchange(parser_->body, {});
}

ReplyReader::State ReplyReader::fail(std::string why)
{
    error_ = std::move(why);
    return State::broken;
}

} // namespace tenure::etcd
