// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/scratch_directory.hpp"
#include "interleaver.hpp"
#include "store/file/operations.hpp"

#include <catch2/catch_get_random_seed.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace tenure::test
{

/** The reply; unset if another process has locked the key. */
template <class Steps>
auto unless_contended(Steps steps) -> std::optional<decltype(steps())>
{
    try {
        return steps();
    } catch (file::Contended const&) {
        return std::nullopt;
    }
}

/** When a grant ends, in nanoseconds of the clock; 0 without a grant. */
template <class Success>
[[nodiscard]] std::int64_t end_of(std::optional<ClaimReply> const& reply)
{
    auto const* const success = reply ? std::get_if<Success>(&*reply) : nullptr;
    return success == nullptr ? 0 : (success->since + success->ttl).time_since_epoch().count();
}

/** One process of the machine. Its clock moves only when the test moves it. */
struct StandingProcess : Immovable {
    std::shared_ptr<StandingRuntime> runtime;
    file::Context context;

    StandingProcess(std::string const& directory, std::atomic<std::int64_t> const& clock)
        : runtime(std::make_shared<StandingRuntime>(clock))
    {
        context.session = std::make_shared<file::Session>(FileConfig{directory}, runtime);
        context.watches = std::make_shared<file::Watches>(runtime);
        context.watches->begin(context.session);
    }
    ~StandingProcess()
    {
        context.watches->close();
        context.session->close();
    }

    [[nodiscard]] std::optional<ClaimReply>
    claim(KeyRangePtr range, std::string owner, std::chrono::milliseconds ttl) const
    {
        return claim({std::move(range), std::move(owner), ttl, Instant::max(), true, std::nullopt});
    }
    [[nodiscard]] std::optional<ClaimReply> claim(ClaimRequest const& request) const
    {
        return unless_contended([&] { return file::claim(context, request); });
    }
};

/** A directory, and a clock that moves in units of 100 ms. */
struct StandingWorld {
    static constexpr std::chrono::milliseconds unit{100};

    ScratchDirectory directory{ScratchDirectory::Place::memory};
    std::atomic<std::int64_t> clock = 1'000'000'000'000;
    std::uint32_t keys = 0;
    std::mt19937_64 random{Catch::getSeed()};

    void pass(int units) { clock += units * std::chrono::nanoseconds(unit).count(); }
};

} // namespace tenure::test
