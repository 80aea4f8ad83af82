// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LeaseLines: what the log says about leases.
#include "lease_lines.hpp"

#include "lease_record.hpp"
#include "store_log.hpp"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string_view>
#include <utility>

namespace tenure::engine
{

namespace
{

/// further keys of one line are only counted
constexpr std::size_t most_keys = 5;

// positions of the causes; the reasons of a loss follow
constexpr std::size_t at_risk_cause = 0;
constexpr std::size_t renewed_cause = 1;
constexpr std::size_t release_cause = 2;
constexpr std::size_t detachment_cause = 3;
constexpr std::size_t loss_causes = 4;

constexpr LogLevel level_of(std::size_t cause) noexcept
{
    return cause == renewed_cause ? LogLevel::info : LogLevel::warning;
}

std::string listed(std::vector<std::string> const& keys, std::uint64_t count)
{
    std::string text;
    for (auto const& key : keys)
        text += (text.empty() ? "" : ", ") + key;
    return count > keys.size() ? text + ", ..." : text;
}

} // namespace

LeaseLines::LeaseLines(std::shared_ptr<Runtime> runtime, StoreLog const& store_log, std::function<bool()> busy)
    : runtime_(std::move(runtime))
    , store_log_(store_log)
    , busy_(std::move(busy))
{
}

template <class LineOfOne>
void LeaseLines::note(std::size_t cause, std::string key, LineOfOne line_of_one)
{
    if (closed_ || !runtime_->logs(level_of(cause)))
        return;
    auto& [schedule, keys] = causes_.at(cause);
    auto const now = runtime_->now();
    auto const repeated = schedule.happened(now);
    if (repeated && repeated->more == 1) {
        line_of_one(key);
        return;
    }
    if (keys.size() < most_keys && std::ranges::find(keys, key) == keys.end())
        keys.push_back(std::move(key));
    if (repeated)
        log_several(cause, *repeated);
    else
        arm();
}

void LeaseLines::at_risk(LeaseRecord const& record, Clock::duration remaining)
{
    auto const time = std::to_string(std::chrono::round<std::chrono::milliseconds>(remaining).count()) + " ms";
    note(at_risk_cause, record.key(), [&](std::string const& key) {
        store_log_.log(
            LogLevel::warning, "lease on " + key +
                                   " is at risk: a renewal failed or is unanswered; it remains valid for " + time +
                                   ", retrying");
    });
}

void LeaseLines::renewed_again(LeaseRecord const& record)
{
    // the default level leaves it out
    if (!runtime_->logs(level_of(renewed_cause)))
        return;
    note(renewed_cause, record.key(), [&](std::string const& key) {
        store_log_.log(LogLevel::info, "lease on " + key + " is renewed again");
    });
}

void LeaseLines::lost(LeaseRecord const& record, CancelReason reason)
{
    note(loss_causes + static_cast<std::size_t>(reason), record.key(), [&](std::string const& key) {
        store_log_.log(
            LogLevel::warning,
            "lease on " + key + " is lost (" + std::string(describe(reason)) + "): stop the work it covers" +
                (reason == CancelReason::not_owner ? "; the key was evicted, deleted or overwritten" : ""));
    });
}

void LeaseLines::release_unconfirmed(std::string const& keys)
{
    note(release_cause, keys, [&](std::string const& key) {
        store_log_.log(
            LogLevel::warning, "the release of " + key + " was not confirmed; the key expires after its ttl");
    });
}

void LeaseLines::detachment_unconfirmed(std::string const& key)
{
    note(detachment_cause, key, [&](std::string const& name) {
        store_log_.log(
            LogLevel::warning, "the detachment of " + name + " was not confirmed; the key expires after its ttl");
    });
}

void LeaseLines::log_several(std::size_t cause, Repeated const& repeated)
{
    auto const keys = listed(std::exchange(causes_.at(cause).keys, {}), repeated.more);
    auto const count = std::to_string(repeated.more);
    auto const time = elapsed_text(repeated.since_line);
    if (cause == at_risk_cause) {
        store_log_.log(
            LogLevel::warning,
            "leases at risk: " + count + " more in " + time + " (a renewal failed or is unanswered): " + keys);
    } else if (cause == renewed_cause) {
        store_log_.log(LogLevel::info, "leases renewed again: " + count + " more in " + time + ": " + keys);
    } else if (cause == release_cause) {
        store_log_.log(
            LogLevel::warning, "releases not confirmed: " + count + " more in " + time + ": " + keys +
                                   "; the keys expire after their ttl");
    } else if (cause == detachment_cause) {
        store_log_.log(
            LogLevel::warning, "detachments not confirmed: " + count + " more in " + time + ": " + keys +
                                   "; the keys expire after their ttl");
    } else {
        auto const reason = static_cast<CancelReason>(cause - loss_causes);
        store_log_.log(
            LogLevel::warning,
            "leases lost: " + count + " more in " + time + " (" + std::string(describe(reason)) + "): " + keys +
                "; stop the work that they cover" +
                (reason == CancelReason::not_owner ? "; the keys were evicted, deleted or overwritten" : ""));
    }
}

void LeaseLines::arm()
{
    auto const when =
        std::ranges::min(causes_ | std::views::transform([](Cause const& one) { return one.schedule.due(); }));
    timer_.by(when, std::weak_ptr(self_), &LeaseLines::log_due);
}

void LeaseLines::log_due()
{
    auto const now = runtime_->now();
    for (std::size_t cause = 0; cause < causes_.size(); ++cause)
        if (auto& schedule = causes_.at(cause).schedule; schedule.due() <= now)
            if (auto const repeated = schedule.take(now))
                log_several(cause, *repeated);
    arm();
}

void LeaseLines::work_began()
{
    if (std::exchange(holds_back_, false) && !closed_)
        arm();
}

void LeaseLines::work_ended()
{
    if (!timer_.pending() || busy_())
        return;
    timer_.cancel();
    holds_back_ = true;
    auto const now = runtime_->now();
    for (std::size_t cause = 0; cause < causes_.size(); ++cause)
        if (auto const repeated = causes_.at(cause).schedule.take_early(now))
            log_several(cause, *repeated);
}

void LeaseLines::close()
{
    if (std::exchange(closed_, true))
        return;
    timer_.cancel();
    auto const now = runtime_->now();
    for (std::size_t cause = 0; cause < causes_.size(); ++cause)
        if (auto const repeated = causes_.at(cause).schedule.take(now))
            log_several(cause, *repeated);
}

} // namespace tenure::engine
