// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "conformance/subject.hpp"
#include "system/support/live_backend.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tenure::test
{

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

    [[nodiscard]] std::unique_ptr<LiveBackend> client() const
    {
        return std::make_unique<LiveBackend>(
            [this](std::shared_ptr<Runtime> runtime) { return subject->connect(std::move(runtime)); });
    }
    [[nodiscard]] std::unique_ptr<LiveBackend> bad_client() const
    {
        return std::make_unique<LiveBackend>(
            [this](std::shared_ptr<Runtime> runtime) { return subject->connect_badly(std::move(runtime)); });
    }

    [[nodiscard]] ClaimRequest
    request(LiveBackend const& client, KeyRangePtr range, std::string owner, std::chrono::milliseconds ttl) const
    {
        return {std::move(range), std::move(owner), ttl, client.now() + std::chrono::seconds{10}, true, std::nullopt};
    }

    /** Long enough to outlast any test case. */
    static constexpr std::chrono::milliseconds long_ttl{30'000};
};

/** The claim of a grant. */
[[nodiscard]] inline ClaimPtr claim_of(KeyRangePtr range, std::string owner, Granted const& granted)
{
    auto claim = std::make_shared<Claim>();
    claim->range = std::move(range);
    claim->owner = std::move(owner);
    claim->index = granted.index;
    claim->fencing_token = granted.fencing_token;
    claim->handle = granted.handle;
    return claim;
}

} // namespace tenure::test
