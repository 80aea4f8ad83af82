// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tenure::net
{

using boost::system::error_code;

/** Why a step of a byte stream failed; `code` is clear where it did not. */
struct StreamError {
    error_code code;
    /// for a person, without secrets; empty: `code` says it all
    std::string detail;
    /// trying again cannot help until a person acts: a certificate that does not verify, a file that cannot be read
    bool fatal = false;

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code); }
    [[nodiscard]] std::string text() const { return detail.empty() ? code.message() : detail; }
};

/** What a stream tells its owner, always on the runtime's strand and never inside a call of the owner. */
class StreamEvents
{
public:
    /** The stream is connected (TLS included), or the attempt failed for good. */
    virtual void on_connected(StreamError const& error) = 0;

    /** Ends a `read`. The bytes are valid until the next `read` or `close`; the end of the stream is an error. */
    virtual void on_read(StreamError const& error, std::string_view bytes) = 0;

    /** Ends a `write`. `written` of its bytes may have left, the rest surely did not; `buffer` is the string that was
     * written, to be used again. */
    virtual void on_written(StreamError const& error, std::size_t written, std::string buffer) = 0;

protected:
    ~StreamEvents() = default;
};

/** A connection of bytes to one server: TCP, TLS, a Unix socket, or what a simulation makes of it. Used once. */
class Stream
{
public:
    Stream() = default;
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;
    virtual ~Stream() = default;

    /** Resolves the host anew and connects. An address that does not answer must leave time for the others before
     * `deadline`; the caller enforces the deadline itself. `events` must live until `close`. */
    virtual void connect(StreamEvents& events, Instant deadline) = 0;

    /** Waits for bytes; one at a time. */
    virtual void read() = 0;

    /** Writes what leaves without waiting, if no write is under way, and says how many bytes that was; whatever stops
     * it, `write` of the rest tells. It saves an event in the usual case. */
    [[nodiscard]] virtual std::size_t write_now(std::string_view) { return 0; }

    /** Writes all of it; one at a time. The stream owns the bytes meanwhile. */
    virtual void write(std::string bytes) = 0;

    /** "host:port" of the server that it has turned to; empty where the config names it. */
    [[nodiscard]] virtual std::string peer() const { return {}; }

    /** Why it is still not connected when the caller's deadline has come; clear: the deadline says it all. */
    [[nodiscard]] virtual StreamError overdue() const { return {}; }

    /** Ends everything at once; no event comes afterwards. To be called before the last reference goes. */
    virtual void close() noexcept = 0;
};

} // namespace tenure::net
