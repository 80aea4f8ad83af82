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

/** Error of a step of a byte stream; `code` is clear after a success. */
struct StreamError {
    error_code code;
    /// text for people, without secrets; empty: `code` is enough
    std::string detail;
    /// retries cannot succeed until a person acts: an untrusted certificate, an unreadable file
    bool fatal = false;

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(code); }
    [[nodiscard]] std::string text() const { return detail.empty() ? code.message() : detail; }
};

/** Events of a stream for its owner, always on the runtime's strand and never inside a call of the owner. */
class StreamEvents
{
public:
    /** The stream is connected (including TLS), or the attempt failed for good. */
    virtual void on_connected(StreamError const& error) = 0;

    /** Ends a `read`. The bytes are valid until the next `read` or `close`; the end of the stream is an error. */
    virtual void on_read(StreamError const& error, std::string_view bytes) = 0;

    /** Ends a `write`. `written` bytes may have been sent, the rest certainly was not. `buffer` is the written string,
     *  for reuse. */
    virtual void on_written(StreamError const& error, std::size_t written, std::string buffer) = 0;

protected:
    ~StreamEvents() = default;
};

/** A byte stream to one server: TCP, TLS, a Unix socket, or a simulation. Used once. */
class Stream
{
public:
    Stream() = default;
    Stream(Stream const&) = delete;
    Stream& operator=(Stream const&) = delete;
    virtual ~Stream() = default;

    /** Resolves the host again and connects. A silent address must leave time for the others before `deadline`; the
     *  caller enforces the deadline itself. `events` must live until `close`. */
    virtual void connect(StreamEvents& events, Instant deadline) = 0;

    /** Waits for bytes; only one read at a time. */
    virtual void read() = 0;

    /** Writes as much as possible without waiting, if no write is pending, and returns the number of bytes. Errors are
     *  reported by `write` of the rest. It saves an event in the usual case. */
    [[nodiscard]] virtual std::size_t write_now(std::string_view) { return 0; }

    /** Writes all bytes; only one write at a time. The stream owns the bytes meanwhile. */
    virtual void write(std::string bytes) = 0;

    /** "host:port" of the current server; empty if the config names it. */
    [[nodiscard]] virtual std::string peer() const { return {}; }

    /** Why the stream is not connected at the caller's deadline; clear: no special cause. */
    [[nodiscard]] virtual StreamError overdue() const { return {}; }

    /** Ends all operations at once; no event follows. Call it before the last reference goes. */
    virtual void close() noexcept = 0;
};

} // namespace tenure::net
