// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "stream.hpp"

#include "runtime/timer.hpp"

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

/// of this process that may wait for a name server at once: each needs a thread
inline constexpr int most_lookups = 64;

/** Takes the place of one of them, until its last copy is gone. Null: none is free. */
[[nodiscard]] std::shared_ptr<void> take_lookup_place();

/** Resolves the addresses of a host. Used once; everything runs on the strand.
 *
 *  A detached thread calls getaddrinfo, which cannot be stopped and may take half a minute. Asio's resolver would keep
 *  the loop running, and delay every other lookup, for that long. A numeric address needs no thread. */
class NameLookup
{
public:
    using Addresses = std::vector<asio::ip::address>;
    /** An error has a detail if a limit of this process or machine caused it, not the name service. */
    using Handler = std::function<void(StreamError const&, Addresses)>;

    /** The text of a failed lookup. */
    [[nodiscard]] static std::string explain(std::string const& host, StreamError const& error)
    {
        return error.detail.empty() ? "cannot resolve " + host + ": " + error.code.message()
                                    : "no connection to " + host + ": " + error.detail;
    }

    /** The lookup fails without an answer after this time. */
    static constexpr std::chrono::seconds patience{30};

    /** Starts the lookup. The handler is called once, never inside this call, and not after the object was destroyed.
     */
    NameLookup(std::shared_ptr<Runtime> runtime, std::string const& host, Handler handler);
    NameLookup(NameLookup const&) = delete;
    NameLookup& operator=(NameLookup const&) = delete;
    ~NameLookup();

private:
    struct Shared;

    void look_up(std::string const& host);
    static void run(std::string const& host, Shared& shared) noexcept;
    void answered(StreamError const& error, Addresses addresses);

    std::shared_ptr<Runtime> runtime_;
    /// null after the call
    Handler handler_;
    /// shared with the thread and with posted functions
    std::shared_ptr<Shared> shared_;
    /// keeps the loop running during the lookup, and limits it
    Timer timer_;
};

} // namespace tenure::net
