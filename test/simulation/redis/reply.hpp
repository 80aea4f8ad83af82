// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

/** The reply to a command. Written without the library's own encoder and values: a shared mistake would go unseen.
 */
struct Reply {
    enum class Kind : std::uint8_t { null, null_array, status, error, integer, bulk, array, map, push };

    Kind kind = Kind::null;
    std::string text;
    std::int64_t number = 0;
    std::vector<Reply> elements;

    [[nodiscard]] static Reply null() { return {}; }
    /// the same where a list was asked for: RESP2 tells them apart
    [[nodiscard]] static Reply null_array() { return {Kind::null_array, {}, 0, {}}; }
    [[nodiscard]] static Reply ok() { return {Kind::status, "OK", 0, {}}; }
    [[nodiscard]] static Reply error(std::string text) { return {Kind::error, std::move(text), 0, {}}; }
    [[nodiscard]] static Reply integer(std::int64_t number) { return {Kind::integer, {}, number, {}}; }
    [[nodiscard]] static Reply bulk(std::string text) { return {Kind::bulk, std::move(text), 0, {}}; }
    [[nodiscard]] static Reply list(Kind kind, std::vector<Reply> elements)
    {
        return {kind, {}, 0, std::move(elements)};
    }

    void append_to(std::string& out, int protocol) const;
};

/** One request of a client, and where it began in all that the client sent. */
struct Request {
    std::vector<std::string> words;
    std::uint64_t begin = 0;
};

/** A word of a request, where it is a number. */
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view word);

/** Takes requests out of bytes that arrive in any pieces. */
class RequestReader
{
public:
    void feed(std::string_view bytes) { bytes_ += bytes; }
    enum class Status : std::uint8_t { complete, incomplete, malformed };
    [[nodiscard]] Status next(Request& request);

private:
    [[nodiscard]] Status read_number(std::size_t& at, char kind, std::size_t& number) const;

    std::string bytes_;
    /// bytes that were used up before
    std::uint64_t used_ = 0;
};

} // namespace tenure::simulation
