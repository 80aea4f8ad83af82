// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "raw/socket.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bench::raw
{

/** A POST to the gateway as it goes over the wire. */
[[nodiscard]] std::string etcd_request(std::string_view path, std::string const& body);

/** One connection to etcd's gateway with one request under way. */
class EtcdWire
{
public:
    explicit EtcdWire(std::uint16_t port)
        : socket_(port)
    {
    }

    [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
    void send(std::string_view text) const { socket_.send(text); }

    /** Waits for bytes; true once the reply is there as a whole. All replies that are measured tell their length. */
    [[nodiscard]] bool receive();

    /** The reply as it came; the next one begins anew. */
    [[nodiscard]] std::string take();

    [[nodiscard]] std::string ask(std::string_view text);

    /** Of a reply that does not end: waits until the text has come, and forgets all up to its end. */
    void skip_past(std::string_view text);

private:
    void read_some();

    Socket socket_;
    std::string input_;
};

/** A key under a lease of the server: one transaction that puts it, if it is not there, and one that deletes it, if it
 * bears the value. */
struct EtcdPair {
    EtcdPair(std::string_view key, std::string const& lease);

    /// base64
    std::string key;
    std::string claim;
    std::string release;
    bool held = false;
};

/** A new lease of ten minutes. */
[[nodiscard]] std::string etcd_lease(EtcdWire& wire);

/** Whether the comparison of the transaction held. */
[[nodiscard]] bool etcd_succeeded(std::string_view reply);

} // namespace bench::raw
