// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "register_process.hpp"

#include "harness/eventually.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace tenure::faults
{

namespace asio = boost::asio;

namespace
{

bool connect(asio::local::stream_protocol::socket& socket, std::string const& path)
{
    boost::system::error_code error;
    socket.connect(asio::local::stream_protocol::endpoint{path}, error);
    return !error;
}

} // namespace

RegisterProcess::RegisterProcess(std::string const& program, std::string socket_path, std::string log)
    : socket_path_(std::move(socket_path))
    , log_(std::move(log))
    , process_(test::Command{{program, socket_path_, log_}})
{
    asio::io_context context;
    bool const up = test::eventually([&] {
        asio::local::stream_protocol::socket socket{context};
        return !process_.running() || connect(socket, socket_path_);
    });
    if (!up || !process_.running())
        throw std::runtime_error("the fenced register did not start");
}

RegisterProcess::Totals RegisterProcess::totals() const
{
    asio::io_context context;
    asio::local::stream_protocol::socket socket{context};
    if (!connect(socket, socket_path_))
        throw std::runtime_error("the fenced register has gone");
    asio::write(socket, asio::buffer(std::string{"totals\n"}));
    std::string reply;
    asio::read_until(socket, asio::dynamic_buffer(reply), '\n');
    Totals totals;
    std::istringstream{reply} >> totals.accepted >> totals.rejected >> totals.stale;
    return totals;
}

} // namespace tenure::faults
