// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "raw/socket.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench::raw
{

/** Requests as they go over the wire. Their number comes back with the reply, and may be the same again and again. */
[[nodiscard]] std::string zookeeper_create(std::int32_t number, std::string const& path, bool ephemeral);
[[nodiscard]] std::string zookeeper_delete(std::int32_t number, std::string const& path, std::int32_t version);
/** The transactions of the library (docs/integrators/zookeeper-protocol.md). Their reply says nothing of whether they
 * succeeded. */
[[nodiscard]] std::string zookeeper_claim(std::int32_t number, std::string const& path, std::string const& generation);
[[nodiscard]] std::string zookeeper_release(
    std::int32_t number, std::string const& path, std::string const& generation, std::int32_t generation_version);
[[nodiscard]] std::string zookeeper_get(std::int32_t number, std::string const& path, bool watch);

/** A reply, or the event of a watch. */
struct ZookeeperReply {
    /// an event has this number
    static constexpr std::int32_t event = -1;
    /// codes
    static constexpr std::int32_t no_node = -101;
    static constexpr std::int32_t node_exists = -110;

    std::int32_t number = 0;
    /// 0: done
    std::int32_t code = 0;
};

/** A session of 40 s over one connection, which the destructor closes. It sends no pings: its user must send requests
 * more often. */
class ZookeeperWire
{
public:
    /** @throws std::runtime_error, std::system_error if it gets no session */
    explicit ZookeeperWire(std::uint16_t port);
    ZookeeperWire(ZookeeperWire const&) = delete;
    ZookeeperWire& operator=(ZookeeperWire const&) = delete;
    ~ZookeeperWire();

    void send(std::string_view requests) const { socket_.send(requests); }

    /** Waits for some bytes. */
    void receive();

    /** Takes the next complete reply. False: it has not arrived yet. */
    [[nodiscard]] bool take(ZookeeperReply& reply);

    /** Waits for the next reply or event. */
    [[nodiscard]] ZookeeperReply next();

    /** Sends one request and reads its reply. Events are dropped. @returns its code */
    std::int32_t ask(std::string_view request);

private:
    /** The body of the next complete frame; null until it has arrived. */
    [[nodiscard]] char const* take_frame();

    Socket socket_;
    std::vector<char> buffer_;
    /// the bytes that were read and not yet taken
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace bench::raw
