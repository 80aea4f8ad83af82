// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "value.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::redis::resp
{

/** Reads RESP2 and RESP3 values from bytes that arrive in any pieces.
 *
 *  The parser does not trust lengths before the bytes arrive: a length or count beyond the rest of the limit is an
 *  error at once, and memory is allocated only for received bytes. Malformed input is an error, never an exception;
 *  after an error, reset the parser. */
class Parser
{
public:
    static constexpr std::size_t default_limit = std::size_t{64} * 1024;
    /// nested lists, including the outermost
    static constexpr std::size_t max_depth = 8;

    enum class Status { complete, incomplete, malformed };

    /** Feeds bytes, which must stay valid until `next` returns `incomplete` or `malformed`. */
    void feed(std::string_view bytes);

    /** Takes the next value out of the received bytes.
     *
     *  | @param limit  how many bytes this value may take on the wire, including attributes and framing */
    Status next(Value& value, std::size_t limit = default_limit);

    /** The error after `next` returned `malformed`; contains no text of the server. */
    [[nodiscard]] char const* error() const noexcept { return error_; }

    /** True if bytes of an incomplete value were taken or kept. */
    [[nodiscard]] bool in_value() const noexcept { return used_ != 0 || depth_ != 0 || position_ < input().size(); }

    /** Resets the parser for a new connection. */
    void reset() noexcept;

private:
    enum class Step { value, pushed, incomplete, malformed };

    /** A list with missing elements. */
    struct Frame {
        std::vector<Value> elements;
        std::size_t missing = 0;
        Type type = Type::array;
        /// an attribute: read and dropped
        bool dropped = false;
    };

    [[nodiscard]] std::string_view input() const noexcept { return kept_.empty() ? fed_ : std::string_view(kept_); }
    void keep_rest();
    /// adds an element to the innermost list; true: this completed the outermost, which is then in `value`
    bool add_element(Value element, Value& value);
    Step read_one(Value& value, std::size_t limit);
    /// fast path for the most frequent replies, if complete: OK, or a string of less than ten bytes
    bool read_short(std::string_view rest, std::size_t left, Value& value);
    Step read_line_value(char kind, std::string_view line, Value& value);
    Step read_number(std::string_view line, Value& value);
    Step read_bulk(char kind, std::string_view header, std::size_t header_size, Value& value, std::size_t limit);
    Step read_list(char kind, std::string_view header, Value& value, std::size_t limit);
    bool read_count(std::string_view digits, std::size_t& count);
    /// finds the line at the position, without its end; false: incomplete, or malformed (then error_ is set)
    bool find_line(std::string_view& line, std::size_t longest);
    void consume(std::size_t bytes) noexcept;
    Step fail(char const* why) noexcept;

    /// bytes from `feed`, while nothing is kept
    std::string_view fed_;
    /// unused bytes of earlier feeds, followed by all later ones
    std::string kept_;
    /// position of the next unused byte in the input
    std::size_t position_ = 0;
    /// bytes after the position that contain no line end
    std::size_t searched_ = 0;
    /// used bytes of the current value
    std::size_t used_ = 0;
    /// the input can be parsed further only with this many bytes after the position
    std::size_t needed_ = 0;
    std::array<Frame, max_depth> frames_;
    std::size_t depth_ = 0;
    char const* error_ = nullptr;
};

} // namespace tenure::redis::resp
