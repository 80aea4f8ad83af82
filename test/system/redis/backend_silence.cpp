// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"

#include "harness/redis_server.hpp"

#include "store/redis/link/stream.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;

namespace
{

/** A real stream whose incoming bytes can be withheld: a flow that a firewall has forgotten. */
class MuteStream final : public redis::Stream, private redis::StreamEvents
{
public:
    MuteStream(std::shared_ptr<redis::Stream> inner, std::shared_ptr<bool const> mute)
        : inner_(std::move(inner))
        , mute_(std::move(mute))
    {
    }

    void connect(redis::StreamEvents& events, Instant deadline) override
    {
        events_ = &events;
        inner_->connect(*this, deadline);
    }
    void read() override { inner_->read(); }
    void write(std::string bytes) override { inner_->write(std::move(bytes)); }
    void close() noexcept override { inner_->close(); }

private:
    void on_connected(redis::StreamError const& error) override { events_->on_connected(error); }
    void on_read(redis::StreamError const& error, std::string_view bytes) override
    {
        if (*mute_ && !error)
            inner_->read();
        else
            events_->on_read(error, bytes);
    }
    void on_written(redis::StreamError const& error, std::size_t written, std::string buffer) override
    {
        events_->on_written(error, written, std::move(buffer));
    }

    std::shared_ptr<redis::Stream> inner_;
    std::shared_ptr<bool const> mute_;
    redis::StreamEvents* events_ = nullptr;
};

} // namespace

TEST_CASE_METHOD(RedisTest, "a silent connection costs no lease while the server can be reached", "[redis][backend]")
{
    auto client = server.client();
    auto const mute = std::make_shared<bool>(false);
    int streams = 0;
    LiveBackend live(config_of(server), [&](std::shared_ptr<Runtime> const& runtime, RedisConfig const& config) {
        ++streams;
        auto stream = redis::socket_streams()(runtime, config);
        return streams == 1 ? std::make_shared<MuteStream>(std::move(stream), mute) : stream;
    });
    auto const range = numbered_keys("pool:", 2);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    live.on_strand([&] { live.backend().shortest_ttl(3s); });
    auto const claim = claim_of(range, owner(1), 0);

    *mute = true;
    std::optional<RenewReply> lost;
    live.on_strand([&] {
        renew_one(
            live.backend(), {claim, 3s, live.now() + 10s}, [&lost](RenewReply reply) { lost = std::move(reply); });
    });
    auto const asked = live.now();
    live.run_until([&] { return std::holds_alternative<Renewed>(live.renew_within(claim, 3s, 20ms)); });
    // ttl / 6 is 500 ms; a handshake and a busy machine on top
    CHECK(live.now() - asked >= 400ms);
    CHECK(live.now() - asked < 1500ms);
    CHECK(streams == 2);
    CHECK(live.logged("second connection") == 1);
    CHECK_FALSE(lost);

    // The first is still read for a ttl and then given up.
    live.run_until([&] { return lost.has_value(); });
    static_cast<void>(expect_unknown(*lost));
    live.run_until([&] { return client.info("connected_clients") == "2"; });
    static_cast<void>(expect<Granted>(live.claim(range, owner(2))));
}

TEST_CASE_METHOD(RedisTest, "a silent connection that speaks again delivers its late answers", "[redis][backend]")
{
    LiveBackend live(server);
    auto const range = numbered_keys("pool:", 2);
    REQUIRE(expect<Granted>(live.claim(range, owner(1))).index == 0);
    live.on_strand([&] { live.backend().shortest_ttl(1200ms); });

    server.pause();
    std::optional<ClaimReply> late;
    live.on_strand([&] {
        live.backend().claim({range, owner(2), 30s, live.now() + 10s, true, std::nullopt}, [&late](ClaimReply reply) {
            late = std::move(reply);
        });
    });
    auto const asked = live.now();
    live.run_for(700ms);
    CHECK(live.logged("second connection") == 1);
    server.resume();
    live.run_until([&] { return late.has_value(); });
    auto const granted = expect<Granted>(*late);
    CHECK(granted.index == 1);
    CHECK(granted.since <= asked + 200ms);
    static_cast<void>(expect<Renewed>(live.renew(claim_of(range, owner(2), 1), 5s)));
}
