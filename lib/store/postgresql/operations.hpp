// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations on a database, each by a function of its schema.
#pragma once

#include "runtime/names.hpp"
#include "store/postgresql/link/client.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tenure::postgresql
{

/** The name of a range in `tenure.waiting`: a pool's does not depend on its size. */
[[nodiscard]] inline std::string waited_name(KeyRange const& range)
{
    return range.numbered ? range.prefix + "*" : range.prefix;
}

/** The first parameters of most functions: prefix, first, count, numbered. */
[[nodiscard]] std::vector<std::optional<std::string>> values_of(KeyRange const& range);

/** Claims the first free key of the range for the owner. */
[[nodiscard]] store::Request<ClaimReply> claim(ClientPtr client, ClaimRequest request);

/** Extends claims, up to 256 in one statement. */
void renew(ClientPtr const& client, std::vector<RenewRequest> requests, RenewHandler handler);

/** Ends a claim, or keeps its key taken. */
[[nodiscard]] store::Request<ReleaseReply> release(ClientPtr client, ReleaseRequest request);

/** Ends all claims of the owner in the range. */
[[nodiscard]] store::Request<WithdrawReply> withdraw(ClientPtr client, WithdrawRequest request);

/** Asks whether this user may call the functions. */
[[nodiscard]] store::Request<ReadyReply> ready(ClientPtr client, Deadline not_after);

/** Reads the rows of the range, page by page. */
[[nodiscard]] store::Request<InspectReply> inspect(ClientPtr client, KeyRangePtr range, Deadline not_after);

/** Reads the names of keys with the prefix, page by page. */
[[nodiscard]] store::Request<ListReply> list(ClientPtr client, ListRequest request);

/** Replaces the given owner by `evicted/<who>`. */
[[nodiscard]] store::Request<EvictReply> evict(ClientPtr client, EvictRequest request);

/** Examines the server for leases of this ttl. */
[[nodiscard]] store::Request<Findings> examine(ClientPtr client, std::chrono::milliseconds ttl, Deadline not_after);

} // namespace tenure::postgresql
