// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "clock_reading.hpp"

#include "store/redis/wire/server_error.hpp"

#include <config/number_from.hpp>

#include <cstdint>
#include <utility>

namespace tenure::redis
{

namespace
{

constexpr int readings = 5;

class Reading : public std::enable_shared_from_this<Reading>
{
public:
    Reading(
        Runtime& runtime, std::shared_ptr<Connection> connection, Deadline not_after,
        std::function<void(std::optional<ClockReading>, std::string)> handler)
        : runtime_(runtime)
        , connection_(std::move(connection))
        , not_after_(not_after)
        , handler_(std::move(handler))
    {
    }

    void ask()
    {
        connection_->execute(resp::Command("TIME"), not_after_, [self = shared_from_this()](Outcome const& outcome) {
            self->answered(outcome);
        });
    }

private:
    void answered(Outcome const& outcome)
    {
        if (outcome.delivery != Delivery::answered) {
            finish(outcome.detail.empty() ? outcome.error.message() : outcome.detail);
            return;
        }
        if (outcome.reply.is_error()) {
            finish(classify(outcome.reply.as_string()).words);
            return;
        }
        best_ = better(best_, read_time(outcome.reply, outcome.since, runtime_.now()));
        if (++answers_ < readings)
            ask();
        else
            finish("the reply to TIME makes no sense");
    }

    void finish(std::string why_not)
    {
        connection_->close();
        handler_(best_, best_ ? std::string() : std::move(why_not));
    }

    Runtime& runtime_;
    std::shared_ptr<Connection> connection_;
    Deadline not_after_;
    std::function<void(std::optional<ClockReading>, std::string)> handler_;
    std::optional<ClockReading> best_;
    int answers_ = 0;
};

} // namespace

std::optional<ClockReading> read_time(resp::Value const& reply, Instant asked, Instant answered)
{
    auto const parts = reply.elements();
    if (parts.size() != 2)
        return std::nullopt;
    // in nanoseconds still a number
    constexpr std::int64_t latest = 5'000'000'000;
    auto const seconds = number_from<std::int64_t>(parts[0].as_string());
    auto const micros = number_from<std::int64_t>(parts[1].as_string());
    if (!seconds || !micros || *seconds < 0 || *seconds > latest || *micros < 0 || *micros >= 1'000'000)
        return std::nullopt;
    auto const shown = std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
    auto const half = (answered - asked) / 2;
    return ClockReading{shown - (asked + half).time_since_epoch(), half};
}

std::optional<ClockReading> better(std::optional<ClockReading> const& a, std::optional<ClockReading> const& b)
{
    if (!a || !b)
        return a ? a : b;
    return b->uncertainty < a->uncertainty ? b : a;
}

void read_clock(
    Runtime& runtime, std::shared_ptr<Connection> connection, Deadline not_after,
    std::function<void(std::optional<ClockReading>, std::string why_not)> handler)
{
    std::make_shared<Reading>(runtime, std::move(connection), not_after, std::move(handler))->ask();
}

} // namespace tenure::redis
