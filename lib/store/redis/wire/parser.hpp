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

/** Reads RESP2 and RESP3 values out of bytes that arrive in any pieces.
 *
 *  Nothing that a server claims is believed before the bytes are there: a length or count that cannot fit into what is
 *  left of the limit is an error at once, and memory is taken only for what has arrived. Whatever is not a value is an
 *  error, never an exception; after an error the parser must be reset.
 */
class Parser
{
public:
    static constexpr std::size_t default_limit = std::size_t{64} * 1024;
    /// lists within lists, the outermost included
    static constexpr std::size_t max_depth = 8;

    enum class Status { complete, incomplete, malformed };

    /** Gives the parser bytes; they must stay valid until `next` has answered `incomplete` or `malformed`. */
    void feed(std::string_view bytes);

    /** Takes the next value out of the bytes so far.
     *
     *  @param limit  how many bytes this value may take on the wire, attributes and framing included */
    Status next(Value& value, std::size_t limit = default_limit);

    /** What was wrong, when `next` answered `malformed`; it holds nothing that the server sent. */
    [[nodiscard]] char const* error() const noexcept { return error_; }

    /** True if bytes of a value that is not complete yet have been taken or kept. */
    [[nodiscard]] bool in_value() const noexcept { return used_ != 0 || depth_ != 0 || position_ < input().size(); }

    /** Forgets everything: for a new connection. */
    void reset() noexcept;

private:
    enum class Step { value, pushed, incomplete, malformed };

    /** A list whose elements are still arriving. */
    struct Frame {
        std::vector<Value> elements;
        std::size_t missing = 0;
        Type type = Type::array;
        /// an attribute: read and dropped, no element of anything
        bool dropped = false;
    };

    [[nodiscard]] std::string_view input() const noexcept { return kept_.empty() ? fed_ : std::string_view(kept_); }
    void keep_rest();
    /// puts an element into the innermost list; true: that completed the outermost, which is then in `value`
    bool add_element(Value element, Value& value);
    Step read_one(Value& value, std::size_t limit);
    /// what most requests are answered with, if all of it is there: OK, or a string of less than ten bytes
    bool read_short(std::string_view rest, std::size_t left, Value& value);
    Step read_line_value(char kind, std::string_view line, Value& value);
    Step read_number(std::string_view line, Value& value);
    Step read_bulk(char kind, std::string_view header, std::size_t header_size, Value& value, std::size_t limit);
    Step read_list(char kind, std::string_view header, Value& value, std::size_t limit);
    bool read_count(std::string_view digits, std::size_t& count);
    /// the line at the position without its end; false: not all there, or malformed (then error_ is set)
    bool find_line(std::string_view& line, std::size_t longest);
    void consume(std::size_t bytes) noexcept;
    Step fail(char const* why) noexcept;

    /// what `feed` got, while nothing is kept
    std::string_view fed_;
    /// bytes of earlier feeds that are not used up, followed by all later ones
    std::string kept_;
    /// where in the input the next unused byte is
    std::size_t position_ = 0;
    /// how far after the position a line end has been searched for in vain
    std::size_t searched_ = 0;
    /// bytes of the current value that are used up
    std::size_t used_ = 0;
    /// the input is useless until it has this many bytes after the position
    std::size_t needed_ = 0;
    std::array<Frame, max_depth> frames_;
    std::size_t depth_ = 0;
    char const* error_ = nullptr;
};

} // namespace tenure::redis::resp
