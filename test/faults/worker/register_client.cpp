// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "register_client.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace tenure::faults
{

namespace asio = boost::asio;

RegisterClient::RegisterClient(asio::any_io_executor const& executor, std::string const& socket_path)
    : socket_(executor)
{
    socket_.connect(asio::local::stream_protocol::endpoint{socket_path});
}

asio::awaitable<bool> RegisterClient::write(std::uint32_t cell, std::uint64_t fencing_token, std::int64_t entered)
{
    std::string const line =
        "write " + std::to_string(cell) + ' ' + std::to_string(fencing_token) + ' ' + std::to_string(entered) + '\n';
    co_await asio::async_write(socket_, asio::buffer(line), asio::use_awaitable);
    auto input = asio::dynamic_buffer(input_);
    auto const size = co_await asio::async_read_until(socket_, input, '\n', asio::use_awaitable);
    bool const accepted = input_.starts_with("accepted");
    input_.erase(0, size);
    co_return accepted;
}

} // namespace tenure::faults
