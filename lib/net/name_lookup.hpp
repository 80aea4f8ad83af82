// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::net
{

using boost::system::error_code;

/** The addresses of a host. Used once; everything on the strand.
 *
 *  A name is looked up by getaddrinfo in a detached thread. getaddrinfo cannot be stopped and may take half a minute;
 *  Asio's resolver would keep the loop running, and every other lookup waiting, for that long. A numeric address needs
 *  no thread.
 */
class NameLookup
{
public:
    using Addresses = std::vector<asio::ip::address>;
    using Handler = std::function<void(error_code, Addresses)>;

    /** The lookup fails if there is no answer by then. */
    static constexpr std::chrono::seconds patience{30};

    /** The handler is called once, never inside this call, and not after the object was destroyed. */
    NameLookup(std::shared_ptr<Runtime> runtime, std::string const& host, Handler handler);
    NameLookup(NameLookup const&) = delete;
    NameLookup& operator=(NameLookup const&) = delete;
    ~NameLookup();

private:
    struct Shared;

    void look_up(std::string const& host);
    static void run(std::string const& host, Shared& shared) noexcept;
    void answered(error_code error, Addresses addresses);

    std::shared_ptr<Runtime> runtime_;
    /// null once it was called
    Handler handler_;
    /// with the thread, and with what is posted
    std::shared_ptr<Shared> shared_;
    /// keeps the loop running while the answer is awaited, and ends the wait
    Runtime::TimerId timer_ = 0;
};

} // namespace tenure::net
