// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/conformance/client.hpp>
#include <tenure/conformance/subject.hpp>

#if !__has_include(<catch2/catch_test_macros.hpp>)
#error "tenure::conformance needs Catch2 3.3 or newer: link Catch2::Catch2WithMain as well"
#endif

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tenure::conformance
{

using namespace backend; // NOLINT(google-build-using-namespace): the suite speaks of the seam all the time

/** One test case's store, and the clients that it needs. */
struct Conformance {
    std::unique_ptr<Subject> subject = make_subject();

    [[nodiscard]] std::string key(std::string const& name) const { return subject->prefix() + name; }
    [[nodiscard]] KeyRangePtr lock(std::string const& name) const { return named_key(key(name)); }
    [[nodiscard]] KeyRangePtr pool(std::string const& prefix, std::uint32_t count) const
    {
        return numbered_keys(key(prefix), count);
    }
    /** The owner under a key of the suite; unset if it is free. */
    [[nodiscard]] std::optional<std::string> value(std::string const& name) const { return subject->value(key(name)); }
    void overwrite(std::string const& name, std::string const& value, std::chrono::milliseconds ttl) const
    {
        subject->overwrite(key(name), value, ttl);
    }

    [[nodiscard]] std::unique_ptr<Client> client() const
    {
        return std::make_unique<Client>(
            [this](std::shared_ptr<Runtime> runtime) { return subject->connect(std::move(runtime)); });
    }

    [[nodiscard]] ClaimRequest
    request(Client const& client, KeyRangePtr range, std::string owner, std::chrono::milliseconds ttl) const
    {
        return {std::move(range), std::move(owner), ttl, client.now() + std::chrono::seconds{10}, true, std::nullopt};
    }

    /** The claim of an owner to whom the store must grant a key. */
    [[nodiscard]] ClaimPtr
    take(Client& client, KeyRangePtr const& range, unsigned number, std::chrono::milliseconds ttl = long_ttl) const
    {
        auto const granted = expect<Granted>(client.claim(request(client, range, owner(number), ttl)));
        return claim_of(range, owner(number), granted);
    }

    /** Long enough to outlast any test case. */
    static constexpr std::chrono::milliseconds long_ttl{30'000};
};

/** A pool of one key, and a client that claims the key for several owners. */
struct OneKey {
    Conformance test;
    std::unique_ptr<Client> client = test.client();
    KeyRangePtr range = test.pool("pool:", 1);
    /// as `ClaimRequest::reuse_after`
    std::chrono::milliseconds rest{};
    /// servers count whole milliseconds
    static constexpr std::chrono::milliseconds rounding{5};

    [[nodiscard]] ClaimRequest request(unsigned number, std::chrono::milliseconds ttl) const
    {
        auto request = test.request(*client, range, owner(number), ttl);
        request.reuse_after = rest;
        return request;
    }
    [[nodiscard]] bool is_granted(unsigned number) const
    {
        return std::holds_alternative<Granted>(client->claim(request(number, Conformance::long_ttl)));
    }
    /** Claims until the key is granted, and tells when. */
    [[nodiscard]] Instant granted_at(unsigned number, std::chrono::milliseconds limit) const
    {
        client->run_until([&] { return is_granted(number); }, limit);
        return client->now();
    }
};

} // namespace tenure::conformance
