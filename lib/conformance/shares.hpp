// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals; // NOLINT(google-global-names-in-headers): of this suite

inline constexpr Share fair{};
inline constexpr Share reader{.weight = 1, .capacity = Share::all};
inline constexpr Share writer{.weight = Share::all, .capacity = Share::all};

[[nodiscard]] constexpr Share permits(std::uint32_t weight, std::uint32_t of)
{
    return {.weight = weight, .capacity = of};
}

/** A key that is held in places, and a client that claims for several owners. */
struct Sharing {
    Conformance test;
    std::unique_ptr<Client> client = test.client();
    KeyRangePtr range = shared_key(test.key("shared"));
    std::chrono::milliseconds brief = test.subject->short_ttl();

    Sharing()
    {
        if (client->backend().capabilities().no_shares != nullptr)
            SKIP(client->backend().capabilities().no_shares);
    }

    [[nodiscard]] ClaimRequest
    request(unsigned number, Share const& share, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        auto request = test.request(*client, range, owner(number), ttl);
        request.share = share;
        request.waits = Waits::in_line;
        return request;
    }
    /** The first claim of an owner. */
    [[nodiscard]] ClaimReply
    ask(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return client->claim(request(number, share, ttl));
    }
    /** A later claim of an owner that may have a place. */
    [[nodiscard]] ClaimReply
    again(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        auto later = request(number, share, ttl);
        later.earliest_attempt = client->now() - 1s;
        return client->claim(later);
    }
    [[nodiscard]] ClaimReply try_once(unsigned number, Share const& share = fair) const
    {
        auto once = request(number, share);
        once.waits = Waits::no;
        return client->claim(once);
    }
    /** The claim of a place that holds. */
    [[nodiscard]] ClaimPtr
    hold(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return claim_of(range, owner(number), expect<Granted>(ask(number, share, ttl)));
    }
    /** The place of an owner that has to wait. */
    [[nodiscard]] InLine
    wait(unsigned number, Share const& share = fair, std::chrono::milliseconds ttl = Conformance::long_ttl) const
    {
        return place_of(ask(number, share, ttl));
    }
    [[nodiscard]] static InLine place_of(ClaimReply const& reply)
    {
        auto const place = expect<Busy>(reply).place;
        REQUIRE(place);
        return *place;
    }
    [[nodiscard]] bool holds(unsigned number, Share const& share = fair) const
    {
        return std::holds_alternative<Granted>(again(number, share));
    }
    [[nodiscard]] KeyState state() const { return expect<std::vector<KeyState>>(client->inspect(range)).at(0); }
    /** Waits until a place with this ttl that was renewed before now has lapsed. */
    void let_lapse(std::chrono::milliseconds ttl) const { client->run_for(ttl + test.subject->expiry_slack() + 50ms); }
};

/** Another client that waits for the key, and the messages that it gets. */
struct Listener {
    explicit Listener(Sharing const& sharing)
        : client(sharing.test.client())
    {
        client->on_strand([&] {
            watch = client->backend().watch(sharing.range, WatchAs::waiter, [this](WatchNews news) {
                in_force = in_force || news.event == WatchEvent::in_force;
                // a store that cannot tell whose turn it is lets all of them ask
                told = told || news.event == WatchEvent::our_turn || news.event == WatchEvent::hint;
                numbers.insert(numbers.end(), news.held.begin(), news.held.end());
            });
        });
        client->run_until([this] { return in_force; });
    }
    Listener(Listener const&) = delete;
    Listener& operator=(Listener const&) = delete;
    ~Listener()
    {
        client->on_strand([this] { watch.reset(); });
    }

    [[nodiscard]] InLine wait(Sharing const& sharing, unsigned number, Share const& share) const
    {
        return Sharing::place_of(client->claim(sharing.request(number, share)));
    }
    /** A later claim of an owner that has a place. */
    [[nodiscard]] ClaimReply again(Sharing const& sharing, unsigned number, Share const& share) const
    {
        auto later = sharing.request(number, share);
        later.earliest_attempt = client->now() - 1s;
        return client->claim(later);
    }
    [[nodiscard]] bool holds(Sharing const& sharing, unsigned number, Share const& share) const
    {
        return std::holds_alternative<Granted>(again(sharing, number, share));
    }

    std::unique_ptr<Client> client;
    std::unique_ptr<Watch> watch;
    bool in_force = false;
    bool told = false;
    std::vector<std::uint64_t> numbers;
};

} // namespace tenure::conformance
