// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::test
{

/** A reply of the server, RESP2. */
struct Reply {
    enum class Kind { null, status, error, integer, string, array };
    Kind kind = Kind::null;
    /// of a status, error or string
    std::string text;
    std::int64_t integer = 0;
    std::vector<Reply> elements;

    [[nodiscard]] bool is_null() const noexcept { return kind == Kind::null; }
    [[nodiscard]] bool is_error() const noexcept { return kind == Kind::error; }
};

/** A plain blocking client over sockets of its own, so that what the tests check does not pass through the library. */
class RedisClient
{
public:
    /** Connects to 127.0.0.1. @throws std::system_error */
    explicit RedisClient(std::uint16_t port);
    /** Connects to a Unix socket. */
    explicit RedisClient(std::string const& socket_path);
    RedisClient(RedisClient&& other) noexcept;
    RedisClient& operator=(RedisClient&& other) noexcept;
    RedisClient(RedisClient const&) = delete;
    RedisClient& operator=(RedisClient const&) = delete;
    ~RedisClient();

    /** How long a reply may take before the call throws; 10 s unless set. */
    void reply_limit(std::chrono::milliseconds limit);

    /** Sends a command and waits for its reply, whatever it is. @throws std::runtime_error if the connection fails */
    Reply send(std::vector<std::string> const& arguments);

    /** Sends `client.call("SET", key, value, "PX", 500)`. @throws std::runtime_error also for an error reply */
    template <class... Arguments>
    Reply call(Arguments const&... arguments)
    {
        return checked({text(arguments)...});
    }

    /** Waits for a reply or push that was not asked for just now (subscriptions); empty after `limit`. */
    std::optional<Reply> receive(std::chrono::milliseconds limit);

    // the commands that tests send most
    [[nodiscard]] std::optional<std::string> get(std::string_view key);
    [[nodiscard]] std::int64_t pttl(std::string_view key);
    /** The instant a key expires, ms of the server's wall clock; -1 without ttl, -2 if there is no key. */
    [[nodiscard]] std::int64_t pexpiretime(std::string_view key);
    /** Keys that match, by SCAN: only for servers of the test's own. */
    [[nodiscard]] std::vector<std::string> keys(std::string const& pattern);
    /** The value of one `name:value` line of INFO. */
    [[nodiscard]] std::string info(std::string_view field);

private:
    template <class Value>
    static std::string text(Value const& value)
    {
        if constexpr (std::integral<Value>)
            return std::to_string(value);
        else
            return std::string{value};
    }
    Reply checked(std::vector<std::string> const& arguments);
    [[nodiscard]] Reply read_reply();
    [[nodiscard]] std::string read_line();
    void read_more();

    int socket_ = -1;
    /// bytes received and not yet used
    std::string input_;
};

} // namespace tenure::test
