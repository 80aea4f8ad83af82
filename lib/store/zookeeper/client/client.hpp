// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "client_handle.hpp"
#include "runtime/names.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/runtime.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

using boost::system::error_code;

/** Drives a handle of the C client on the runtime's strand: waits for its descriptor and its timer, and lets it work.
 *
 *  The descriptor is watched through a duplicate, because the C client may close and open its own at any time. A server
 *  that is silent, or slow to connect, is replaced by the next one long before the C client would do so, because a
 *  lease may not last that long. */
class Client final : public ServerLink, public std::enable_shared_from_this<Client>
{
public:
    /** @param connect_timeout  from the first attempt at a server to the session; shorter for a short session */
    Client(
        std::shared_ptr<Runtime> runtime, ClientHandle::Settings const& settings,
        std::chrono::milliseconds connect_timeout, LinkListener& listener);

    void start() override;
    void ask(Request request, ResponseHandler handler) override;
    void close(bool end_session) noexcept override;
    void drop_connection() override;
    void set_servers(std::string const& servers) override;

    [[nodiscard]] bool connected() const override { return !closed_ && handle_.connected(); }
    [[nodiscard]] std::chrono::milliseconds timeout() const override { return handle_.timeout(); }
    [[nodiscard]] std::int64_t session_id() const override { return handle_.session_id(); }
    [[nodiscard]] std::string const& last_message() const noexcept override { return handle_.last_message(); }
    [[nodiscard]] Instant connection_begun() const noexcept override { return begun_; }

private:
    void pump_soon();
    void pump();
    /** Waits for the descriptor or the timer, as the handle requires. */
    void wait_for_news();
    void adopt(ClientHandle::Interest const& interest);
    void wait_for(ClientHandle::Interest const& interest);
    void wait(bool readable);
    void ready(std::uint64_t adoption, bool readable, error_code error);
    void check_silence(Instant now);
    void set_timer(Instant now, ClientHandle::Interest const& interest);
    void report_no_server();
    void deliver();
    void notify(ClientHandle::Event& one);

    std::shared_ptr<Runtime> runtime_;
    ClientHandle handle_;
    /// from the first attempt at a server to the session
    Clock::duration connect_limit_;
    /// limit of silence while a response is pending
    Clock::duration silence_limit_;
    /// current limit of silence: grows each time another connection did not help
    Clock::duration patience_;
    /// null after `close`
    LinkListener* listener_;
    /// a duplicate of the handle's descriptor; closed while the handle has none
    asio::posix::stream_descriptor descriptor_;
    /// of the handle's connection, 0: none
    std::uint64_t identity_ = 0;
    /// counts the duplicates, to distinguish waits on earlier ones
    std::uint64_t adoption_ = 0;
    bool reading_ = false;
    bool writing_ = false;
    /// the duplicate was waited for to become writable
    bool waited_for_writing_ = false;
    /// events of the current delivery, and the number already delivered
    std::vector<ClientHandle::Event> events_;
    std::size_t delivered_ = 0;
    bool pump_posted_ = false;
    bool closed_ = false;
    /// of the connection that began then
    std::uint64_t begun_identity_ = 0;
    Instant begun_{};
    /// time of the last data from the server
    Instant last_received_{};
    Timer timer_{*runtime_};
};

} // namespace tenure::zookeeper
