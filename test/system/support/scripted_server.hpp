// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "system/support/scripted_keyspace.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tenure::test
{

/** A server's answer to one request. */
struct Answer {
    enum class Then {
        /// goes on with the next request
        serve,
        /// resets the connection
        reset,
        /// says the same bytes over and over until the client has gone
        repeat
    };
    std::string bytes;
    Then then = Then::serve;
    /// each byte in a packet of its own
    bool byte_by_byte = false;
    /// how long it thinks first
    std::chrono::milliseconds delay{0};
};

/** A server on a loopback port, in a thread of its own, that behaves like a Redis with leases on it until it is told
 * otherwise. Requests take effect whatever it says about them. */
class ScriptedServer : Immovable
{
public:
    /** Called in the server's thread with a request and what a good server answers to it. */
    using Behaviour = std::function<Answer(Words const& request, std::string const& good)>;

    ScriptedServer();
    ~ScriptedServer();

    [[nodiscard]] std::uint16_t port() const noexcept;
    /** `redis://127.0.0.1:PORT` */
    [[nodiscard]] std::string url() const;

    /** Answers well from now on. */
    void behave();
    /** Answers like this from now on, also to connections that are open. */
    void behave(Behaviour behaviour);
    /** These bytes are said to every connection that comes. */
    void greet(std::string greeting);
    /** Sends unsolicited bytes to every open connection. */
    void say(std::string const& bytes);

    /** The fencing token of the next grant. */
    void next_token(std::uint64_t token);
    [[nodiscard]] std::optional<std::string> value(std::string const& key) const;

    /** Connections accepted so far, and how many of them the client has left. */
    [[nodiscard]] std::uint64_t accepted() const;
    [[nodiscard]] std::uint64_t ended() const;
    /** Requests of this kind so far. */
    [[nodiscard]] std::uint64_t requests(Purpose purpose) const;
    /** All bytes that clients sent so far. */
    [[nodiscard]] std::string received() const;

private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

} // namespace tenure::test
