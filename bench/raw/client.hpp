// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace bench::raw
{

/** One reply of the server. */
struct Reply {
    /// the first byte: + - : $ *
    char kind = 0;
    bool null = false;
    /// of a line its text, of a string its content, of an array all its bytes; valid until the next `receive`
    std::string_view text;
};

/** A command as it goes over the wire. */
[[nodiscard]] std::string encode(std::initializer_list<std::string_view> words);
void encode_count(std::string& output, std::size_t words);
void encode_word(std::string& output, std::string_view word);

/** The floor that the library is held against: a blocking socket, writes of ready-made bytes, reads cut into replies.
 * No library, no event loop, no checks that a lease would need. */
class Client
{
public:
    /** @throws std::system_error */
    explicit Client(std::uint16_t port);
    Client(Client const&) = delete;
    Client& operator=(Client const&) = delete;
    ~Client();

    void send(std::string_view bytes);

    /** Waits for more bytes. */
    void receive();

    /** Takes the next complete reply. False: it has not arrived yet. */
    [[nodiscard]] bool take(Reply& reply);

    /** Waits for one reply. */
    [[nodiscard]] Reply reply();

    /** One command, one reply. @throws std::runtime_error with the server's words if it is an error */
    Reply ask(std::initializer_list<std::string_view> words);

    /** @returns the digest for EVALSHA */
    [[nodiscard]] std::string load(std::string_view script);

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

private:
    /** Where the reply that begins at `position` ends; npos if it has not arrived whole. */
    [[nodiscard]] std::size_t end_of(std::size_t position) const;

    int descriptor_ = -1;
    std::vector<char> buffer_;
    /// the bytes that were read and not yet taken
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

/** @throws std::runtime_error if the reply is an error */
void check(Reply const& reply);

} // namespace bench::raw
