// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <cstdint>
#include <string>

namespace tenure::faults
{

/** A task's connection to the fenced register. */
class RegisterClient
{
public:
    /** @throws boost::system::system_error if the register does not listen */
    RegisterClient(boost::asio::any_io_executor const& executor, std::string const& socket_path);

    /** Writes with the token of a lease that was entered at `entered`. True: the register accepted it. */
    boost::asio::awaitable<bool> write(std::uint32_t cell, std::uint64_t fencing_token, std::int64_t entered);

private:
    boost::asio::local::stream_protocol::socket socket_;
    /// the bytes that were read and not used yet
    std::string input_;
};

} // namespace tenure::faults
