// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::etcd
{

/** Reads one HTTP/1.1 reply from bytes as they come; no I/O. */
class ReplyReader
{
public:
    enum class State { more, complete, broken };

    /** @param body_limit  a reply with a longer body is broken; of a stream: what may wait to be taken */
    explicit ReplyReader(std::size_t body_limit, bool stream = false);
    ReplyReader(ReplyReader const&) = delete;
    ReplyReader& operator=(ReplyReader const&) = delete;
    ~ReplyReader();

    /** Trailing bytes after the reply are a protocol error. */
    [[nodiscard]] State feed(std::string_view bytes);

    /** The server closed the connection. Complete where that is how the reply ends. */
    [[nodiscard]] State end();

    /** Why it is broken. */
    [[nodiscard]] std::string const& trouble() const noexcept { return trouble_; }

    /** Once the header is there; 0 before. */
    [[nodiscard]] unsigned status() const;
    [[nodiscard]] bool keeps_alive() const;
    /** What has come of the body and was not taken yet. */
    [[nodiscard]] std::string take_body();

private:
    class Parser;

    [[nodiscard]] State fail(std::string why);

    std::unique_ptr<Parser> parser_;
    /// what the parser could not use without more
    std::string rest_;
    std::size_t limit_;
    std::string trouble_;
};

} // namespace tenure::etcd
