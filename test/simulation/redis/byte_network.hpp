// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "effect.hpp"

#include "../network.hpp"

#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

using boost::system::error_code;

/** Names a connection; never used twice within a world. */
using ConnectionId = std::uint32_t;

/** A process's end of a connection, as its kernel sees it. Called between the turns of the process. */
class Socket
{
public:
    /** The attempt to connect has ended. */
    virtual void dialed(error_code error) = 0;
    /** There is something to read, or its end. */
    virtual void readable() = 0;
    /** All of `send` was taken, or `taken` bytes of it before the connection broke. */
    virtual void sent(error_code error, std::size_t taken) = 0;

protected:
    ~Socket() = default;
};

/** The other end of all connections. */
class ByteServer
{
public:
    virtual void opened(ConnectionId connection, ProcessId process, std::uint32_t life) = 0;
    virtual void received(ConnectionId connection, std::string_view bytes) = 0;
    virtual void closed(ConnectionId connection) = 0;
    /** The machine is gone, and all connections with it. */
    virtual void gone() = 0;

protected:
    ~ByteServer() = default;
};

/** Carries bytes like TCP: in order, in whatever pieces, late where a piece was lost, and up to any byte where the
 *  connection is cut. */
class ByteNetwork final : public Network
{
public:
    using Network::Network;

    void serve(ByteServer& server) noexcept { server_ = &server; }
    void begin(std::uint64_t seed, Noise const& noise) override;
    /** Also while something is late that was sent before. */
    [[nodiscard]] bool troubled(ProcessId process) const noexcept override;

    // -- for processes --
    [[nodiscard]] ConnectionId dial(Socket& socket, ProcessId process, std::uint32_t life);
    /** The number of bytes that the socket's buffer takes at once: all, a part, or none. */
    [[nodiscard]] std::size_t send_now(ConnectionId id, std::string_view bytes);
    /** `Socket::sent` follows. */
    void send(ConnectionId id, std::string_view bytes);
    /** Some of what has arrived; empty: nothing is there, or `error` says why nothing will come. */
    [[nodiscard]] std::string take(ConnectionId id, error_code& error);
    /** The process has read `bytes` more bytes. */
    void seen(ConnectionId id, std::size_t bytes);
    [[nodiscard]] bool has_input(ConnectionId id) const noexcept { return !at(id).inbox.empty() || at(id).failure; }
    void close(ConnectionId id) noexcept;
    /** All connections of a process are reset. */
    void cut(ProcessId process);
    /** It has a connection, or is making one. */
    [[nodiscard]] bool is_open(ProcessId process) const noexcept;
    /** Its kernel closes what a dead process leaves open. */
    void close_all(ProcessId process) noexcept;

    // -- for the server --
    void reply(ConnectionId id, std::string_view bytes, Effects effects);
    /** When the byte at this place of all that came on the connection was handed over by the process. */
    [[nodiscard]] Ns written_at(ConnectionId id, std::uint64_t place);
    /** More than a login was asked for on it. */
    void is_at_work(ConnectionId id) noexcept { at(id).at_work = true; }
    /** The client no longer waits for answers. */
    [[nodiscard]] bool abandoned(ConnectionId id) const noexcept;
    /** Closes it after what is on its way. */
    void hang_up(ConnectionId id);
    /** Breaks the connection if a fault wants the next transaction of its process to be cut; the server hears no more
     * of it. */
    [[nodiscard]] bool breaks_within_transaction(ConnectionId id);
    /** The machine is gone: nothing that is on its way will be executed. */
    void server_is_gone();

    void set_path(ProcessId process, bool mute, bool deaf) override;
    void store_stops(bool away) override;
    void store_goes_on() override;
    void strike(Fault const& fault) override;
    void calm_down() noexcept override;
    void on_event(std::uint32_t what, std::uint64_t value) override;

private:
    enum What : std::uint32_t { dial_arrives, up_arrives, down_arrives, drains };

    struct Segment {
        std::string bytes;
        Ns sent = 0;
        Ns arrives = 0;
        /// no bytes: the end of the stream
        bool end = false;
    };
    /** One direction. */
    struct Way {
        std::deque<Segment> under_way;
        /// an event for the first segment is on its way
        bool armed = false;
        /// the first segment came to a path that is closed
        bool stuck = false;
        /// nothing more is put into it
        bool ended = false;
        /// bytes put into it, and bytes that came out
        std::uint64_t put = 0;
        std::uint64_t arrived = 0;
    };
    struct Mark {
        std::uint64_t end = 0;
        Ns when = 0;
    };
    struct Delivery {
        std::uint64_t end = 0;
        Effects effects;
    };
    struct Connection {
        ProcessId process = 0;
        std::uint32_t life = 0;
        /// null: the process has closed its end
        Socket* socket = nullptr;
        bool dialing = true;
        Ns dialed = 0;
        /// the server has it
        bool served = false;
        /// it is logged in, and used
        bool at_work = false;
        /// swallows everything from now on, while others pass; since when
        bool silent = false;
        Ns silent_since = 0;
        Way up;
        Way down;
        /// the bytes that have arrived at the process, and how the stream ends after them
        std::string inbox;
        error_code failure;
        /// the bytes that wait for room in the socket's buffer
        std::string rest;
        /// the bytes that have arrived at a paused server
        std::string waiting;
        bool waiting_end = false;
        std::deque<Mark> marks;
        std::deque<Delivery> deliveries;
        /// bytes the process has seen
        std::uint64_t seen = 0;
    };

    [[nodiscard]] Connection& at(ConnectionId id) noexcept { return connections_[id - 1]; }
    [[nodiscard]] Connection const& at(ConnectionId id) const noexcept { return connections_[id - 1]; }
    [[nodiscard]] bool is_late(Connection const& connection) const noexcept;
    [[nodiscard]] static bool hangs_in_login(Connection const& connection) noexcept;
    [[nodiscard]] bool two_fell_silent(ProcessId process) const noexcept;
    [[nodiscard]] bool blocked(Connection const& connection, bool up) const noexcept;
    void put(ConnectionId id, bool up, std::string_view bytes);
    void put_end(ConnectionId id, bool up);
    void enqueue(ConnectionId id, bool up, Segment segment);
    void arm(ConnectionId id, bool up, Ns when);
    void arrives(ConnectionId id, bool up);
    void at_server(ConnectionId id, std::string_view bytes, bool end);
    void cut_short(ConnectionId id);
    void break_off(ConnectionId id);
    void dial_ends(ConnectionId id);
    void drained(ConnectionId id);
    void unblock(ProcessId process);
    void fall_silent(ProcessId process);

    ByteServer* server_ = nullptr;
    std::deque<Connection> connections_;
    /// the connection on which the process next begins a transaction breaks before the end of it
    std::array<bool, most_processes> cuts_transaction_{};
};

} // namespace tenure::simulation
