// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The requests of a store, as coroutines of steps. Everything runs on the strand.
#pragma once

#include "session.hpp"
#include "store/request.hpp"
#include "watches.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace tenure::file
{

/** The session of a request, and the watches of the store. */
struct Context {
    SessionPtr session;
    std::shared_ptr<Watches> watches;
};

[[nodiscard]] store::Request<ClaimReply> claim(Context context, ClaimRequest request);
[[nodiscard]] store::Request<ReleaseReply> release(Context context, ReleaseRequest request);
[[nodiscard]] store::Request<WithdrawReply> withdraw(Context context, WithdrawRequest request);
[[nodiscard]] store::Request<EvictReply> evict(Context context, EvictRequest request);

/** Renews without any lock: all cells in one write. */
[[nodiscard]] std::vector<RenewAnswer> renew(Session& session, std::vector<RenewRequest> const& requests);
[[nodiscard]] InspectReply inspect(Session& session, KeyRange const& range);
[[nodiscard]] Findings examine(Session& session, std::chrono::milliseconds ttl);

/** The directory was deleted or replaced. */
[[nodiscard]] Failure other_directory(Session const& session);

/** True if the record names this claim. One that was evicted still names its cell, and another owner. */
[[nodiscard]] inline bool
names(Record const& record, OwnHolder const& holder, Tenancy const& tenancy, std::string_view owner) noexcept
{
    return record.holder == holder.id() && record.cell == tenancy.cell && record.claim == tenancy.claim &&
           record.value() == owner;
}

} // namespace tenure::file
