// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests of a store, as steps of `attempt`. Everything runs on the strand.
#pragma once

#include "watches.hpp"

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace tenure::file
{

/** How long until an end; zero if it has passed. */
[[nodiscard]] inline std::chrono::milliseconds time_until(BootTime end, BootTime now) noexcept
{
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(std::max(end - now, BootTime{0})));
}

/** True if the record names this claim. One that was evicted still names its cell, and another owner. */
[[nodiscard]] inline bool names(Record const& record, Tenancy const& tenancy, std::string_view owner) noexcept
{
    return record.holder == tenancy.holder->id && record.cell == tenancy.cell && record.claim == tenancy.claim &&
           record.value() == owner;
}

/** The session of a request, and the watches of the store. */
struct Context {
    SessionPtr session;
    std::shared_ptr<Watches> watches;
};

[[nodiscard]] ClaimReply claim(Context const& context, ClaimRequest const& request);
[[nodiscard]] ReleaseReply release(Context const& context, ReleaseRequest const& request);
[[nodiscard]] WithdrawReply withdraw(Context const& context, WithdrawRequest const& request);
[[nodiscard]] EvictReply evict(Context const& context, EvictRequest const& request);
[[nodiscard]] InspectReply inspect(Context const& context, KeyRangePtr const& range);
/** Reads all range files whose names can belong to the prefix. The name of a long stem does not tell it: such keys are
 *  not listed, and `more` is set. */
[[nodiscard]] ListReply list(Context const& context, ListRequest const& request);
[[nodiscard]] ReadyReply ready(Context const& context, Deadline const& not_after);
/** Renews without any lock: all cells in one write. */
[[nodiscard]] std::vector<RenewAnswer> renew(Session& session, std::vector<RenewRequest> const& requests);
[[nodiscard]] Findings examine(Session const& session);

} // namespace tenure::file
