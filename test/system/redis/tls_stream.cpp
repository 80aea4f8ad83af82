// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/certificate_authority.hpp"
#include "system/support/running_store.hpp"

#include "harness/immovable.hpp"
#include "harness/redis_server.hpp"
#include "net/stream_kinds.hpp"
#include "runtime/asio_runtime.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tenure::test
{

namespace
{

/** A peer that is slow to send its first bytes after the handshake. */
class SlowSpeaker final : public net::StreamEvents, Immovable
{
public:
    explicit SlowSpeaker(std::shared_ptr<net::Stream> stream)
        : stream_(std::move(stream))
    {
    }
    ~SlowSpeaker() { stream_->close(); }

    void on_connected(net::StreamError const& error) override
    {
        REQUIRE_FALSE(error);
        std::this_thread::sleep_for(300ms);
        stream_->write("PING\r\n");
        stream_->read();
    }
    void on_read(net::StreamError const& error, std::string_view) override { end("read", error); }
    void on_written(net::StreamError const& error, std::size_t, std::string) override
    {
        if (error)
            end("write", error);
    }

    std::string ended;
    net::StreamError reason;

private:
    void end(std::string_view what, net::StreamError const& error)
    {
        ended = what;
        reason = error;
        stream_->close();
    }

    std::shared_ptr<net::Stream> stream_;
};

} // namespace

TEST_CASE("a server that refuses this client is heard, also if it has reset the connection before the first word")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    auto options = tls_options(authority, "good");
    options.config = {"tls-auth-clients yes"};
    RedisServer const server(options);
    TlsConfig tls;
    tls.enabled = true;
    tls.ca_file = authority.ca();

    boost::asio::io_context loop;
    auto const runtime = make_asio_runtime(loop.get_executor(), [](LogLevel, std::string_view) {});
    auto const stream = net::make_tls_stream(runtime, "127.0.0.1", server.tls_port(), tls);
    SlowSpeaker speaker(stream);
    runtime->post([&] { stream->connect(speaker, runtime->now() + 5s); });
    loop.run_for(10s);
    CHECK(speaker.ended == "read");
    CHECK(speaker.reason.code == errc::tls_failed);
    CHECK(speaker.reason.detail.find("certificate required") != std::string::npos);
}

} // namespace tenure::test
