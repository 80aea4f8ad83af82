// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bench::raw
{

/** A blocking connection to a server on the loopback address. */
class Socket
{
public:
    /** @param patience  seconds of silence that are borne @throws std::system_error */
    explicit Socket(std::uint16_t port, unsigned patience = 60);
    Socket(Socket const&) = delete;
    Socket& operator=(Socket const&) = delete;
    ~Socket();

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

    /** @throws std::system_error */
    void send(std::string_view bytes) const;

    /** Waits for some bytes. @throws std::system_error, also when the server closes the connection, or is silent for
     * too long */
    [[nodiscard]] std::size_t receive(char* buffer, std::size_t size) const;

private:
    int descriptor_;
};

} // namespace bench::raw
