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

/** How long until an end: zero if it has passed, unset if it is unknown. */
[[nodiscard]] inline std::optional<std::chrono::milliseconds>
time_until(std::optional<BootTime> end, BootTime now) noexcept
{
    if (!end)
        return std::nullopt;
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(std::max(*end - now, BootTime{0})));
}

/** True if the record names this claim, which holds. One that was evicted still names its cell, and another owner. */
[[nodiscard]] inline bool names(Record const& record, Tenancy const& tenancy, std::string_view owner) noexcept
{
    return record.holder == tenancy.holder->id && record.cell == tenancy.cell && record.claim == tenancy.claim &&
           record.value() == owner && record.holds != 0;
}

[[nodiscard]] inline BootTime later(BootTime now, std::chrono::milliseconds time) noexcept
{
    return now + std::chrono::nanoseconds(time).count();
}

/** As above, of the record in its file. Null: the file is gone. */
[[nodiscard]] inline bool names(RangeFilePtr const& file, Tenancy const& tenancy, std::string_view owner)
{
    return file != nullptr && names(current(file->read(tenancy.slot)), tenancy, owner);
}

/** Where the record of a claim is: in this segment, at the slot of its tenancy. */
[[nodiscard]] inline Segment records_of(Claim const& claim)
{
    return claim.range->shares ? places_of(claim.range->prefix) : place_of(*claim.range, claim.index);
}

/** The fencing token of the next claim. */
[[nodiscard]] std::uint64_t next_token(std::uint64_t last);
/** Writes a claim in place of a record, which is locked.
 *  @param old  as the file has it
 *  @param record  has token and share; gets the rest. Its cell is not used if this throws */
std::shared_ptr<Tenancy> write_claim(
    Session& session, RangeFile const& range, std::uint32_t slot, RecordPair const& old, ClaimRequest const& request,
    Look const& look, Record& record);

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
