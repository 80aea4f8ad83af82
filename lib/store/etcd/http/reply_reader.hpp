// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::etcd
{

/** Parses one HTTP/1.1 reply from bytes in any pieces; no I/O. */
class ReplyReader
{
public:
    enum class State { more, complete, broken };

    /** @param body_limit  a reply with a longer body is malformed; of a stream: limit of bytes not taken yet */
    explicit ReplyReader(std::size_t body_limit, bool stream = false);
    ReplyReader(ReplyReader const&) = delete;
    ReplyReader& operator=(ReplyReader const&) = delete;
    ~ReplyReader();

    /** Trailing bytes after the reply are a protocol error. */
    [[nodiscard]] State feed(std::string_view bytes);

    /** The server closed the connection. The reply is complete if its body ends with the connection. */
    [[nodiscard]] State end();

    /** The error of a malformed reply. */
    [[nodiscard]] std::string const& error() const noexcept { return error_; }

    /** The status, or 0 before the header is complete. */
    [[nodiscard]] unsigned status() const;
    [[nodiscard]] bool keeps_alive() const;
    /** The part of the body that has arrived and was not taken yet. */
    [[nodiscard]] std::string take_body();

private:
    class Parser;

    [[nodiscard]] State fail(std::string why);

    std::unique_ptr<Parser> parser_;
    /// unparsed bytes of an incomplete element
    std::string rest_;
    std::size_t limit_;
    std::string error_;
};

} // namespace tenure::etcd
