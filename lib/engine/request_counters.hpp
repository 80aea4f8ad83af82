// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "distribution_count.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/metrics.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <variant>

namespace tenure::engine
{

/** How the request ended that got this reply; unset if its owner gave it up. */
template <class Reply>
[[nodiscard]] std::optional<RequestOutcome> outcome_of(Reply const& reply) noexcept
{
    return std::visit(
        []<class Alternative>(Alternative const& alternative) -> std::optional<RequestOutcome> {
            if constexpr (std::is_same_v<Alternative, Failure>) {
                if (alternative.was_dropped())
                    return std::nullopt;
                switch (alternative.effect) {
                case Failure::Effect::refused:
                    return RequestOutcome::refused;
                case Failure::Effect::not_sent:
                    return RequestOutcome::not_sent;
                case Failure::Effect::unknown:
                    return RequestOutcome::unanswered;
                }
                return std::nullopt;
            } else if constexpr (std::is_same_v<Alternative, Busy> || std::is_same_v<Alternative, NotOwner>) {
                return RequestOutcome::declined;
            } else if constexpr (std::is_same_v<Alternative, Unconfirmed>) {
                return RequestOutcome::refused;
            } else {
                return RequestOutcome::done;
            }
        },
        reply);
}

/** The counts behind `RequestMetrics`. Written on the strand, read from any thread. */
class RequestCounters
{
public:
    /** A request has ended. @param took  since it was handed to the store; unset: it was not timed */
    template <class Reply>
    void ended(RequestKind kind, Reply const& reply, std::optional<Clock::duration> took) noexcept
    {
        auto const outcome = outcome_of(reply);
        if (!outcome)
            return;
        auto& one = kinds_[static_cast<std::size_t>(kind)];
        add_one(one.by_outcome[static_cast<std::size_t>(*outcome)]);
        if (took && *outcome <= RequestOutcome::refused)
            one.round_trip.add(*took);
    }

    [[nodiscard]] std::array<RequestMetrics, request_kinds> snapshot() const noexcept
    {
        std::array<RequestMetrics, request_kinds> all;
        for (std::size_t kind = 0; kind < request_kinds; ++kind) {
            for (std::size_t outcome = 0; outcome < request_outcomes; ++outcome)
                all[kind].by_outcome[outcome] = kinds_[kind].by_outcome[outcome].load(std::memory_order_relaxed);
            all[kind].round_trip = kinds_[kind].round_trip.snapshot();
        }
        return all;
    }

private:
    struct Kind {
        std::array<Count, request_outcomes> by_outcome{};
        DistributionCount round_trip;
    };
    std::array<Kind, request_kinds> kinds_{};
};

} // namespace tenure::engine
