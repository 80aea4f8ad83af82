// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The operations on a database, each by a function of its schema.
#pragma once

#include "runtime/names.hpp"
#include "store/postgresql/link/client.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <chrono>

namespace tenure::postgresql
{

/** The name of a range in `tenure.waiting`: a pool's does not depend on its size. */
[[nodiscard]] inline std::string waited_name(KeyRange const& range)
{
    return range.numbered ? range.prefix + "*" : range.prefix;
}

/** The parameters of most functions: prefix, first, count, numbered, and then these. */
[[nodiscard]] Values values_of(KeyRange const& range, Values const& more = {});

[[nodiscard]] store::Request<ClaimReply> claim(ClientPtr client, ClaimRequest request);
/** Up to 256 in one statement. */
void renew(ClientPtr const& client, std::vector<RenewRequest> requests, RenewHandler handler);
[[nodiscard]] store::Request<ReleaseReply> release(ClientPtr client, ReleaseRequest request);
[[nodiscard]] store::Request<WithdrawReply> withdraw(ClientPtr client, WithdrawRequest request);
[[nodiscard]] store::Request<EvictReply> evict(ClientPtr client, EvictRequest request);
/** Asks whether this user may call the functions. */
[[nodiscard]] store::Request<ReadyReply> ready(ClientPtr client, Deadline not_after);
/** Page by page, like `list`. */
[[nodiscard]] store::Request<InspectReply> inspect(ClientPtr client, InspectRequest request);
[[nodiscard]] store::Request<ListReply> list(ClientPtr client, ListRequest request);
/** Examines the server for leases of this ttl. */
[[nodiscard]] store::Request<Findings> examine(ClientPtr client, std::chrono::milliseconds ttl, Deadline not_after);

} // namespace tenure::postgresql
