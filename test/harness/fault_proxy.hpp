// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tenure::test
{

/** Which way bytes go through the proxy. */
enum class Direction {
    /// from the client to the server
    requests,
    /// from the server to the client
    replies
};

/** The treatment of the bytes of one direction from now on. */
struct Fault {
    enum class Kind {
        /// passed on, after `delay`
        pass,
        /// kept; what is kept is passed on, in order, once another fault is set
        hold,
        /// swallowed in silence, like the end of a connection: a flow that was dropped
        drop
    };
    Kind kind = Kind::pass;
    /// how much later than they came bytes are passed on
    std::chrono::milliseconds delay{0};
    /// after this many further bytes of the direction, summed over connections, the connection is reset
    std::optional<std::size_t> reset_after = {};
};

/** A TCP proxy on a loopback port, in a thread of its own, that does to its connections what networks do. */
class FaultProxy : Immovable
{
public:
    /** Listens on a free port of 127.0.0.1 and connects on to `server_port` there. */
    explicit FaultProxy(std::uint16_t server_port);
    ~FaultProxy();

    [[nodiscard]] std::uint16_t port() const noexcept;
    /** `redis://127.0.0.1:PORT` */
    [[nodiscard]] std::string url() const;

    /** Sets what happens to one direction of all connections, those of now and those to come. */
    void set(Direction direction, Fault fault);
    /** Sets it when the bytes `pattern` pass for the first time from now on in `seen_in`: before they are passed on if
     * `direction` is the same. One such rule at a time. */
    void set_when(Direction seen_in, std::string pattern, Direction direction, Fault fault);
    /** Passes everything again, in both directions. */
    void heal();

    /** The connections that are open now pass nothing more, in either direction, and stay open: a flow that a firewall
     * has forgotten. New connections are not affected, and `heal` does not bring these back. */
    void silence_connections();
    /** Resets all connections that are open now. */
    void reset_connections();
    /** True: new connections are accepted and reset at once. */
    void refuse(bool refused);

    /** Bytes that came in from one side so far, passed on or not. */
    [[nodiscard]] std::uint64_t received(Direction direction) const;
    /** Bytes that were passed on so far. */
    [[nodiscard]] std::uint64_t passed(Direction direction) const;
    /** Connections accepted so far. */
    [[nodiscard]] std::uint64_t connections() const;
    /** Waits until the rule of `set_when` has been met. */
    [[nodiscard]] bool wait_seen(std::chrono::milliseconds limit = std::chrono::seconds{10}) const;

private:
    class Loop;
    std::unique_ptr<Loop> loop_;
};

} // namespace tenure::test
