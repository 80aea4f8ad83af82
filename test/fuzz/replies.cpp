// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The parsers of replies: of scripts, of the login, and of errors. The first byte says how many keys
// were requested; the rest is the server's bytes. For all bytes: no crash, and no impossible value is accepted.
#include "store/redis/replies.hpp"
#include "store/redis/diagnose/clocks.hpp"
#include "store/redis/link/connection_handshake.hpp"
#include "store/redis/scripts/release_replies.hpp"
#include "store/redis/sentinel/sentinel_reply.hpp"
#include "store/redis/wire/parser.hpp"
#include "store/redis/wire/server_error.hpp"

#include "demand.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace
{

namespace redis = tenure::redis;
using redis::resp::Parser;
using redis::resp::Value;
using tenure::fuzz::demand;

bool is_harmless(std::string_view text)
{
    return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void read_claim(Value const& value, std::uint32_t keys)
{
    for (bool const fencing : {true, false}) {
        auto const reply = redis::read_page_reply(value, keys, fencing);
        if (!reply)
            continue;
        if (auto const* const grant = std::get_if<redis::PageGrant>(&*reply)) {
            demand(grant->index < keys);
            demand((grant->token != 0) == fencing);
        } else if (auto const* const closed = std::get_if<redis::PageClosed>(&*reply)) {
            demand(closed->opens_in.count() > 0);
        } else {
            auto const& held = std::get<redis::PageHeld>(*reply);
            demand(!held.earliest_expiry || held.earliest_expiry->count() >= 0);
            demand(!held.foreign || *held.foreign <= keys);
        }
    }
    if (auto const token = redis::read_token(value))
        demand(std::to_string(*token).size() <= value.as_string().size());
}

void read_keys(Value const& value, std::uint32_t keys)
{
    if (auto const flags = redis::read_renewed_flags(value, keys))
        demand(flags->size() == keys);
    if (auto const flags = redis::read_release_flags(value, keys, 1))
        demand(flags->keys.size() == keys);
    if (auto const withdrawn = redis::read_withdrawn_keys(value)) {
        // messages of shares follow the text in a list
        auto const& text = value.is_list() ? value.elements().front() : value;
        demand(std::to_string(withdrawn->count).size() <= text.as_string().size());
    }
    std::vector<tenure::KeyState> states(1);
    bool const understood = redis::read_key_states(value, keys, states);
    demand(states.size() == (understood ? std::size_t{1} + keys : 1));
}

void read_clock(Value const& value)
{
    tenure::Instant const asked{std::chrono::seconds{5}};
    if (auto const reading = redis::read_time(value, asked, asked + std::chrono::milliseconds{4}))
        demand(reading->uncertainty == std::chrono::milliseconds{2} && reading->offset.count() > -10'000'000'000);
}

void read_error(Value const& value)
{
    auto const error = redis::classify(value.as_string());
    demand(bool(error.error));
    demand(error.words.size() <= 300 && is_harmless(error.words) && is_harmless(error.advice));
}

void demand_address(redis::ServerAddress const& address)
{
    demand(!address.host.empty() && address.host.size() <= 253 && is_harmless(address.host) && address.port != 0);
}

void read_sentinel(Value const& value, Value const& before)
{
    if (auto const report = redis::read_master(value, before)) {
        demand_address(report->address);
        demand(report->sentinels >= 1 && report->sentinels <= 65536);
    }
    auto const entries = redis::read_sentinels(value, 3);
    demand(entries.size() <= 3);
    for (auto const& entry : entries)
        demand_address(entry.address);
    if (auto const switched = redis::read_switched_master(value.as_string()))
        demand_address(switched->to);
}

/** A login that is refused is refused in harmless words; one that is done was answered. */
class Login
{
public:
    explicit Login(bool learns_run_id)
        : handshake_(
              config(), {.run_id = learns_run_id, .scripts = learns_run_id, .acknowledged_by = learns_run_id ? 1U : 0U})
    {
        handshake_.start();
    }

    void read(Value const& value)
    {
        if (over_)
            return;
        static_cast<void>(handshake_.take_bytes());
        switch (handshake_.reply(value)) {
        case redis::Handshake::Progress::more:
            demand(handshake_.has_bytes());
            return;
        case redis::Handshake::Progress::done:
            demand(!value.is_error() || handshake_.server().protocol == 2);
            demand(is_harmless(handshake_.server().server) && is_harmless(handshake_.server().version.text()));
            demand(handshake_.server().run_id.empty() || handshake_.server().run_id.size() == 40);
            demand(is_harmless(handshake_.server().run_id));
            break;
        case redis::Handshake::Progress::refused:
            demand(bool(handshake_.refusal().error));
            demand(is_harmless(handshake_.refusal().detail));
            demand(handshake_.refusal().detail.find(password) == std::string::npos);
        }
        over_ = true;
    }

private:
    static constexpr auto password = "very-secret";
    static tenure::RedisConfig config()
    {
        tenure::RedisConfig config;
        config.password = password;
        config.database = 3;
        return config;
    }
    redis::Handshake handshake_;
    bool over_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 2)
        return 0;
    std::uint32_t const keys = 1U + data[0] % 9U;
    Parser parser;
    parser.feed({reinterpret_cast<char const*>(data) + 1, size - 1});
    Login login{false};
    Login curious_login{true};
    Value value;
    Value before;
    while (parser.next(value) == Parser::Status::complete) {
        read_claim(value, keys);
        read_keys(value, keys);
        read_error(value);
        login.read(value);
        curious_login.read(value);
        read_clock(value);
        read_sentinel(value, before);
        before = std::exchange(value, Value());
    }
    return 0;
}
